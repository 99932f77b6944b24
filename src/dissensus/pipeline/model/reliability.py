"""Reliability of means of raters: a generalizability study, and decision studies of other numbers of raters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.model.facets import ModelFacets, VarianceDraws, summarise
from dissensus.stats.multilevel.variance import CrossedVariance

NUMBERS: Final = (1, 2, 5, 10, 20, 50, 100)
"""Numbers of raters of the decision studies."""

Target = Literal["mean of items", "group's mean of an item", "difference of two groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """Reliability of the mean of some raters on the latent scale, with items as the objects that are measured.

    `reliability` is the generalizability coefficient, for raters who all rate the same items; `dependability` is for
    other raters of each item, whose differences count as error.
    """

    target: Target
    axis: str | None
    group: str | None  # Two groups of a difference are joined by " − "
    n_raters: float  # Of each group; the number in the table is a harmonic mean over items
    is_own: bool  # True for the number of raters in the table
    reliability: float
    ci_low: float
    ci_high: float
    dependability: float
    dependability_ci_low: float
    dependability_ci_high: float


def study_reliability(facets: ModelFacets, variances: VarianceDraws, confidence: float) -> Iterator[Reliability]:
    """Yield the reliability of means of items by numbers of raters, then that of groups and their differences."""
    named = facets.named
    counts = np.bincount(named.rows.item)[:, None]
    own = _mean_number(counts[counts > 0])
    parts = variances.expect(facets.split(facets.rater_weights()))
    yield from _study("mean of items", None, None, own, _sum(parts, variances.residual), confidence)
    for axis in facets.divided_axes():
        counts = facets.count_ratings(axis)
        levels = named.rows.columns[axis].levels
        for level, group in enumerate(levels):
            parts = variances.expect(facets.split(facets.rater_weights(axis, level)))
            number = _mean_number(counts[counts[:, level] > 0, level])
            total = _sum(parts, variances.residual)
            yield from _study("group's mean of an item", axis, group, number, total, confidence)
        for a, b in combinations(range(len(levels)), 2):
            weights = [facets.rater_weights(axis, level) for level in (a, b)]
            parts = variances.expect(facets.split_difference(*weights))
            both = counts[(counts[:, [a, b]] > 0).all(1)][:, [a, b]]
            if len(both):
                total = _sum(parts, 2 * variances.residual)
                yield from _study(
                    "difference of two groups",
                    axis,
                    f"{levels[a]} − {levels[b]}",
                    _mean_number(both),
                    total,
                    confidence,
                )


def _mean_number(counts: NDArray[np.int64]) -> float:
    """Return the harmonic mean, whose inverse is the mean error variance of a mean."""
    return float(1 / (1 / counts).mean())


def _sum(parts: Sequence[CrossedVariance], residual: float) -> CrossedVariance:
    """Return the sum over terms, with the residual in the interaction."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return CrossedVariance(item=total.item, rater=total.rater, interaction=total.interaction + residual)


def _study(
    target: Target, axis: str | None, group: str | None, own: float, parts: CrossedVariance, confidence: float
) -> Iterator[Reliability]:
    """Yield the reliability for the number of raters in the table, then for others."""
    for index, number in enumerate((own, *NUMBERS)):
        same = summarise(parts.item / (parts.item + parts.interaction / number), confidence)
        other = summarise(parts.item / (parts.item + (parts.rater + parts.interaction) / number), confidence)
        yield Reliability(
            target=target,
            axis=axis,
            group=group,
            n_raters=float(number),
            is_own=index == 0,
            reliability=same[0],
            ci_low=same[1],
            ci_high=same[2],
            dependability=other[0],
            dependability_ci_low=other[1],
            dependability_ci_high=other[2],
        )
