"""Contested items: those with the largest entropy, with the answers of each group."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate.labels import build_count_matrix, count_item_answers
from dissensus.pipeline.analyse.result import FEW
from dissensus.pipeline.engine.ratings import PartitionedRatings, code_answers, select_pool
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import compute_shares, list_bar_parts
from dissensus.report.graphics.bars import draw_whole_bars
from dissensus.report.graphics.layout import HeadedRows, RowBlock
from dissensus.report.groups import (
    EVERYBODY,
    DisplayedGroups,
    find_hidden_groups,
    format_percent,
    list_groups,
    make_slug,
    number_repeated_names,
)
from dissensus.schema.hints import count_noun
from dissensus.schema.ratings.columns import ITEM_ID, ITEM_TEXT
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.cohesion import compute_entropies
from dissensus.stats.groups.item_counts import compute_quantiles, count_items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContestedItem:
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
    ratings: Ratings | PartitionedRatings,
    groups: Sequence[str | DisplayedGroups] = (),
    *,
    question: str | None = None,
    n: int = 10,
    text: bool = True,
) -> tuple[ContestedItem, ...]:
    """Return the items with the largest entropy of their soft label, the most contested first.

    Parameters
    ----------
    ratings
        The ratings; blocks of items with the ids of these.
    groups
        Axes, or displayed groups of them, whose answers are shown beside those of everybody.
    question
        The question, if more than one was read.
    n
        Number of items.
    text
        True to give the text of items, if known.

    Notes
    -----
    Items with fewer than half the ratings of the median item are left out, since two raters easily disagree. So are
    items on which all answers are the same. Ties are in the order of the items. A group is marked if fewer of its
    raters than `min_raters` rated the item, and left out if fewer than `suppress_below` did, with other groups that
    would reveal it.
    """
    if n < 0:
        raise InvalidInput(f"contested is {n}; give how many items to show, 0 for none.")
    pool = select_pool(ratings)
    question = pool.resolve_question(question)
    axes = [list_groups(pool, axis) for axis in groups]
    results = []
    for entropy, item in _choose_items(ratings, question, n):
        everybody = (RowBlock("", (EVERYBODY,)), count_item_answers(item, question))
        blocks = [everybody, *_blocks(item, question, axes)]
        results.append(_make_contested_item(item, question, entropy, blocks, text=text))
    names = number_repeated_names([item.figure.name for item in results])
    return tuple(
        replace(item, figure=replace(item.figure, name=name)) for item, name in zip(results, names, strict=True)
    )


def _choose_items(ratings: Ratings | PartitionedRatings, question: str, n: int) -> list[tuple[float, Ratings]]:
    """Return the ratings of each of the items with the largest entropy, and the entropy."""
    items: list[tuple[float, Ratings]] = []
    if not n:
        return items
    labels = count_items(code_answers(ratings, question))
    sizes, order = labels.counts.sum(axis=1), np.argsort(labels.counts.sum(axis=1))
    least = compute_quantiles(sizes[order].astype(np.float64), labels.n_items[order], np.array([0.5]))[0] / 2
    for table in ratings.tables() if isinstance(ratings, PartitionedRatings) else [ratings]:
        counts = count_item_answers(table, question)
        disagreement = compute_entropies(compute_shares(build_count_matrix(counts, table.scale(question))))
        candidates = np.flatnonzero((counts["n_ratings"].to_numpy() >= least) & (disagreement > 1e-12))
        if len(items) == n:  # Of equally contested items the first are shown
            candidates = candidates[disagreement[candidates].round(12) > round(items[-1][0], 12)]
        candidates = candidates[np.argsort(-disagreement[candidates].round(12), kind="stable")][:n]
        for row in candidates.tolist():
            item = table.select_items(table.items[ITEM_ID] == counts[ITEM_ID][row]).select_question(question)
            items.append((float(disagreement[row]), item.drop_idle_raters()))
        items = sorted(items, key=lambda pair: -round(pair[0], 12))[:n]
    return items


def _blocks(item: Ratings, question: str, axes: Sequence[DisplayedGroups]) -> Iterator[tuple[RowBlock, pl.DataFrame]]:
    """Yield a block for each axis with groups whose answers to an item may be shown, and their answers."""
    below = max((groups.suppress_below for groups in axes), default=0)
    hidden_by_axis = find_hidden_groups(item, [groups.axis for groups in axes], below)
    for groups in axes:
        if not item.group_codes(groups.axis)[1]:
            continue
        counts = count_item_answers(item, question, groups.axis)
        hidden = groups.hidden | hidden_by_axis[groups.axis]
        displayed = [name for name in groups.drawn if name not in hidden]
        of_item = counts.filter(pl.col("group").is_in(displayed))
        marks = [FEW if n < groups.min_raters else "" for n in of_item["n_ratings"]]
        names = tuple(f"{escape_unprintable(name)}{mark}" for name, mark in zip(of_item["group"], marks, strict=True))
        if names:
            yield RowBlock(escape_unprintable(groups.title), names), of_item


def _make_contested_item(
    item: Ratings, question: str, entropy: float, blocks: Sequence[tuple[RowBlock, pl.DataFrame]], *, text: bool
) -> ContestedItem:
    scale, row = item.scale(question), item.items.row(0, named=True)
    counts = np.concatenate([build_count_matrix(answers, scale) for _, answers in blocks])
    shares = compute_shares(counts)
    everybody = ", ".join(
        f"{format_percent(share)} {escape_unprintable(answer)}" for answer, share in zip(scale, shares[0], strict=True)
    )
    figure = Figure(
        name=f"contested-{make_slug(row[ITEM_ID])}",
        title=f"Item {escape_unprintable(row[ITEM_ID])}",
        reading=f"{everybody} of {count_noun(int(counts[0].sum()), 'rating')}; entropy {format_short(entropy)} nats.",
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
    return ContestedItem(figure=figure, context=context, response=response)


def read_passages(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the context and the rated response of an item, or its other texts as the response."""
    context, response = row.get("context"), row.get("response")
    if context is None and response is None:
        response = "\n\n".join(row[name] for name in row if name.startswith(ITEM_TEXT) and row[name] is not None)
    return context, response or None
