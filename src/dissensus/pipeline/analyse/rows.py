"""Rows of the analysis table: estimates, or reasons why they are missing."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.analyse.columns import COLUMNS, COMPARED, DIFFERENCES
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.pipeline.analyse.resampling import GroupTable
from dissensus.pipeline.analyse.result import Row
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.association import gai
from dissensus.stats.bootstrap import NO_SPREAD
from dissensus.stats.cohesion import negentropy, plurality_size
from dissensus.stats.crossgroup import cross_negentropy, voting_agreement, xrr
from dissensus.stats.design import BlockedDesign, Design
from dissensus.stats.groups.coverage import OF_GROUP, IntervalDesign, warn_of_coverage
from dissensus.stats.groups.estimates import (
    agreement_difference,
    answer_mean,
    answer_mean_difference,
    answer_share,
    between_share,
    corrected_gai,
    group_distance,
    mean_difference,
    pairwise_agreement,
    superiority,
)
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.result import Estimate, FloatArray, Int32Array, none_if_nan

Estimator = Callable[..., Estimate]

DEPENDENT = ("negentropy_difference", "plurality_size_difference")
"""Differences of statistics that depend on the number of raters."""
CHANCE_CORRECTED = ("irr_difference", "gai_difference")
"""Differences of statistics that depend on the number of raters in groups of fewer than `MIN_INDEPENDENT`."""
MIN_INDEPENDENT = 25
MAX_RATIO = 1.1
"""Largest ratio of the sizes of two groups whose differences of such statistics need no warning."""

ALONE = ("negentropy", "plurality_size")
"""Statistics that a single rater would have at their maximum."""
ONE_RATER = "negentropy and plurality size are undefined: there is one rater, who agrees with nobody."


def compute_estimates(
    design: Design, axis: AxisComparison, answer: int, columns: tuple[str, ...] = COLUMNS
) -> list[dict[str, Estimate | UndefinedEstimate]]:
    """Return the estimates of each comparison, or the errors of undefined ones."""
    counts, within, across = (
        design.counts(axis.codes),
        within_estimators(design, answer),
        across_estimators(design, answer),
    )
    total, of_scale = counts.sum(axis=0), dict[str, Any]()
    if design.scale is not None:
        of_scale = {"level": design.scale.level, "values": design.scale.values}
    estimates = []
    for g, h, alpha in zip(axis.inside, axis.outside, _distinct_alphas(design, axis).tolist(), strict=True):
        reference = total - counts[g] if h < 0 else counts[h]
        values = {name: _estimate_or_error(function, counts[g]) for name, function in within.items()}
        if axis.sizes[g] == 1:
            values |= dict.fromkeys(ALONE, UndefinedEstimate(ONE_RATER))
        if axis.name is not None and g != h:
            values |= {name: _estimate_or_error(function, counts[g], reference) for name, function in across.items()}
            corrected = partial(corrected_gai, distinct_alpha=alpha, **of_scale)
            values["corrected_gai"] = _estimate_or_error(corrected, counts[g], reference)
            if DIFFERENCES[0] in columns:
                values |= _differences(counts[g], reference, values, within, across)
        estimates.append(values)
    return estimates


def _distinct_alphas(design: Design, axis: AxisComparison) -> FloatArray:
    """Return alpha with chance over distinct raters of each comparison; NaN for those that do not compare groups."""
    alphas = np.full(len(axis.inside), np.nan)
    if axis.name is not None and (compared := axis.inside != axis.outside).any():
        sides = axis.inside[compared], axis.outside[compared]
        alphas[compared] = group_statistics(design, axis.codes[None], *sides, answer=0).of("distinct_alpha")[0]
    return alphas


def within_estimators(design: Design | BlockedDesign, answer: int) -> dict[str, Estimator]:
    """Return the estimators of a group alone, at the level of the answers."""
    scale = design.scale
    nominal: dict[str, Estimator] = {"negentropy": negentropy, "plurality_size": plurality_size}
    if scale is None:
        return nominal | {
            "answer_share": partial(answer_share, answer=answer),
            "pairwise_agreement": pairwise_agreement,
            "irr": krippendorff_alpha,
        }
    return nominal | {
        "answer_mean": partial(answer_mean, values=scale.values),
        "pairwise_agreement": partial(pairwise_agreement, likeness=scale.likeness),
        "irr": partial(krippendorff_alpha, level=scale.level, values=scale.values),
    }


def across_estimators(design: Design | BlockedDesign, answer: int) -> dict[str, Estimator]:
    """Return the estimators of a group and the one compared with, at the level of the answers."""
    scale = design.scale
    nominal: dict[str, Estimator] = {"cross_negentropy": cross_negentropy, "voting_agreement": voting_agreement}
    if scale is None:
        return nominal | {
            "mean_difference": partial(mean_difference, answer=answer),
            "group_distance": group_distance,
            "xrr": xrr,
            "gai": gai,
            "pairwise_agreement_difference": agreement_difference,
        }
    return nominal | {
        "mean_difference": partial(answer_mean_difference, values=scale.values),
        "superiority": superiority,
        "group_distance": partial(group_distance, likeness=scale.likeness),
        "xrr": partial(xrr, level=scale.level, values=scale.values),
        "gai": partial(gai, level=scale.level, values=scale.values),
        "pairwise_agreement_difference": partial(agreement_difference, likeness=scale.likeness),
    }


def _differences(
    counts: Int32Array,
    reference: Int32Array,
    values: dict[str, Estimate | UndefinedEstimate],
    within: dict[str, Estimator],
    across: dict[str, Estimator],
) -> dict[str, Estimate | UndefinedEstimate]:
    """Return the differences of the statistics of a group from those of the group compared with."""
    result: dict[str, Estimate | UndefinedEstimate] = {}
    for metric, name in zip(COMPARED, DIFFERENCES, strict=True):
        if name in across:
            continue
        arguments = (reference,) if metric in within else (reference, counts)
        first, second = values[metric], _estimate_or_error({**within, **across}[metric], *arguments)
        undefined = [value for value in (first, second) if isinstance(value, UndefinedEstimate)]
        if isinstance(first, Estimate) and isinstance(second, Estimate):
            result[name] = replace(first, estimate=first.estimate - second.estimate, method=name, ties=None)
        else:
            result[name] = undefined[0]
    return result


def compute_between_share(design: Design, axis: AxisComparison) -> Estimate | UndefinedEstimate:
    """Return the share of disagreement between the groups of an axis, or the error if it is undefined."""
    if axis.name is None:
        return UndefinedEstimate("compares groups; name an axis")
    likeness = None if design.scale is None else design.scale.likeness
    return _estimate_or_error(partial(between_share, likeness=likeness), design.counts(axis.codes))


def _estimate_or_error(function: Callable[..., Estimate], *counts: Int32Array) -> Estimate | UndefinedEstimate:
    try:
        return function(*counts)
    except UndefinedEstimate as reason:
        return reason


def build_rows(table: GroupTable) -> Iterator[Row]:
    """Yield the rows of each comparison in the order of the columns, then those of the axis."""
    for c, estimates in enumerate(table.estimates):
        for m, metric in enumerate(table.columns):
            row = _row(table, c, m, estimates.get(metric))
            yield replace(row, warning=_warn(row, table.designs[c]))
    yield _between(table)
    yield _dsi(table)


def _row(table: GroupTable, c: int, m: int, estimate: Estimate | UndefinedEstimate | None) -> Row:
    axis, metric = table.axis, table.columns[m]
    n_raters = int(axis.sizes[axis.inside[c]])
    blank = Row(
        axis=axis.name,
        group=None if axis.name is None else axis.groups[axis.inside[c]],
        against=None if axis.name is None or metric in OF_GROUP else axis.against(c),
        metric=metric,
        estimate=None,
        n_raters=n_raters,
        n_items=0,
    )
    if estimate is None:
        reason = "name an axis" if axis.name is None else "this is the reference group"
        return replace(blank, reason=f"compares groups; {reason}")
    if isinstance(estimate, UndefinedEstimate):
        return replace(blank, reason=str(estimate))
    row = replace(blank, estimate=estimate.estimate, n_items=estimate.n_items, ties=estimate.ties)
    if table.intervals is None:
        return row
    low, high = (none_if_nan(end) for end in table.intervals.ends[:, c, m])
    if low is None:
        is_constant = table.intervals.constant[c, m]
        return replace(row, reason=NO_SPREAD if is_constant else "every bootstrap replicate is undefined")
    return replace(row, ci_low=low, ci_high=high)


def _warn(row: Row, design: IntervalDesign) -> str | None:
    """Return the caveats about a row."""
    coverage = None if row.ci_low is None else warn_of_coverage(row.metric, design)
    return "; ".join(filter(None, (coverage, _warn_of_sizes(row, design)))) or None


def _warn_of_sizes(row: Row, design: IntervalDesign) -> str | None:
    smaller, larger = sorted((design.n_raters, design.n_others))
    depends = row.metric in DEPENDENT or (row.metric in CHANCE_CORRECTED and smaller < MIN_INDEPENDENT)
    if not depends or row.estimate is None or larger <= MAX_RATIO * smaller:
        return None
    return "groups of different size differ by chance: compare with null_mean (JSON, CSV)"


def _between(table: GroupTable) -> Row:
    axis, estimate = table.axis, table.between_share
    n_raters = int(axis.sizes.sum())
    row = Row(
        axis=axis.name, group=None, against=None, metric="between_share", estimate=None, n_raters=n_raters, n_items=0
    )
    if isinstance(estimate, UndefinedEstimate):
        return replace(row, reason=str(estimate))
    reason = "no interval is computed for the share between groups" if table.intervals is not None else None
    return replace(row, estimate=estimate.estimate, n_items=estimate.n_items, reason=reason)


def _dsi(table: GroupTable) -> Row:
    axis = table.axis
    n_raters = int(axis.sizes.sum())
    blank = Row(axis=axis.name, group=None, against=None, metric="dsi", estimate=None, n_raters=n_raters, n_items=0)
    if axis.name is None:
        return replace(blank, reason="compares groups; name an axis")
    if axis.outside[0] >= 0:
        return replace(blank, reason="DSI compares each group with the rest, not with one group.")
    defined = [value for values in table.estimates if isinstance(value := values["gai"], Estimate)]
    if not defined:
        return replace(blank, reason="DSI is undefined: no group has a defined GAI.")
    top = max(defined, key=float)
    reason = "a maximum of noisy values has no valid interval" if table.intervals is not None else None
    return replace(blank, against=axis.against(0), estimate=top.estimate, n_items=top.n_items, reason=reason)
