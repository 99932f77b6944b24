"""Bootstrap replicates and intervals of every group, and the columns of statistics that tests share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.columns import COLUMNS, COMPARED, DIFFERENCES, SMALL_SAMPLE, UNBIASED
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.stats.bootstrap import draw_resamples, interval, two_way_interval
from dissensus.stats.design import METRICS, BlockedDesign, Design, chunks
from dissensus.stats.groups.coverage import OF_GROUP, IntervalDesign
from dissensus.stats.groups.statistics import (
    GroupStatistics,
    group_statistics,
    published_statistics,
    resample_published,
    resample_statistics,
)
from dissensus.stats.result import ZERO, BoolArray, Estimate, FloatArray, Int32Array

Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class AxisTests:
    """Replicates of an axis: values shown and statistics tested, with the reasons why tests are withheld.

    Columns are those of the table for each comparison, then between_share and dsi: C × M + 2.
    """

    values: FloatArray  # Observed values, shape (columns,)
    null_values: FloatArray  # Shape (B, columns)
    tested: FloatArray  # Observed test statistics, shape (columns,)
    null_tested: FloatArray  # Shape (B, columns)
    reasons: tuple[str | None, ...]  # Reason of a withheld test; None for others


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of the statistics of C comparisons."""

    ends: FloatArray  # Lower and upper ends, shape (2, C, M); NaN without an interval
    constant: BoolArray  # True where there is none since all replicates are equal, shape (C, M)


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Results of one axis: estimates of C comparisons and of the axis, intervals, and tests."""

    axis: AxisComparison
    estimates: list[dict[str, Estimate | UndefinedEstimate]]
    between_share: Estimate | UndefinedEstimate
    intervals: Intervals | None = None
    tests: AxisTests | None = None
    columns: tuple[str, ...] = COLUMNS
    designs: tuple[IntervalDesign, ...] = ()


class ProgressTicks:
    """Counter of completed replicates of all axes."""

    def __init__(self, report: Progress | None, settings: AnalysisSettings) -> None:
        self._report = report
        self._total = (1 + len(settings.axes)) * settings.bootstrap + len(settings.axes) * settings.permutations
        self._done = 0.0

    def __call__(self, replicates: float) -> None:
        """Count completed replicates, and report the share."""
        self._done += replicates
        if self._report is not None:
            self._report(self._done / max(1, self._total))


def compute_intervals(
    design: Design | BlockedDesign,
    table: GroupTable,
    seeds: list[np.random.SeedSequence],
    settings: AnalysisSettings,
    answer: int,
    tick: ProgressTicks,
) -> Intervals:
    """Return the intervals of a table; raters are resampled within the groups of the axis."""
    axis = table.axis
    sides, differences = (axis.inside, axis.outside), DIFFERENCES[0] in table.columns
    unbiased = partial(resample_statistics, design, axis.codes, *sides, answer=answer)
    published = partial(resample_published, design, axis.codes, *(join_reversed(*sides) if differences else sides))
    parts: dict[str, list[FloatArray]] = {"both": [], "raters": [], "items": []}
    # Weights of items are drawn, and stacked with ones for replicates of raters alone.
    row_bytes = 4 * (design.n_raters + 4 * design.n_items) + design.row_bytes(len(axis.inside))
    for chunk in chunks(len(seeds), row_bytes, design.chunk_bytes):
        raters, items = draw_resamples([seeds[b] for b in chunk], axis.codes, design.n_items, settings.resample)
        values = published(rater_weight=raters, item_weight=items)
        for name, statistics in unbiased(rater_weight=raters, item_weight=items).items():
            parts[name].append(join_columns(values[name], statistics, table.columns))
        tick(len(chunk))
    observed = compute_columns(design, axis.codes[None], *sides, answer, table.columns)[0][0]
    replicates = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
    n_raters = _count_raters(axis, table.columns)
    n_items = np.where([column in SMALL_SAMPLE for column in table.columns], design.n_items, np.inf)
    if settings.resample == "both":
        in_parts = (replicates[name] for name in ("both", "raters", "items"))
        ends = two_way_interval(observed, *in_parts, confidence=settings.confidence, n_raters=n_raters, n_items=n_items)
        drawn = replicates["raters"] + replicates["items"]
    else:
        n = n_raters if settings.resample == "raters" else n_items
        drawn = replicates[settings.resample]
        ends = interval(observed, drawn, confidence=settings.confidence, n=n)
    constant = np.isnan(ends[0]) & np.isfinite(drawn).any(axis=0)
    return Intervals(np.stack(ends), constant)


def _count_raters(axis: AxisComparison, columns: tuple[str, ...]) -> FloatArray:
    """Return the raters of the smaller side of each statistic, shape (C, M); infinite without small-sample factor."""
    total = axis.sizes.sum()
    result = np.full((len(axis.inside), len(columns)), np.inf)
    for c, (g, h) in enumerate(zip(axis.inside, axis.outside, strict=True)):
        within = axis.sizes[g]
        across = min(within, total - within if h < 0 else axis.sizes[h])
        for m, column in enumerate(columns):
            if column in SMALL_SAMPLE:
                result[c, m] = within if column in OF_GROUP else across
    return result


def compute_columns(
    design: Design | BlockedDesign,
    group: Int32Array,
    inside: Int32Array,
    outside: Int32Array,
    answer: int,
    columns: tuple[str, ...],
) -> tuple[FloatArray, GroupStatistics]:
    """Return the statistics of each comparison in the order of the columns, shape (B, C, M), and the unbiased ones."""
    unbiased = group_statistics(design, group, inside, outside, answer=answer)
    sides = join_reversed(inside, outside) if DIFFERENCES[0] in columns else (inside, outside)
    return join_columns(published_statistics(design, group, *sides), unbiased, columns), unbiased


def join_columns(published: FloatArray, unbiased: GroupStatistics, columns: tuple[str, ...]) -> FloatArray:
    """Return published and unbiased statistics of each comparison in the order of the columns, shape (B, C, M).

    With differences, published ones are those of `join_reversed`.
    """
    superiority = [unbiased.of("superiority")[..., None]] if "superiority" in columns else []
    if DIFFERENCES[0] not in columns:
        first = order_columns(published, unbiased)
        return np.concatenate([first, *superiority], axis=-1) if superiority else first
    first, _ = np.split(published, 2, axis=1)
    differences = [unbiased.agreement_difference[..., None], subtract_reversed(published)]
    return np.concatenate([order_columns(first, unbiased), *superiority, *differences], axis=-1)


def join_reversed(inside: Int32Array, outside: Int32Array) -> tuple[Int32Array, Int32Array]:
    """Return the comparisons, followed by the same ones seen from the group compared with."""
    return np.concatenate([inside, outside]), np.concatenate([outside, inside])


def subtract_reversed(published: FloatArray) -> FloatArray:
    """Return the differences of published statistics, (B, 2 C, M) to (B, C, D); `DIFFERENCES` but the first."""
    first, reverse = np.split(published, 2, axis=1)
    picked = [METRICS.index(metric) for metric in COMPARED if metric in METRICS]
    return np.asarray((first - reverse)[..., picked])


def order_columns(published: FloatArray, unbiased: GroupStatistics) -> FloatArray:
    """Return all statistics in the order of `COLUMNS`, shape (B, C, M)."""
    xrr = published[..., METRICS.index("xrr")]
    with np.errstate(invalid="ignore", divide="ignore"):
        corrected = np.where(xrr > ZERO, unbiased.of("distinct_alpha") / xrr, np.nan)
    first = [unbiased.of(name)[..., None] for name in UNBIASED]
    return np.concatenate([*first, published, corrected[..., None]], axis=-1)
