"""Item labels at lower replication."""

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
from dissensus.schema.axes import require_one_axis
from dissensus.schema.hints import format_value
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.replication import subsample_labels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResampledLabels(JsonResult):
    """Distribution of item labels over subsamples of their raters.

    Parameters
    ----------
    labels
        One row for each number of raters and each item: ``raters_per_item``, ``item_id``, ``group`` (with `by`),
        ``n_ratings`` (of all raters), the share of each answer, and for each answer ``ANSWER_sd``, ``ANSWER_low``,
        ``ANSWER_high`` (of its share over the draws) and ``ANSWER_plurality`` (probability of being the only most
        frequent answer); then the probabilities ``tied`` (of a tie) and ``same_plurality`` (of the same most frequent
        answers as all raters), and ``distance``, the expected total variation distance to the soft label of all raters.
    curve
        One row for each number of raters and each group: ``raters_per_item``, ``group`` (with `by`), ``n_items``,
        ``n_left_out`` (items with fewer ratings), and the means over items ``distance``, ``changed`` (expected share of
        items with different most frequent answers) and ``tied``; null if no item has enough ratings.
    question, confidence
        Options of the computation.
    """

    labels: pl.DataFrame
    curve: pl.DataFrame
    question: str
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        tables = {"curve": self.curve.to_dicts(), "labels": self.labels.to_dicts()}
        return {"question": self.question, "confidence": self.confidence} | tables


def resampled_labels(
    ratings: Ratings,
    question: str,
    raters_per_item: int | Iterable[int],
    *,
    by: str | Sequence[str] | None = None,
    confidence: float = 0.95,
) -> ResampledLabels:
    """Compute the distribution of labels if only some of the raters of each item had rated it.

    The raters of each item are drawn without replacement, with the same probability for each set. The results are exact
    (see `subsample_labels`), without simulation or seed.

    Parameters
    ----------
    ratings, question
        As for `soft_labels`.
    raters_per_item
        Number of raters to draw, or several numbers for a curve.
    by
        One axis or crossed axes; None for the whole pool.
    confidence
        Confidence level of the intervals of shares.

    Returns
    -------
    ResampledLabels

    Raises
    ------
    InvalidInput
        A number of raters below 1, or above the number of ratings of every item.

    Notes
    -----
    Items with fewer ratings than `raters_per_item` are left out and counted, since drawing a rater twice would inflate
    agreement. Ties are not broken.

    Examples
    --------
    >>> ratings = Ratings.from_frame(pl.DataFrame({
    ...     "item_id": ["1"] * 4, "rater_id": ["a", "b", "c", "d"], "Q_overall": ["No", "No", "Yes", "No"],
    ... }), categories=["No", "Yes"])
    >>> resampled = resampled_labels(ratings, "Q_overall", [1, 2])
    >>> resampled.curve.select("raters_per_item", "distance", "changed").rows()
    [(1, 0.375, 0.25), (2, 0.25, 0.5)]
    """
    by = None if by is None else require_one_axis(by)
    sizes = _sizes(raters_per_item)
    counts = count_item_answers(ratings, question, by)
    scale = ratings.scale(question)
    most = int(counts["n_ratings"].to_numpy().max())
    for size in sizes:
        if size > most:
            raise InvalidInput(
                f"{size:,} raters per item cannot be drawn: no item has more than {most:,} ratings"
                f"{'' if by is None else ' of one group'}. Give a smaller number."
            )
    tables = [_labels(counts.filter(pl.col("n_ratings") >= size), size, scale, confidence) for size in sizes]
    return ResampledLabels(
        labels=pl.concat(tables),
        curve=pl.concat(_curve(counts, table, size, by) for table, size in zip(tables, sizes, strict=True)),
        question=question,
        confidence=confidence,
    )


def _sizes(raters_per_item: int | Iterable[int]) -> list[int]:
    """Return the distinct numbers of raters in increasing order."""
    sizes = set()
    for size in raters_per_item if isinstance(raters_per_item, Iterable) else [raters_per_item]:
        try:
            sizes.add(index(size))
        except TypeError:
            raise InvalidInput(f"raters_per_item is {format_value(size)}; give whole numbers of raters.") from None
    if not sizes or min(sizes) < 1:
        raise InvalidInput(
            f"raters_per_item is {raters_per_item}; give one or more whole numbers of raters, 1 or more each."
        )
    return sorted(sizes)


def _labels(counts: pl.DataFrame, size: int, scale: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return the rows for one number of raters."""
    sample = subsample_labels(build_count_matrix(counts, scale), size, confidence=confidence)
    columns = {"tied": sample.tied_mode, "same_plurality": sample.same_modes, "distance": sample.distance}
    spread = {
        f"{answer}_{name}": values[:, k]
        for k, answer in enumerate(scale)
        for name, values in (
            ("sd", sample.sd),
            ("low", sample.low),
            ("high", sample.high),
            ("plurality", sample.unique_mode),
        )
    }
    check_name_clashes(scale, ["raters_per_item", *columns, *spread])
    size_column = pl.lit(size, dtype=pl.UInt32).alias("raters_per_item")
    shares = [counts[answer] / counts["n_ratings"] for answer in scale]
    series = [pl.Series(name, values) for name, values in {**spread, **columns}.items()]
    return select_key_columns(counts, scale).select(size_column, pl.all()).with_columns(*shares, *series)


def _curve(counts: pl.DataFrame, labels: pl.DataFrame, size: int, by: str | None) -> pl.DataFrame:
    """Return the means over items for one number of raters, by group if there are groups."""
    keys = ["item_id"] if by is None else ["item_id", "group"]
    rows = counts.select(keys).join(labels, on=keys, how="left", maintain_order="left")
    parts = [rows] if by is None else rows.sort("group", maintain_order=True).partition_by("group")
    return pl.concat(
        part.select(
            pl.lit(size, dtype=pl.UInt32).alias("raters_per_item"),
            *(pl.first(key) for key in keys[1:]),
            pl.col("distance").count().alias("n_items"),
            pl.col("distance").null_count().alias("n_left_out"),
            pl.mean("distance"),
            (1 - pl.mean("same_plurality")).alias("changed"),
            pl.mean("tied"),
        )
        for part in parts
    )
