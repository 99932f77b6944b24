"""False rejections of the tests of groups in an assignment of items, by simulation."""

import numpy as np
import numpy.typing as npt
from tests.support.assignments import draw_null

from dissensus.stats.design import statistics
from dissensus.stats.groups.assignment import MAX_SHIFT, assignment_effect, is_complete, null_shift
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.permutation import shuffles
from dissensus.stats.significance import permutation_p, upper_p

Floats = npt.NDArray[np.float64]
INSIDE, OUTSIDE = np.array([0, 1]), np.array([-1, -1])


def sizes(name: str, simulations: int, permutations: int, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """Return the rejections at 5 % of unbiased tests, of naive published tests, and of those not withheld."""
    rng, seeds = np.random.default_rng([seed, 1]), np.random.SeedSequence(seed)
    unbiased, naive, starred = [], [], []
    for _ in range(simulations):
        design, group = draw_null(rng, name)
        permuted = group[shuffles(seeds.spawn(permutations), group.size)]
        observed = group_statistics(design, group[None], INSIDE, OUTSIDE, answer=2)
        null = group_statistics(design, permuted, INSIDE, OUTSIDE, answer=2)
        complete = is_complete(design, group)
        distance = (observed.of("group_distance"), null.of("group_distance"))
        distances = distance if complete else (observed.distance_t, null.distance_t)
        between = (observed.between_share, null.between_share) if complete else (observed.between_t, null.between_t)
        unbiased.append(
            [
                permutation_p(observed.difference_t[0], null.difference_t),
                permutation_p(observed.agreement_t[0], null.agreement_t),
                np.where(np.isnan(distances[0][0]), np.nan, upper_p(distances[0][0], distances[1])),
                np.full(2, np.nan if np.isnan(between[0][0]) else upper_p(between[0][0], between[1])),
            ]
        )
        published = statistics(design, permuted, INSIDE, OUTSIDE)
        rejected = permutation_p(statistics(design, group[None], INSIDE, OUTSIDE)[0], published) <= 0.05
        withheld = np.zeros_like(rejected)
        if not complete:
            effect = assignment_effect(design, group, permuted, INSIDE, OUTSIDE, seed=seeds.spawn(1)[0])
            shifted = ~(np.abs(null_shift(effect.shuffled, published)) <= MAX_SHIFT)
            withheld = (shifted & effect.systematic[:, None]) | effect.unequal[:, None]
        naive.append(rejected)
        starred.append(rejected & ~withheld)
    p = np.array(unbiased)
    rejections = np.where(np.isnan(p).all(axis=0), np.nan, (p <= 0.05).mean(axis=0)).mean(axis=1)
    return rejections, np.mean(naive, axis=(0, 1)), np.mean(starred, axis=(0, 1))
