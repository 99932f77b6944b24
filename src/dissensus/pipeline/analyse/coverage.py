"""Warnings of intervals whose coverage was measured to be too low or too high in designs of a kind.

The limits follow docs/generated/coverage.md, made by `make calibration`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from dissensus.pipeline.analyse.columns import OF_GROUP
from dissensus.pipeline.analyse.comparisons import AxisComparison
from dissensus.stats.design import Design

FEWEST_RATERS: Final = {
    "answer_share": 13,
    "mean_difference": 13,
    "pairwise_agreement": 13,
    "irr": 9,
    "xrr": 13,
    "negentropy": 9,
    "cross_negentropy": 25,
    "plurality_size": 25,
    "voting_agreement": 9,
    "gai": 9,
    "corrected_gai": 9,
    "pairwise_agreement_difference": 13,
    "irr_difference": 9,
    "negentropy_difference": 9,
    "plurality_size_difference": 13,
    "gai_difference": 9,
}
"""Raters of the smaller side from which on 95 % intervals covered at least 93 %."""

FEWEST_ITEMS: Final = {"irr": 100, "xrr": 100, "voting_agreement": 100}
RARE: Final = 0.15
COVERS_IF_RARE: Final = ("mean_difference", "group_distance", "irr", "gai", "corrected_gai", "irr_difference")
SPARSE: Final = 0.5
WIDE: Final = "interval wider than needed"
WIDE_IF_SPARSE: Final = ("negentropy", "plurality_size", "gai", "corrected_gai", "negentropy_difference")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalDesign:
    """Numbers on which the coverage of the intervals of a comparison depends."""

    n_raters: int
    n_others: int  # Raters compared with
    n_items: int
    minority: float  # Share of the answers other than the most frequent one
    density: float  # Share of the items that a rater rated, on average


def describe_interval_designs(design: Design, axis: AxisComparison) -> tuple[IntervalDesign, ...]:
    """Return the numbers of each comparison."""
    answers = np.bincount(design.answers, minlength=1)
    minority = 1 - float(answers.max() / max(1, answers.sum()))
    density = design.items.size / max(1, design.n_items * design.n_raters)
    total = int(axis.sizes.sum())
    designs = []
    for g, h in zip(axis.inside, axis.outside, strict=True):
        n = int(axis.sizes[g])
        others = total - n if h < 0 else int(axis.sizes[h])
        designs.append(
            IntervalDesign(n_raters=n, n_others=others, n_items=design.n_items, minority=minority, density=density)
        )
    return tuple(designs)


def warn_of_coverage(metric: str, design: IntervalDesign) -> str | None:
    """Return a warning if intervals of a statistic do not cover as often as they claim in such a design."""
    reasons = list(_too_narrow(metric, design))
    if reasons:
        return f"interval too narrow: {', '.join(reasons)}"
    if metric == "group_distance" or (metric in WIDE_IF_SPARSE and design.density < SPARSE):
        return WIDE
    return None


def _too_narrow(metric: str, design: IntervalDesign) -> Iterator[str]:
    smaller = design.n_raters if metric in OF_GROUP else min(design.n_raters, design.n_others)
    if smaller < FEWEST_RATERS.get(metric, 0):
        yield f"fewer than {FEWEST_RATERS[metric]} raters"
    if design.n_items < FEWEST_ITEMS.get(metric, 0):
        yield f"fewer than {FEWEST_ITEMS[metric]} items"
    if design.minority < RARE and metric not in COVERS_IF_RARE:
        yield f"{100 * (1 - design.minority):.0f} % of the answers are the same"
