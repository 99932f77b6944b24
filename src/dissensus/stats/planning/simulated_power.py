"""Power by simulation: answers from the multilevel model, tested by permutation of raters."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.cluster_robust import wilson_interval
from dissensus.stats.design import Design
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.permutation import permutation_p
from dissensus.stats.planning.assignment import BalancedAssignment, draw_assignment, draw_model_answers
from dissensus.stats.planning.contrast_power import ContrastDesign
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.result import FloatArray

PlannedStatistic: TypeAlias = Literal["share", "interaction", "agreement", "alpha", "gai", "decomposition"]
UNSTUDENTISED: Final = ("alpha", "gai")
"""Statistics that are compared with permutations of their own campaign."""
PLANNED_STATISTICS: Final[tuple[PlannedStatistic, ...]] = get_args(PlannedStatistic)
SHUFFLES: Final = 9
"""Permutations of the raters of each simulated campaign; those of all campaigns make one null distribution."""
LEAST_BEYOND: Final = 20
"""Permutations beyond the critical value, without which it is too uncertain."""
SIMULATIONS_OF_ASSIGNMENT: Final = 25
"""Simulations that share an assignment of items to raters."""
ROUNDING: Final = 1e-9
Z_95: Final = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPower:
    """Share of simulated campaigns whose test rejects, with its Wilson interval.

    Parameters
    ----------
    power, ci_low, ci_high
        The share and its interval of 95 %.
    n_simulations
        Number of simulated campaigns.
    critical
        Value that the statistic has to pass; None if each campaign has its own.
    """

    power: float
    ci_low: float
    ci_high: float
    n_simulations: int
    critical: float | None


def simulate_power(
    model: RatingModel,
    design: ContrastDesign,
    *,
    statistic: PlannedStatistic = "share",
    level: float,
    n_simulations: int = 500,
    seed: np.random.SeedSequence,
    progress: Callable[[float], None] | None = None,
) -> SimulatedPower:
    """Estimate the power of a test in a design.

    Each simulated campaign has raters, items and answers of its own. Its statistic is compared with the distribution
    of that statistic after exchanges of raters between groups, as the permutation tests of `analyse` do; the exchanges
    of all campaigns are pooled, which takes 9 of each instead of a thousand. Alpha and GAI are not studentised, and
    their distribution is another one in each campaign: they are compared with permutations of their own campaign.

    Parameters
    ----------
    model, design
        Population and design; raters of the cells of the design are those exchanged.
    statistic
        "share": difference of shares, studentised by the variance between raters; "interaction": contrast of four
        shares, for designs in which every rater rates every item. "agreement": difference of the pairwise agreements
        within two groups. "alpha": Krippendorff's alpha of the last group, for designs in which every rater rates
        every item. "gai": group association index of the last group against the other, in the same designs.
        "decomposition": share of the disagreement that lies between groups.
    level
        Level of the test; "decomposition" is one-sided, all others are two-sided.
    n_simulations
        Number of campaigns.
    seed
        One child for each simulation: results do not depend on how many there are.
    progress
        Function that is called with the share of the work that is done.

    Returns
    -------
    SimulatedPower

    Raises
    ------
    InvalidInput
        The statistic has no valid test in the design, or there are too few simulations for the level.
    """
    _check_statistic(statistic, design)
    check_simulations(n_simulations, level)
    compute = _choose_statistics(statistic, design)
    # With 10 / level - 1 permutations of a campaign, p is at most the level if four or fewer are as far in one tail.
    n_permutations = SHUFFLES if statistic not in UNSTUDENTISED else math.ceil(round(10 / level, 6)) - 1
    observed, null = np.empty(n_simulations), np.empty((n_simulations, n_permutations))
    for s, child in enumerate(seed.spawn(n_simulations)):
        rng = np.random.default_rng(child)
        if s % SIMULATIONS_OF_ASSIGNMENT == 0:
            assignment = draw_assignment(rng, design)
        order = np.tile(np.arange(assignment.cell.size), (n_permutations + 1, 1))
        order[1:] = rng.permuted(order[1:], axis=1)
        answers = draw_model_answers(rng, model, design, assignment)
        values = compute(assignment, answers, order)
        observed[s], null[s] = values[0], values[1:]
        if progress is not None:
            progress((s + 1) / n_simulations)
    if statistic in UNSTUDENTISED:
        return _summarise(permutation_p(observed, null.T) <= level + ROUNDING, None)
    return _count_rejections(observed, null, statistic, level)


def check_simulations(n_simulations: int, level: float) -> None:
    """Raise if too few simulations would determine the critical value of a level."""
    least = math.ceil(round(LEAST_BEYOND / (SHUFFLES * level), 6))
    if n_simulations < least:
        raise InvalidInput(
            f"{n_simulations:,} simulations are too few for a level of {level:g}: they do not determine the critical "
            f"value. Give {least:,} or more."
        )


def _choose_statistics(statistic: PlannedStatistic, design: ContrastDesign) -> Callable[..., FloatArray]:
    """Return the function that computes a statistic for each order of the raters."""
    if statistic == "alpha":
        return partial(alpha_statistics, design)
    if statistic == "gai":
        return partial(gai_statistics, design)
    if statistic not in ("share", "interaction"):
        return partial(_group_statistics, design, statistic)
    return partial(_contrast_statistics, design) if is_crossed(design) else difference_statistics


def _check_statistic(statistic: PlannedStatistic, design: ContrastDesign) -> None:
    if statistic not in PLANNED_STATISTICS:
        raise InvalidInput(f"statistic is {statistic!r}; choose from {', '.join(PLANNED_STATISTICS)}.")
    n_cells = 4 if statistic == "interaction" else 2
    if len(design.cells) != n_cells:
        raise InvalidInput(f"{statistic} compares {n_cells} cells, and the design has {len(design.cells)}.")
    if statistic in ("agreement", "decomposition") and min(cell.per_item for cell in design.cells) < 2:
        raise InvalidInput(
            f"{statistic} needs pairs of raters of one group. Plan two or more ratings of an item by each group."
        )
    if statistic in (*UNSTUDENTISED, "interaction") and not is_crossed(design):
        remedy = (
            "do not simulate"
            if statistic == "interaction"
            else "plan for agreement or decomposition, which do not depend on their number"
        )
        raise InvalidInput(
            f"The test of {statistic} holds where every rater rates every item. Leave out the ratings per item, or "
            f"{remedy}."
        )


def is_crossed(design: ContrastDesign) -> bool:
    """Return whether every rater of every cell rates every item."""
    return all(cell.per_item == cell.n_raters for cell in design.cells)


def _contrast_statistics(
    design: ContrastDesign,
    assignment: BalancedAssignment,
    answers: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
) -> FloatArray:
    """Return the studentised contrast of means of raters, Welch's t of two groups, for each order of the raters."""
    means = (np.bincount(assignment.rater, answers) / design.n_items)[order]
    total, square, first = np.zeros(len(order)), np.zeros(len(order)), 0
    for cell in design.cells:
        part = means[:, first : first + cell.n_raters]
        total += cell.weight * part.mean(axis=1)
        square += cell.weight**2 * part.var(axis=1, ddof=1) / cell.n_raters
        first += cell.n_raters
    return np.asarray(total / np.sqrt(np.maximum(square, ROUNDING**2)))


def difference_statistics(
    assignment: BalancedAssignment,
    answers: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
) -> FloatArray:
    """Return the studentised difference of two groups on the same items, for each order of the raters.

    It is `difference_t` of `group_statistics`: the coefficient of the group in a regression with an intercept for each
    item, over its standard error clustered by rater.
    """
    item, rater, n_raters = assignment.item, assignment.rater, assignment.cell.size
    replication = np.bincount(item)
    outcome = answers - (np.bincount(item, answers) / replication)[item]
    groups = assignment.cell[order].astype(np.float64)
    result = np.empty(len(order))
    for row, group in enumerate(groups):
        inside = group[rater]
        inside -= (np.bincount(item, inside) / replication)[item]
        # Sums, since products of so short vectors wait for threads of the linear algebra library.
        square = (inside * inside).sum()
        slope = (inside * outcome).sum() / square
        scores = np.bincount(rater, inside * (outcome - slope * inside), n_raters) ** 2
        n_inside = group.sum()
        n_outside = n_raters - n_inside
        variance = n_inside / (n_inside - 1) * (scores @ group) + n_outside / (n_outside - 1) * (scores @ (1 - group))
        result[row] = slope * square / max(variance**0.5, ROUNDING)
    return result


def alpha_statistics(
    design: ContrastDesign,
    assignment: BalancedAssignment,
    answers: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
) -> FloatArray:
    """Return Krippendorff's alpha of the raters of the last cell, who all rate every item, for each order."""
    return _compute_alpha(_count_hits(design, assignment, answers, order, -1), design.cells[-1].n_raters)


def gai_statistics(
    design: ContrastDesign,
    assignment: BalancedAssignment,
    answers: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
) -> FloatArray:
    """Return the group association index of the last cell against the other, alpha over XRR, for each order."""
    own, other = (_count_hits(design, assignment, answers, order, cell) for cell in (-1, 0))
    n_own, n_other = design.cells[-1].n_raters, design.cells[0].n_raters
    p, q = own / n_own, other / n_other
    observed = (p * (1 - q) + q * (1 - p)).mean(axis=0)
    mean_p, mean_q = p.mean(axis=0), q.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = 1 - observed / (mean_p * (1 - mean_q) + mean_q * (1 - mean_p))
        return np.asarray(_compute_alpha(own, n_own) / np.where(cross > ROUNDING, cross, np.nan))


def _count_hits(
    design: ContrastDesign,
    assignment: BalancedAssignment,
    answers: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
    cell: int,
) -> FloatArray:
    """Return how many raters of a cell give the answer to each item, shape (I, orders)."""
    table = np.zeros((design.n_items, assignment.cell.size))
    table[assignment.item, assignment.rater] = answers
    inside = assignment.cell[order] == cell % len(design.cells)
    return np.asarray(table @ inside.T.astype(np.float64))


def _compute_alpha(hits: FloatArray, n: int) -> FloatArray:
    n_all, n_hits = n * len(hits), hits.sum(axis=0)
    within = (hits * (n - hits)).sum(axis=0) / (n - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(1 - within * (n_all - 1) / (n_hits * (n_all - n_hits)))


def _group_statistics(
    design: ContrastDesign,
    statistic: PlannedStatistic,
    assignment: BalancedAssignment,
    answers: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
) -> FloatArray:
    """Return the statistic that `analyse` tests, for each order of the raters."""
    codes = assignment.cell[order].astype(np.int32)
    ratings = Design(
        assignment.item.astype(np.int32),
        assignment.rater.astype(np.int32),
        answers.astype(np.int16),
        design.n_items,
        assignment.cell.size,
        2,
    )
    inside, outside = np.array([0]), np.array([1])
    result = group_statistics(ratings, codes, inside, outside, answer=1)
    return result.between_t if statistic == "decomposition" else np.asarray(result.agreement_t[:, 0])


def _count_rejections(
    observed: FloatArray, null: FloatArray, statistic: PlannedStatistic, level: float
) -> SimulatedPower:
    """Compare each campaign with the pooled null distribution."""
    if statistic != "decomposition":
        observed, null = np.abs(observed), np.abs(null)
    critical = float(np.nanquantile(null, 1 - level, method="higher"))
    return _summarise(observed > critical, critical)


def _summarise(rejected: npt.NDArray[np.bool_], critical: float | None) -> SimulatedPower:
    power = float(rejected.mean())
    low, high = wilson_interval(power, rejected.size, Z_95)
    return SimulatedPower(power=power, ci_low=low, ci_high=high, n_simulations=rejected.size, critical=critical)
