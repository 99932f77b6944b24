"""The items on which raters disagree most, with the answers of each group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate.labels import answer_counts, matrix
from dissensus.pipeline.page import printable, short
from dissensus.report.figure import Figure
from dissensus.report.figures.answers import EVERYBODY, Counts, parts
from dissensus.report.figures.bars import whole_bars
from dissensus.report.figures.labels import entropies
from dissensus.report.groups import Groups, counted, distinct, slug
from dissensus.schema.columns import ITEM_ID
from dissensus.schema.ratings import Ratings
from dissensus.stats.counts import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contested:
    """One contested item: its answers, and its text, which may offend.

    Parameters
    ----------
    figure
        The shares of answers of everybody and of each group.
    context, response
        What was rated, None where it is not known or not to be shown.
    """

    figure: Figure
    context: str | None
    response: str | None

    def _repr_html_(self) -> str:
        return self.figure._repr_html_()


def contested(
    ratings: Ratings, groups: Sequence[Groups] = (), *, question: str | None = None, n: int = 10, text: bool = True
) -> tuple[Contested, ...]:
    """Return the items with the largest entropy of their soft label, the most contested first.

    Parameters
    ----------
    ratings
        The ratings.
    groups
        Groups whose answers are shown beside those of everybody.
    question
        The question, if more than one was read.
    n
        How many items.
    text
        Whether to give the text of items, where it is known.

    Notes
    -----
    Items with fewer than half the ratings of the median item are passed over: two raters disagree soon; so are those on
    which all answers are the same. Of ties the first item comes first.
    """
    if n < 0:
        raise InvalidInput(f"contested is {n}; give how many items to show, 0 for none.")
    question = ratings.asked(question)
    counts = answer_counts(ratings, question)
    disagreement = entropies(_shares(matrix(counts, ratings.scale(question))))
    replication = counts["n_ratings"].to_numpy()
    candidates = np.flatnonzero((replication >= np.median(replication) / 2) & (disagreement > 1e-12))
    order = candidates[np.argsort(-disagreement[candidates].round(12), kind="stable")][:n]
    if not order.size:
        return ()
    chosen = ratings.of_items(ratings.items[ITEM_ID].is_in(counts[ITEM_ID].gather(order).implode()))
    by_group = [(of, answer_counts(chosen, question, of.axis)) for of in groups]
    pool = answer_counts(chosen, question)
    made = [
        _one(chosen, question, str(counts[ITEM_ID][place]), float(disagreement[place]), pool, by_group, text)
        for place in order.tolist()
    ]
    names = distinct([one.figure.name for one in made])
    return tuple(replace(one, figure=replace(one.figure, name=name)) for one, name in zip(made, names, strict=True))


def _shares(counts: Counts) -> FloatArray:
    return np.asarray(counts / np.maximum(1, counts.sum(axis=1, keepdims=True)))


def _one(
    ratings: Ratings,
    question: str,
    item: str,
    disagreement: float,
    pool: pl.DataFrame,
    by_group: Sequence[tuple[Groups, pl.DataFrame]],
    text: bool,
) -> Contested:
    scale = ratings.scale(question)
    lines = [(EVERYBODY, EVERYBODY, pool.filter(pl.col(ITEM_ID) == item)), *_lines(item, by_group)]
    shares = _shares(np.concatenate([matrix(line, scale) for _, _, line in lines]))
    everybody = ", ".join(f"{100 * share:.0f} % {answer}" for answer, share in zip(scale, shares[0], strict=True))
    labels = [label for label, _, _ in lines]
    n_ratings = [int(line["n_ratings"][0]) for _, _, line in lines]
    row = ratings.items.row(by_predicate=pl.col(ITEM_ID) == item, named=True)
    figure = Figure(
        name=f"contested-{slug(item)}",
        title=f"Item {printable(item)}",
        reading=f"{everybody} of {counted(n_ratings[0], 'rating')}; entropy {short(disagreement)} nats.",
        table=pl.DataFrame(
            {
                "group": [name for _, name, _ in lines],
                "n_ratings": n_ratings,
                **{f"share of {answer}": shares[:, k] for k, answer in enumerate(scale)},
            }
        ),
        draw=lambda width: whole_bars(labels, shares.tolist(), parts(scale), width),
    )
    return Contested(
        figure=figure, context=row.get("context") if text else None, response=row.get("response") if text else None
    )


def _lines(item: str, by_group: Sequence[tuple[Groups, pl.DataFrame]]) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """Yield label, name and counts of each group that rated the item."""
    for groups, counts in by_group:
        of_item = counts.filter(pl.col(ITEM_ID) == item)
        for name in groups.drawn:
            line = of_item.filter(pl.col("group") == name)
            if line.height:
                yield groups.label(name, size=False), name, line
