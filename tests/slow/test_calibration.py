"""Size of the permutation tests under the null and coverage of the two-way intervals, by simulation.

Pools are drawn from the model of `dissensus.simulate_ratings` without any effect of group. Tolerances are those of
counts: with n independent simulations a share p has a standard error of sqrt(p (1 - p) / n).
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.strategies import Floats
from tests.support.sequential_bounds import RARE_MISSES

from dissensus.pipeline.simulate import draw_answers
from dissensus.preference.ranking.ranking import Comparisons, rank
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.agreement_interval import agreement_interval, alpha_intervals
from dissensus.stats.bootstrap import draw_resamples, two_way_interval
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.groups.scale import build_ordered_scale
from dissensus.stats.groups.statistics import resample_published
from dissensus.stats.permutation import draw_permutations, permutation_p

pytestmark = pytest.mark.slow

INSIDE, OUTSIDE = np.array([0]), np.array([-1])
# XRR and voting agreement of two groups are symmetric, so there is one comparison.
# Both rules reject with a probability that is known exactly; with fewer, ties of voting agreement count for more.
N_PERMUTATIONS = 119


def pool(
    rng: np.random.Generator, size: int, n_rest: int, n_items: int, share_rated: float = 1.0
) -> tuple[Design, NDArray[np.int32]]:
    """Draw the ratings of a group of `size` raters and of the rest."""
    group = np.repeat(np.array([0, 1], dtype=np.int32), [size, n_rest])
    answers = draw_answers(rng, np.zeros_like(group), n_items)
    raters, items = np.nonzero(rng.random(answers.shape) < share_rated)
    design = Design(items.astype(np.int32), raters.astype(np.int32), answers[raters, items], n_items, size + n_rest, 3)
    return design, group


def p_values(simulations: int, seed: int, share_rated: float) -> tuple[Floats, Floats]:
    """P-values by the default rule and by GRASP's in pools of 12 + 24 raters × 60 items, shape (simulations, 7)."""
    rng = np.random.default_rng(seed)
    seeds = np.random.SeedSequence(seed)
    default, grasp = [], []
    for _ in range(simulations):
        design, group = pool(rng, 12, 24, 60, share_rated)
        observed = statistics(design, group[None], INSIDE, OUTSIDE)[0, 0]
        null = statistics(design, group[draw_permutations(seeds.spawn(N_PERMUTATIONS), group.size)], INSIDE, OUTSIDE)[
            :, 0
        ]
        default.append(permutation_p(observed, null, method="two-sided"))
        grasp.append(permutation_p(observed, null, method="grasp"))
    return np.array(default), np.array(grasp)


@pytest.mark.parametrize("share_rated", [1.0, 0.5], ids=["complete", "sparse"])
def test_a_true_null_is_rejected_as_often_as_each_rule_is_known_to(share_rated: float) -> None:
    """2,000 simulations of either design.

    The default rule rejects five of a hundred: standard error .0049, so that .036 to .064 is nearly three of them on
    either side, and a rule that rejects eight of a hundred passes with a probability of .004. A two-sided p of 119
    permutations takes multiples of 1 in 60, so that p ≤ .05 has a probability of exactly .05, less what ties take
    away. GRASP's rule rejects twice as often: standard error .0067, and .073 to .127 is four of them on either side.
    Each tenth holds a tenth of the p-values of the default rule, within three standard errors of .0067. Seeds are
    fixed.
    """
    default, grasp = p_values(2_000, 1, share_rated)
    rejected = dict(zip(METRICS, (default <= 0.05).mean(axis=0), strict=True))
    assert all(0.036 <= share <= 0.064 for share in rejected.values()), rejected
    twice = dict(zip(METRICS, (grasp < 0.05).mean(axis=0), strict=True))
    assert all(0.073 <= share <= 0.127 for share in twice.values()), twice
    for metric in ("irr", "xrr", "negentropy", "cross_negentropy"):
        shares, _ = np.histogram(default[:, METRICS.index(metric)], bins=np.linspace(0.0001, 1.0001, 11))
        assert np.abs(shares / len(default) - 0.1).max() < 0.02, metric


def test_two_way_intervals_hold_the_mean_of_pools_of_their_size() -> None:
    """120 to 300 pools of 50 beside 104 others × 200 items, 199 replicates: nominal .95.

    One pool at least is not covered, so that intervals are not too wide. Five sets of resamples serve all pools in
    turn. The truth is the mean of 500 pools, whose error is a fortieth of an interval's half width. Intervals of groups
    as large as the rest are in test_group_sizes.py.
    """
    size = 50
    rng = np.random.default_rng([size, 1])
    truth_rng = np.random.default_rng([size, 0])
    truth = np.nanmean([_observed(*pool(truth_rng, size, 104, 200)) for _ in range(500)], axis=0)
    seeds = np.random.SeedSequence(size)
    resamples = [draw_resamples(seeds.spawn(199), pool(rng, size, 104, 200)[1], 200) for _ in range(5)]
    misses, before = np.zeros(len(METRICS), int), 0
    for look, most in RARE_MISSES.items():
        for number in range(before, look):
            design, group = pool(rng, size, 104, 200)
            raters, items = resamples[number % len(resamples)]
            drawn = resample_published(design, group, INSIDE, OUTSIDE, rater_weight=raters, item_weight=items)
            replicates = (drawn[name][:, 0] for name in ("both", "raters", "items"))
            low, high = two_way_interval(_observed(design, group), *replicates, confidence=0.95)
            misses += (truth < low) | (high < truth)
        before = look
        if (misses <= most).all():
            break
    assert ((misses > 0) & (misses <= most)).all(), dict(zip(METRICS, misses, strict=True))


def _observed(design: Design, group: NDArray[np.int32]) -> Floats:
    values: Floats = statistics(design, group[None], INSIDE, OUTSIDE)[0, 0]
    return values


def test_intervals_of_ordinal_alpha_cover_other_raters_too() -> None:
    """100 or 200 simulations of 20 raters who differ, 8 of them for each of 120 items, nominal .95.

    Intervals over items alone cover .80: they would pass with a probability of .004. The bounds are .93 less one
    standard error of 100, and three of 200.
    """

    def draw(rng: np.random.Generator) -> Design:
        latent = rng.normal(size=120) + 0.8 * rng.normal(size=(20, 1)) + 0.7 * rng.normal(size=(20, 120))
        answers = np.digitize(latent, [-1.2, -0.4, 0.4, 1.2])
        items = np.repeat(np.arange(120), 8)
        raters = np.concatenate([rng.choice(20, 8, replace=False) for _ in range(120)])
        design = Design(items, raters, answers[raters, items], 120, 20, 5)
        return replace(design, scale=build_ordered_scale("ordinal", None, design.counts().sum(axis=0)))

    everybody, rng, seeds = np.zeros(20, np.int32), np.random.default_rng(4), np.random.SeedSequence(4)
    designs = [draw(rng) for _ in range(200)]
    truth = np.mean([krippendorff_alpha(design.counts(), level="ordinal").estimate for design in designs])
    covered, covered_over_items = list[bool](), list[bool]()
    for n, least in ((100, 0.905), (200, 0.93 - 0.054)):
        for design in designs[len(covered) : n]:
            (low,), (high,) = alpha_intervals(design, everybody, seeds.spawn(199))
            over_items = agreement_interval(design.counts(), level="ordinal", replicates=199)
            covered.append(bool(low <= truth <= high))
            covered_over_items.append(bool((over_items.low or 0) <= truth <= (over_items.high or 0)))
        if np.mean(covered) >= least:
            break
    assert np.mean(covered) >= least
    assert np.mean(covered_over_items) < np.mean(covered)


def test_intervals_of_chatbots_cover_with_eight_raters() -> None:
    """100 or 200 simulations of 8 raters who differ, 30 comparisons each of four chatbots, 99 replicates: nominal .95.

    The four chatbots of a simulation depend on each other, so that the standard error is .022 or .015 at most. Without
    the factor for small samples .86 of the intervals cover, 3 standard errors below the bounds.
    """

    def draw(rng: np.random.Generator, n_raters: int) -> Comparisons:
        strength = np.array([0.5, 0.2, -0.2, -0.5]) + rng.normal(0, 0.5, (n_raters, 4))
        rater = np.repeat(np.arange(n_raters), 30)
        a = rng.integers(4, size=rater.size)
        b = (a + rng.integers(1, 4, size=rater.size)) % 4
        won = rng.random(rater.size) < 1 / (1 + np.exp(strength[rater, b] - strength[rater, a]))
        weight = np.ones(rater.size)
        return Comparisons(bots=tuple("abcd"), a=a, b=b, outcome=won.astype(float), weight=weight, rater=rater)

    truth = {row.bot: row.bradley_terry for row in rank(draw(np.random.default_rng(0), 20_000), bootstrap=0).rows}
    rng = np.random.default_rng(8)
    covered = list[bool]()
    for seeds, least, most in ((range(100), 0.925, 0.975), (range(100, 200), 0.90, 0.98)):
        rows = [row for seed in seeds for row in rank(draw(rng, 8), bootstrap=99, seed=seed).rows]
        covered += [(row.ci_low or 0) <= (truth[row.bot] or 0) <= (row.ci_high or 0) for row in rows]
        if least <= np.mean(covered) <= most:
            break
    assert least <= np.mean(covered) <= most
