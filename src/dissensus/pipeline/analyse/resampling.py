"""Bootstrap and permutation replicates of every group."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.stats.bootstrap import draw_resamples, interval, two_way_interval
from dissensus.stats.design import Design, chunks, statistics
from dissensus.stats.permutation import shuffles
from dissensus.stats.result import Estimate

Floats = npt.NDArray[np.float64]
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class GroupTable:
    """Results of one axis: estimates (C, M), intervals (2, C, M), and observed (C, M) and null (B, C, M) by kernels."""

    axis: AxisComparison
    estimates: list[dict[str, Estimate | UndefinedEstimate]]
    intervals: Floats | None = None
    observed: Floats | None = None
    null: Floats | None = None


class ProgressTicks:
    """Counter of completed replicates of all axes."""

    def __init__(self, report: Progress | None, settings: AnalysisSettings) -> None:
        self._report = report
        self._total = (1 + len(settings.axes)) * settings.bootstrap + len(settings.axes) * settings.permutations
        self._done = 0

    def __call__(self, replicates: int) -> None:
        """Count completed replicates, and report the share."""
        self._done += replicates
        if self._report is not None:
            self._report(self._done / max(1, self._total))


def compute_intervals(
    design: Design,
    table: GroupTable,
    seeds: list[np.random.SeedSequence],
    settings: AnalysisSettings,
    tick: ProgressTicks,
) -> Floats:
    """Return the lower and upper ends, shape (2, C, M); raters are resampled within the groups of the axis."""
    axis = table.axis
    group = axis.codes[None]
    parts: dict[str, list[Floats]] = {"both": [], "raters": [], "items": []}
    for chunk in chunks(len(seeds), 4 * (design.n_raters + design.n_items) + design.row_bytes(len(axis.inside))):
        raters, items = draw_resamples([seeds[b] for b in chunk], axis.codes, design.n_items, settings.resample)
        if settings.resample == "both":
            parts["both"].append(_resample(design, axis, group, raters, items))
        if settings.resample != "items":
            parts["raters"].append(_resample(design, axis, group, raters, None))
        if settings.resample != "raters":
            parts["items"].append(_resample(design, axis, group, None, items))
        tick(len(chunk))
    observed = statistics(design, group, axis.inside, axis.outside)[0]
    replicates = {name: np.concatenate(arrays) for name, arrays in parts.items() if arrays}
    if settings.resample == "both":
        ends = two_way_interval(
            observed, replicates["both"], replicates["raters"], replicates["items"], level=settings.level
        )
    else:
        ends = interval(observed, replicates[settings.resample], level=settings.level)
    return np.stack(ends)


def _resample(
    design: Design,
    axis: AxisComparison,
    group: npt.NDArray[np.int32],
    raters: npt.NDArray[np.int32] | None,
    items: npt.NDArray[np.int32] | None,
) -> Floats:
    return statistics(design, group, axis.inside, axis.outside, rater_weight=raters, item_weight=items)


def compute_tests(
    design: Design,
    tables: list[GroupTable],
    seeds: list[np.random.SeedSequence],
    within: npt.NDArray[np.int32],
    tick: ProgressTicks,
) -> list[GroupTable]:
    """Add permutation replicates; all axes share the permutations, so crossings stay intact."""
    null: list[list[Floats]] = [[] for _ in tables]
    most = max(len(table.axis.inside) for table in tables)
    for chunk in chunks(len(seeds), 8 * design.n_raters + design.row_bytes(most)):
        permutations = shuffles([seeds[b] for b in chunk], design.n_raters, within)
        for table, replicates in zip(tables, null, strict=True):
            axis = table.axis
            replicates.append(statistics(design, axis.codes[permutations], axis.inside, axis.outside))
            tick(len(permutations))
    return [
        replace(
            table,
            observed=statistics(design, table.axis.codes[None], table.axis.inside, table.axis.outside)[0],
            null=np.concatenate(replicates),
        )
        for table, replicates in zip(tables, null, strict=True)
    ]
