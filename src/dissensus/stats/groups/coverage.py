"""Warnings of intervals that cover too seldom or too often in a design, by simulation.

The limits follow docs/generated/coverage.md, made by `make calibration`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from dissensus.stats.design import Block, BlockedDesign, Design, pass_over
from dissensus.stats.result import BoolArray, Int64Array, IntArray

OF_GROUP: Final = ("answer_share", "answer_mean", "pairwise_agreement", "irr", "negentropy", "plurality_size")
"""Statistics of a group alone."""

FEWEST_RATERS: Final = {
    "answer_share": 9,
    "answer_mean": 9,
    "mean_difference": 9,
    "superiority": 9,
    "pairwise_agreement": 15,
    "cross_negentropy": 30,
    "plurality_size": 30,
    "gai": 25,
    "corrected_gai": 25,
    "pairwise_agreement_difference": 15,
}
"""Fewest raters with which 95 % intervals covered about 93 % or more."""

OF_OWN: Final = (*OF_GROUP, "cross_negentropy")
OF_OTHERS: Final = ("gai", "corrected_gai")
"""Statistics for which the raters of the group count, or those compared with; for all others it is the smaller side."""

FEWEST_ITEMS_OF_VALUE: Final = 30
"""Number of items of one value below which intervals and tests depend on single items."""

FEWEST_ITEMS: Final = {"answer_share": 60, "irr": 100, "xrr": 100, "negentropy": 60, "voting_agreement": 100}
"""Fewest items without a warning of narrow intervals."""

# RARE, SPARSE, UNEQUAL, MANY_ANSWERS and FEW_PER_ITEM are limits of `minority`, `density`, `load_ratio`, `n_answers`
# and the ratings per item of an `IntervalDesign`; beyond them, intervals of the statistics listed need a warning.
# Of a statistic that compares two groups it is the smaller minority of both.
RARE: Final = 0.15
NARROW_IF_RARE: Final = (
    "answer_share",
    "pairwise_agreement",
    "xrr",
    "negentropy",
    "cross_negentropy",
    "plurality_size",
    "voting_agreement",
    "pairwise_agreement_difference",
    "negentropy_difference",
    "plurality_size_difference",
)
SPARSE: Final = 0.5
NARROW_IF_SPARSE: Final = ("pairwise_agreement", "voting_agreement", "pairwise_agreement_difference")
UNEQUAL: Final = 1.2
NARROW_IF_UNEQUAL: Final = (
    "answer_share",
    "answer_mean",
    "mean_difference",
    "superiority",
    "xrr",
    "cross_negentropy",
    "plurality_size",
    "plurality_size_difference",
)
WIDE_IF_SPARSE: Final = ("negentropy", "gai", "corrected_gai", "negentropy_difference", "gai_difference")
MANY_ANSWERS: Final = 5
WIDE_IF_MANY_ANSWERS: Final = (
    "pairwise_agreement",
    "pairwise_agreement_difference",
    "negentropy",
    "plurality_size",
    "gai",
    "negentropy_difference",
    "plurality_size_difference",
)
WIDE_IF_MANY_ANSWERS_AND_SPARSE: Final = ("cross_negentropy",)
WIDE_UP_TO_RATERS: Final = {
    "negentropy": 13,
    "gai": 13,
    "voting_agreement": 4,
    "negentropy_difference": 13,
    "plurality_size_difference": 12,
}
"""Most raters with which 95 % intervals covered more than 97 %."""
WIDE_IF_FEW_OTHERS: Final = ("cross_negentropy",)
WIDE_IF_RARE: Final = ("gai", "irr_difference", "gai_difference")
WIDE_IF_RARE_AND_SPARSE: Final = ("irr",)
WIDE_BELOW_ITEMS: Final = {"gai": 60}
NARROW: Final = "interval too narrow"
WIDE: Final = "interval wider than needed"
FEW_PER_ITEM: Final = 5
APPROXIMATE_IF_FEW_PER_ITEM: Final = (
    "mean_difference",
    "irr",
    "xrr",
    "plurality_size",
    "irr_difference",
    "plurality_size_difference",
)
"""Statistics whose 95 % intervals covered 92.8 to 98.2 % in quotas of two and four raters of a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalDesign:
    """Numbers on which the coverage of the intervals of a comparison depends."""

    n_raters: int
    n_others: int  # Raters compared with
    n_items: int
    minority: float  # Share of the answers of the group other than its most frequent one
    others_minority: float  # The same of the raters compared with; 1 without any
    density: float  # Share of the items that a rater rated, on average
    n_answers: int
    load_ratio: float  # Ratings per rater of the side with more of them, over those of the other
    n_per_item: float  # Ratings per item by raters of the group
    n_others_per_item: float


def describe_interval_designs(
    design: Design | BlockedDesign, group: IntArray, inside: IntArray, outside: IntArray
) -> tuple[IntervalDesign, ...]:
    """Return the numbers of each comparison; groups of the raters are negative for none, and outside for all others.

    Examples
    --------
    >>> design = Design(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0, 1, 0]), 2, 2, 2)
    >>> describe_interval_designs(design, np.array([0, 1]), np.array([0]), np.array([-1]))[0].density
    0.75
    """
    sizes = np.bincount(group[group >= 0], minlength=max(inside.max(initial=0), outside.max(initial=0)) + 1)
    loads, answers, n_items = design.loads, _count_answers(design, group, len(sizes)), design.n_rated
    of_all = answers.sum(axis=0)
    density = design.n_ratings / max(1, n_items * int(np.count_nonzero(loads)))
    total = int(sizes.sum())
    return tuple(
        IntervalDesign(
            n_raters=int(sizes[g]),
            n_others=total - int(sizes[g]) if h < 0 else int(sizes[h]),
            n_items=n_items,
            minority=_minority(answers[g]),
            others_minority=_minority(of_all - answers[g] if h < 0 else answers[h]),
            density=density,
            n_answers=design.n_categories,
            load_ratio=_compare_loads(loads, *sides),
            n_per_item=float(loads[sides[0]].sum()) / max(1, n_items),
            n_others_per_item=float(loads[sides[1]].sum()) / max(1, n_items),
        )
        for g, h in zip(inside, outside, strict=True)
        for sides in [(group == g, group == h if h >= 0 else (group >= 0) & (group != g))]
    )


def _count_answers(design: Design | BlockedDesign, group: IntArray, n_groups: int) -> Int64Array:
    """Return the number of times that the raters of each group gave each answer, shape (G, K)."""
    if n_groups == 1 and (group == 0).all():
        return design.answer_counts[None]
    counts = np.zeros((n_groups, design.n_categories), np.int64)
    pass_over(design, partial(_add_answers, group), counts)
    return counts


def _add_answers(group: IntArray, block: Block, counts: Int64Array) -> None:
    of_rating = group[block.design.raters].astype(np.int64)
    cells = (of_rating * counts.shape[1] + block.design.answers)[of_rating >= 0]
    counts += np.bincount(cells, minlength=counts.size).reshape(counts.shape)


def _minority(answers: Int64Array) -> float:
    """Return the share of the answers other than the most frequent one."""
    return 1 - float(answers.max() / max(1, answers.sum()))


def _compare_loads(loads: IntArray, inside: BoolArray, outside: BoolArray) -> float:
    """Return the larger of two mean numbers of ratings per rater over the smaller; 1 if there are no others."""
    if not outside.any() or not inside.any():
        return 1.0
    low, high = sorted((float(loads[inside].mean()), float(loads[outside].mean())))
    return high / low if low else 1.0


def warn_of_few_items(metric: str, n_items: int) -> str | None:
    """Return a warning if an interval of a statistic over items alone has too few of them."""
    reason = _few_items(metric, n_items)
    return f"{NARROW}: {reason}" if reason else None


def _few_items(metric: str, n_items: int) -> str | None:
    fewest = FEWEST_ITEMS.get(metric, 0)
    return f"fewer than {fewest} items" if n_items < fewest else None


def warn_of_coverage(metric: str, design: IntervalDesign) -> str | None:
    """Return a warning if intervals of a statistic do not cover as often as they claim in such a design."""
    reasons = list(_too_narrow(metric, design))
    if reasons:
        return f"{NARROW}: {', '.join(reasons)}"
    n_per_item = design.n_per_item if metric in OF_OWN else min(design.n_per_item, design.n_others_per_item)
    if metric in APPROXIMATE_IF_FEW_PER_ITEM and n_per_item < FEW_PER_ITEM:
        return f"interval approximate: fewer than {FEW_PER_ITEM} ratings of a group per item"
    return WIDE if _is_wide(metric, design) else None


def _too_narrow(metric: str, design: IntervalDesign) -> Iterator[str]:
    if metric in OF_OWN:
        n_raters = design.n_raters
    else:
        n_raters = design.n_others if metric in OF_OTHERS else min(design.n_raters, design.n_others)
    if n_raters < FEWEST_RATERS.get(metric, 0):
        yield f"fewer than {FEWEST_RATERS[metric]} raters{' to compare with' if metric in OF_OTHERS else ''}"
    if few_items := _few_items(metric, design.n_items):
        yield few_items
    if (minority := _smaller_minority(metric, design)) < RARE and metric in NARROW_IF_RARE:
        yield f"{100 * (1 - minority):.0f} % of the answers are the same"
    if design.density < SPARSE and metric in NARROW_IF_SPARSE:
        yield "few ratings per item"
    if design.load_ratio > UNEQUAL and metric in NARROW_IF_UNEQUAL:
        yield f"raters of one side rated {design.load_ratio:.1f} times as many items"


def _smaller_minority(metric: str, design: IntervalDesign) -> float:
    return design.minority if metric in OF_GROUP else min(design.minority, design.others_minority)


def _is_wide(metric: str, design: IntervalDesign) -> bool:
    n_raters = design.n_raters if metric in OF_OWN else min(design.n_raters, design.n_others)
    sparse, many = design.density < SPARSE, design.n_answers >= MANY_ANSWERS
    rare = _smaller_minority(metric, design) < RARE
    return (
        metric == "group_distance"
        or n_raters <= WIDE_UP_TO_RATERS.get(metric, -1)
        or design.n_items < WIDE_BELOW_ITEMS.get(metric, 0)
        or (metric in WIDE_IF_FEW_OTHERS and 0 < design.n_others < FEWEST_RATERS["pairwise_agreement"])
        or (metric in WIDE_IF_SPARSE and sparse)
        or (metric in WIDE_IF_RARE and rare)
        or (metric in WIDE_IF_RARE_AND_SPARSE and rare and sparse)
        or (metric in WIDE_IF_MANY_ANSWERS and many)
        or (metric in WIDE_IF_MANY_ANSWERS_AND_SPARSE and many and sparse)
    )
