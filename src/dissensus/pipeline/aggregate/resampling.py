"""Item labels at lower replication."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate.labels import (
    build_count_matrix,
    check_name_clashes,
    count_item_answers,
    select_key_columns,
)
from dissensus.schema.hints import format_value
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.replication import subsampled


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResampledLabels:
    """Labels of items, had only some of their raters rated them.

    Parameters
    ----------
    labels
        One row for each number of raters and each item: ``raters_per_item``, ``item_id``, ``group`` (with `by`),
        ``n_ratings`` (of all raters), the share of each answer, and of each answer ``ANSWER_sd``, ``ANSWER_low``,
        ``ANSWER_high`` (its share over the draws) and ``ANSWER_plurality`` (probability that it alone is the most
        frequent); then the probabilities ``tied`` (several are) and ``same_plurality`` (the most frequent answers are
        those of all raters), and ``distance``, the expected total variation distance to the soft label of all raters.
    curve
        One row for each number of raters, and each group: ``raters_per_item``, ``group`` (with `by`), ``n_items``,
        ``n_left_out`` (items with fewer ratings), and over the items the means ``distance``, ``changed`` (expected
        share of items whose most frequent answers are others) and ``tied``; null where no item has enough ratings.
    question, level
        What was asked for.
    """

    labels: pl.DataFrame
    curve: pl.DataFrame
    question: str
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tables = {"curve": self.curve.to_dicts(), "labels": self.labels.to_dicts()}
        return {"question": self.question, "level": self.level} | tables

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)


def resampled_labels(
    ratings: Ratings,
    question: str,
    raters_per_item: int | Iterable[int],
    *,
    by: str | None = None,
    level: float = 0.95,
) -> ResampledLabels:
    """Work out the labels of items if only some of their raters had rated them.

    For each item the raters are drawn without replacement from those who rated it, all sets of them with the same
    probability. Everything is exact (see `subsampled`), nothing is drawn: there is no seed.

    Parameters
    ----------
    ratings, question, by
        As for `soft_labels`.
    raters_per_item
        How many raters to draw, or several such numbers for a curve.
    level
        Probability that the interval of a share holds it.

    Returns
    -------
    ResampledLabels

    Raises
    ------
    InvalidInput
        A number of raters below 1, or above what any item has.

    Notes
    -----
    Items with fewer ratings than are to be drawn are left out and counted: drawing a rater twice would make up
    agreement. Ties are never broken.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1"] * 4, "rater_id": ["a", "b", "c", "d"], "Q_overall": ["No", "No", "Yes", "No"],
    ... }), categories=["No", "Yes"])
    >>> found = resampled_labels(ratings, "Q_overall", [1, 2])
    >>> found.curve.select("raters_per_item", "distance", "changed").rows()
    [(1, 0.375, 0.25), (2, 0.25, 0.5)]
    """
    sizes = _sizes(raters_per_item)
    counts = count_item_answers(ratings, question, by)
    scale = ratings.scale(question)
    most = int(counts["n_ratings"].to_numpy().max())
    for size in sizes:
        if size > most:
            raise InvalidInput(
                f"{size:,} raters of each item cannot be drawn: no item has more than {most:,} ratings"
                f"{'' if by is None else ' of one group'}. Give a smaller number."
            )
    tables = [_labels(counts.filter(pl.col("n_ratings") >= size), size, scale, level) for size in sizes]
    return ResampledLabels(
        labels=pl.concat(tables),
        curve=pl.concat(_curve(counts, table, size, by) for table, size in zip(tables, sizes, strict=True)),
        question=question,
        level=level,
    )


def _sizes(raters_per_item: int | Iterable[int]) -> list[int]:
    """Return the numbers of raters, each once, in increasing order."""
    given = raters_per_item if isinstance(raters_per_item, Iterable) else [raters_per_item]
    sizes = set()
    for size in given:
        try:
            sizes.add(index(size))
        except TypeError:
            raise InvalidInput(f"raters_per_item is {format_value(size)}; give whole numbers of raters.") from None
    if not sizes or min(sizes) < 1:
        raise InvalidInput(
            f"raters_per_item is {raters_per_item}; give one whole number of raters or more, each from 1."
        )
    return sorted(sizes)


def _labels(counts: pl.DataFrame, size: int, scale: Sequence[str], level: float) -> pl.DataFrame:
    """Return the rows of one number of raters."""
    found = subsampled(build_count_matrix(counts, scale), size, level=level)
    columns = {"tied": found.tied, "same_plurality": found.same, "distance": found.distance}
    spread = {
        f"{answer}_{name}": values[:, k]
        for k, answer in enumerate(scale)
        for name, values in (("sd", found.sd), ("low", found.low), ("high", found.high), ("plurality", found.alone))
    }
    check_name_clashes(scale, ["raters_per_item", *columns, *spread])
    size_column = pl.lit(size, dtype=pl.UInt32).alias("raters_per_item")
    shares = [counts[answer] / counts["n_ratings"] for answer in scale]
    others = [pl.Series(name, values) for name, values in {**spread, **columns}.items()]
    return select_key_columns(counts, scale).select(size_column, pl.all()).with_columns(*shares, *others)


def _curve(counts: pl.DataFrame, labels: pl.DataFrame, size: int, by: str | None) -> pl.DataFrame:
    """Return the means over the items, of each group if there are groups, for one number of raters."""
    of_row = ["item_id"] if by is None else ["item_id", "group"]
    rows = counts.select(of_row).join(labels, on=of_row, how="left", maintain_order="left")
    of_groups = [rows] if by is None else rows.sort("group", maintain_order=True).partition_by("group")
    return pl.concat(
        part.select(
            pl.lit(size, dtype=pl.UInt32).alias("raters_per_item"),
            *(pl.first(key) for key in of_row[1:]),
            pl.col("distance").count().alias("n_items"),
            pl.col("distance").null_count().alias("n_left_out"),
            pl.mean("distance"),
            (1 - pl.mean("same_plurality")).alias("changed"),
            pl.mean("tied"),
        )
        for part in of_groups
    )
