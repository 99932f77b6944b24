"""Tests and intervals of `analyse` for groups that do not differ, by simulation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tests.support.assignments import draw_stratified_null

from dissensus.pipeline.analyse.columns import PUBLISHED, UPPER
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.pipeline.analyse.level import Level, build_scale
from dissensus.pipeline.analyse.permutations import compute_tests
from dissensus.pipeline.analyse.resampling import ProgressTicks, compute_intervals
from dissensus.pipeline.analyse.result import Row
from dissensus.pipeline.analyse.rows import build_rows
from dissensus.pipeline.analyse.settings import AnalysisSettings
from dissensus.pipeline.analyse.significance import add_significance
from dissensus.pipeline.analyse.table import estimate_axis, list_columns
from dissensus.stats.permutation import permutation_p, upper_p

Floats = NDArray[np.float64]
Seeds = list[np.random.SeedSequence]
N_RESAMPLES: Final = 20
"""Sets of bootstrap resamples, which serve simulations in turn."""
FIELDS = ("estimates", "low", "high", "warned", "p", "naive_p")


@dataclass(frozen=True, kw_only=True, eq=False)
class NullSimulations:
    """Rows of the analysis table in each simulation, shape (simulations, rows)."""

    metrics: tuple[str, ...]  # Of each row
    groups: tuple[int, ...]  # Code of each row; -1 for a statistic of the axis
    estimates: Floats
    low: Floats
    high: Floats
    warned: Floats  # 1 for a row with a warning
    p: Floats  # NaN for a withheld test
    naive_p: Floats  # Of published statistics, distance and share between groups, withheld or not


def simulate_null(
    name: str,
    simulations: int,
    *,
    level: Level = "nominal",
    permutations: int = 0,
    bootstrap: int = 0,
    seed: tuple[int, ...] = (1,),
) -> NullSimulations:
    """Analyse simulated ratings of a design as `analyse` does."""
    rng, seeds = np.random.default_rng([*seed, 1]), np.random.SeedSequence([*seed, 2])
    # Analyses keep what they drew by such seeds.
    resamples = [seeds.spawn(bootstrap) for _ in range(N_RESAMPLES)]
    settings = AnalysisSettings(
        question="Q",
        share_of="Yes" if level == "nominal" else None,
        axes=("rater_group",),
        level=level,
        permutations=permutations,
        bootstrap=bootstrap,
        differences=True,
    )
    drawn = [
        _simulate(rng, (seeds.spawn(permutations), resamples[number % N_RESAMPLES]), name, settings)
        for number in range(simulations)
    ]
    rows = drawn[0][0]

    def collect(field: str) -> Floats:
        return np.array([[getattr(row, field) for row in of_one] for of_one, _ in drawn], dtype=np.float64)

    return NullSimulations(
        metrics=tuple(row.metric for row in rows),
        groups=tuple(-1 if row.group is None else int(row.group) for row in rows),
        estimates=collect("estimate"),
        low=collect("ci_low"),
        high=collect("ci_high"),
        warned=np.array([[_warns_of_interval(row) for row in of_one] for of_one, _ in drawn], dtype=np.float64),
        p=collect("p"),
        naive_p=np.array([naive for _, naive in drawn]),
    )


def simulate_looks(
    name: str, looks: Iterable[int], *, level: Level = "nominal", permutations: int = 0, bootstrap: int = 0
) -> Iterator[NullSimulations]:
    """Yield all simulations so far at each of these numbers of them."""
    parts: list[NullSimulations] = []
    for before, end in pairwise((0, *looks)):
        seed = (1, before)
        parts.append(
            simulate_null(name, end - before, level=level, permutations=permutations, bootstrap=bootstrap, seed=seed)
        )
        arrays: dict[str, Any] = {field: np.concatenate([getattr(part, field) for part in parts]) for field in FIELDS}
        yield replace(parts[0], **arrays)


def _simulate(
    rng: np.random.Generator, seeds: tuple[Seeds, Seeds], name: str, settings: AnalysisSettings
) -> tuple[list[Row], Floats]:
    of_permutations, of_resamples = seeds
    design, group, strata = draw_stratified_null(rng, name)
    inside = np.arange(int(group.max()) + 1, dtype=np.int32)
    axis = AxisComparison("rater_group", group, tuple(map(str, inside)), inside, np.full_like(inside, -1))
    scale = build_scale(settings.level, [str(k) for k in range(design.n_categories)], design.answers)
    design = replace(design, scale=scale)
    answer, tick, columns = design.n_categories - 1, ProgressTicks(None, settings), list_columns(settings)
    table = estimate_axis(design, axis, answer, columns)
    if settings.bootstrap:
        intervals = compute_intervals(design, table, of_resamples, settings, answer, tick)
        table = replace(table, intervals=intervals)
    if settings.permutations:
        [table] = compute_tests(design, [table], of_permutations, strata, answer, tick)
    rows = list(build_rows(table))
    if table.tests is None:
        return rows, np.full(len(rows), np.nan)
    tested, _ = add_significance(rows, [table, table], settings)
    replicates = table.tests.tested, table.tests.null_tested
    naive = np.where([row.metric in UPPER for row in rows], upper_p(*replicates), permutation_p(*replicates))
    return tested, np.where([row.metric in (*PUBLISHED, *UPPER) for row in rows], naive, np.nan)


def _warns_of_interval(row: Row) -> bool:
    return "interval" in (row.warning or "")
