"""Contested items: those with the largest entropy, with the answers of each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate.labels import build_count_matrix, count_item_answers
from dissensus.pipeline.analyse.result import FEW
from dissensus.pipeline.tables import escape_unprintable, format_count, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import compute_shares, list_bar_parts
from dissensus.report.figures.bars import draw_whole_bars
from dissensus.report.figures.labels import compute_entropies
from dissensus.report.groups import (
    EVERYBODY,
    DisplayedGroups,
    find_hidden_groups,
    format_percent,
    list_groups,
    make_slug,
    number_repeated_names,
)
from dissensus.report.layout import HeadedRows, RowBlock
from dissensus.schema.ratings.columns import ITEM_ID, ITEM_TEXT
from dissensus.schema.ratings.table import Ratings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContestedItems:
    """One contested item: its answers, and its text, which may offend.

    Parameters
    ----------
    figure
        The shares of answers of everybody and of each group.
    context, response
        The rated text, None if unknown or not to be shown.
    """

    figure: Figure
    context: str | None
    response: str | None

    def _repr_html_(self) -> str:
        return self.figure._repr_html_()


def list_contested_items(
    ratings: Ratings,
    groups: Sequence[str | DisplayedGroups] = (),
    *,
    question: str | None = None,
    n: int = 10,
    text: bool = True,
) -> tuple[ContestedItems, ...]:
    """Return the items with the largest entropy of their soft label, the most contested first.

    Parameters
    ----------
    ratings
        The ratings.
    groups
        Axes, or groups of them, whose answers are shown beside those of everybody.
    question
        The question, if more than one was read.
    n
        Number of items.
    text
        True to give the text of items, if known.

    Notes
    -----
    Items with fewer than half the ratings of the median item are left out, since two raters easily disagree. So are
    items on which all answers are the same. Ties are in the order of the items. Groups of which fewer than
    their `min_raters` rated the item are marked; those of fewer than their `suppress_below` are left out, with others
    that would reveal them.
    """
    if n < 0:
        raise InvalidInput(f"contested is {n}; give how many items to show, 0 for none.")
    question = ratings.resolve_question(question)
    counts = count_item_answers(ratings, question)
    disagreement = compute_entropies(compute_shares(build_count_matrix(counts, ratings.scale(question))))
    replication = counts["n_ratings"].to_numpy()
    candidates = np.flatnonzero((replication >= np.median(replication) / 2) & (disagreement > 1e-12))
    order = candidates[np.argsort(-disagreement[candidates].round(12), kind="stable")][:n]
    if not order.size:
        return ()
    items = counts[ITEM_ID].gather(order)
    chosen = ratings.select_items(ratings.items[ITEM_ID].is_in(items.implode())).select_question(question)
    pool = count_item_answers(chosen, question)
    axes = [list_groups(ratings, axis) for axis in groups]
    by_axis = [(axis, count_item_answers(chosen, question, axis.axis)) for axis in axes]
    results = []
    for item, entropy in zip(items.to_list(), disagreement[order].tolist(), strict=True):
        item_ratings = chosen.select_items(chosen.items[ITEM_ID] == item)
        everybody = (RowBlock("", (EVERYBODY,)), pool.filter(pl.col(ITEM_ID) == item))
        blocks = [everybody, *_blocks(item_ratings, by_axis)]
        results.append(_contested_item(item_ratings, question, entropy, blocks, text=text))
    names = number_repeated_names([item.figure.name for item in results])
    return tuple(
        replace(item, figure=replace(item.figure, name=name)) for item, name in zip(results, names, strict=True)
    )


def _blocks(
    item: Ratings, by_axis: Sequence[tuple[DisplayedGroups, pl.DataFrame]]
) -> Iterator[tuple[RowBlock, pl.DataFrame]]:
    """Yield a block for each axis with groups whose answers to an item may be shown, and their answers."""
    below = max((groups.suppress_below for groups, _ in by_axis), default=0)
    hidden_by_axis = find_hidden_groups(item, [groups.axis for groups, _ in by_axis], below)
    for groups, counts in by_axis:
        hidden = groups.hidden | hidden_by_axis[groups.axis]
        displayed = [name for name in groups.drawn if name not in hidden]
        of_item = counts.filter(pl.col(ITEM_ID) == item.items[ITEM_ID][0], pl.col("group").is_in(displayed))
        marks = [FEW if n < groups.min_raters else "" for n in of_item["n_ratings"]]
        names = tuple(f"{escape_unprintable(name)}{mark}" for name, mark in zip(of_item["group"], marks, strict=True))
        if names:
            yield RowBlock(escape_unprintable(groups.title), names), of_item


def _contested_item(
    item: Ratings, question: str, entropy: float, blocks: Sequence[tuple[RowBlock, pl.DataFrame]], *, text: bool
) -> ContestedItems:
    scale, row = item.scale(question), item.items.row(0, named=True)
    counts = np.concatenate([build_count_matrix(answers, scale) for _, answers in blocks])
    shares = compute_shares(counts)
    everybody = ", ".join(
        f"{format_percent(share)} {escape_unprintable(answer)}" for answer, share in zip(scale, shares[0], strict=True)
    )
    figure = Figure(
        name=f"contested-{make_slug(row[ITEM_ID])}",
        title=f"Item {escape_unprintable(row[ITEM_ID])}",
        reading=f"{everybody} of {format_count(int(counts[0].sum()), 'rating')}; entropy {format_short(entropy)} nats.",
        table=pl.DataFrame(
            {
                "group": [EVERYBODY, *(name for _, answers in blocks[1:] for name in answers["group"])],
                "n_ratings": counts.sum(axis=1),
                **{f"share of {answer}": shares[:, k] for k, answer in enumerate(scale)},
            }
        ),
        draw=lambda width: draw_whole_bars(
            HeadedRows([block for block, _ in blocks], width), shares.tolist(), list_bar_parts(scale)
        ),
    )
    context, response = read_passages(row) if text else (None, None)
    return ContestedItems(figure=figure, context=context, response=response)


def read_passages(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the context and the rated response of an item, or its other texts as the response."""
    context, response = row.get("context"), row.get("response")
    if context is None and response is None:
        response = "\n\n".join(row[name] for name in row if name.startswith(ITEM_TEXT) and row[name] is not None)
    return context, response or None
