"""Answer times of conversations and groups, and their relation to other evidence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl

from dissensus.pipeline.engine.ratings import TimedRaters
from dissensus.schema.ratings.columns import ANSWER_TIME, ITEM_ID
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.raters.median import find_median
from dissensus.stats.result import none_if_nan
from dissensus.stats.vetting import Times, answer_times, rank_correlation

RELATED = ("answers_outlier_score", "agreement_pool", "same_label", "label_entropy", "non_comprehension", "flat")
"""Evidence on raters whose rank correlation with the median time is computed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerTimes:
    """Answer times of conversations and of groups of raters, and their rank correlations; see `Vetting`."""

    items: pl.DataFrame
    groups: pl.DataFrame
    correlations: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {name: getattr(self, name).to_dicts() for name in ("items", "groups", "correlations")}


def read_times(split: Callable[[], Sequence[TimedRaters]] | None, n_raters: int) -> Times:
    """Measure the times of raters range by range; without times they are unknown."""
    ranges = [] if split is None else split()
    if not ranges:
        return answer_times(np.empty(0, np.int64), [], n_raters=n_raters)
    pool_median = find_median([part.read_times for part in ranges])
    parts = [answer_times(*part.read(), n_raters=part.end - part.first, pool_median=pool_median) for part in ranges]
    names = [field.name for field in fields(Times) if field.name != "pool_median"]
    return Times(
        pool_median=pool_median, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def summarise_times(ratings: Ratings, raters: pl.DataFrame, axes: Sequence[str]) -> AnswerTimes | None:
    """Summarise the times of items and groups, with the evidence on raters; None if there are no times.

    Without the times of ratings, which are not in memory if they lie in a folder, there are no items.
    """
    if not (raters["n_timed"] > 0).any():
        return None
    return AnswerTimes(
        items=_summarise_items(ratings),
        groups=pl.concat([_summarise_groups(ratings, raters, axis) for axis in axes]) if axes else _empty_groups(),
        correlations=_correlations(raters),
    )


def _summarise_items(ratings: Ratings) -> pl.DataFrame:
    if ANSWER_TIME not in ratings.answers.columns:
        return pl.DataFrame(schema={ITEM_ID: pl.String, "n_timed": pl.UInt32, "mean_time_ms": pl.Float64})
    of_items = ratings.answers.group_by("item").agg(
        n_timed=pl.col(ANSWER_TIME).count(), mean_time_ms=pl.col(ANSWER_TIME).mean()
    )
    items = ratings.items.select(ITEM_ID).with_row_index("item", offset=0)
    joined = items.with_columns(pl.col("item").cast(of_items["item"].dtype)).join(
        of_items, on="item", how="left", maintain_order="left"
    )
    return joined.drop("item")


def _summarise_groups(ratings: Ratings, raters: pl.DataFrame, axis: str) -> pl.DataFrame:
    codes, names = ratings.group_codes(axis)
    lines = []
    for code, name in enumerate(names):
        own = raters.filter(pl.Series(codes == code)).drop_nulls("median_time_ms")
        quartiles = [own["median_time_ms"].quantile(q, "linear") for q in (0.25, 0.5, 0.75)]
        lines.append((axis, name, own.height, *quartiles, own["total_time_ms"].median()))
    return pl.DataFrame(lines, schema=_empty_groups().schema, orient="row")


def _empty_groups() -> pl.DataFrame:
    schema: dict[str, type[pl.DataType]] = {"axis": pl.String, "group": pl.String, "n_raters": pl.UInt32}
    return pl.DataFrame(schema=schema | dict.fromkeys(("q25_ms", "median_ms", "q75_ms", "median_total_ms"), pl.Float64))


def _correlations(raters: pl.DataFrame) -> pl.DataFrame:
    time = raters["median_time_ms"].fill_null(float("nan")).to_numpy()
    lines = []
    for name in RELATED:
        values = raters[name].fill_null(float("nan")).to_numpy()
        if np.isnan(values).all():
            continue
        result = rank_correlation(time, values)
        numbers = (none_if_nan(value) for value in (result.estimate, result.ci_low, result.ci_high))
        lines.append((name, *numbers, result.n))
    names = ("rank_correlation", "ci_low", "ci_high")
    schema = {"measure": pl.String, **dict.fromkeys(names, pl.Float64), "n_raters": pl.UInt32}
    return pl.DataFrame(lines, schema=schema, orient="row")
