"""Permutation tests in assignments that depend on the group: false rejections, and the measure that withholds them."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.assignments import draw_null

from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.groups.assignment import (
    MAX_SHIFT,
    AssignmentEffect,
    assignment_effect,
    exchanged_statistics,
    is_complete,
    null_shift,
)
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.permutation import draw_permutations, permutation_p, upper_p

Floats = NDArray[np.float64]
INSIDE, OUTSIDE = np.array([0, 1]), np.array([-1, -1])
NEGENTROPY, PLURALITY = METRICS.index("negentropy"), METRICS.index("plurality_size")
SIMULATIONS, PERMUTATIONS = 40, 99


@cache
def published(name: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Return p-values of the published statistics, and whether the assignment withholds them, (simulations, 2, 7)."""
    rng, seeds = np.random.default_rng(7), np.random.SeedSequence(7)
    p, withheld = [], []
    for _ in range(SIMULATIONS):
        design, group = draw_null(rng, name)
        permuted = group[draw_permutations(seeds.spawn(PERMUTATIONS), group.size)]
        null = statistics(design, permuted, INSIDE, OUTSIDE)
        p.append(permutation_p(statistics(design, group[None], INSIDE, OUTSIDE)[0], null))
        effect = assignment_effect(design, group, permuted, INSIDE, OUTSIDE)
        shuffled = exchanged_statistics(design, group, INSIDE, OUTSIDE, seed=seeds.spawn(1)[0], most_exchanges=99)
        withheld.append(is_withheld(effect, shuffled, null))
    return np.array(p), np.array(withheld)


def is_withheld(effect: AssignmentEffect, shuffled: Floats, null: Floats) -> NDArray[np.bool_]:
    shifted = ~(np.abs(null_shift(shuffled, null)) <= MAX_SHIFT)
    return np.asarray((shifted & effect.systematic[:, None]) | effect.unequal[:, None])


@pytest.mark.parametrize(
    ("name", "metric", "naive"),
    [
        ("quota, 4 of each group", NEGENTROPY, 0.12),
        ("quota, 4 of each group", PLURALITY, 0.05),
        ("loads 55 and 15 %", NEGENTROPY, 0.7),
        ("a third of items shared", NEGENTROPY, 0.8),
        ("nested", PLURALITY, 0.7),
    ],
)
def test_a_test_that_the_assignment_rejects_is_withheld(name: str, metric: int, naive: float) -> None:
    p, withheld = published(name)
    assert (p[..., metric] <= 0.05).mean() > naive
    assert withheld[..., metric].all()


def test_random_assignments_keep_most_tests() -> None:
    p, withheld = published("random sparse")
    assert withheld.mean() < 0.2
    assert (p <= 0.05).mean() < 0.1


@pytest.mark.parametrize("name", ["quota, 4 of each group", "quota, 2 of each group", "loads 55 and 15 %"])
def test_unbiased_statistics_are_tested_where_published_ones_are_not(name: str) -> None:
    """40 simulations × 2 groups, fixed seed: a size of .05 gives more than .15 with a probability below 1e-3."""
    rng, seeds = np.random.default_rng(3), np.random.SeedSequence(3)
    p = []
    for _ in range(SIMULATIONS):
        design, group = draw_null(rng, name)
        permuted = group[draw_permutations(seeds.spawn(PERMUTATIONS), group.size)]
        observed = group_statistics(design, group[None], INSIDE, OUTSIDE, answer=2)
        null = group_statistics(design, permuted, INSIDE, OUTSIDE, answer=2)
        p.append(
            [
                permutation_p(observed.difference_t[0], null.difference_t),
                permutation_p(observed.agreement_t[0], null.agreement_t),
                upper_p(observed.distance_t[0], null.distance_t),
                np.full(2, upper_p(observed.between_t[0], null.between_t)),
            ]
        )
    assert ((np.array(p) <= 0.05).mean(axis=(0, 2)) <= 0.15).all()


def test_exchange_within_items_keeps_the_ratings_of_each_group_and_item() -> None:
    """With one answer for everybody inside items, statistics of exchanged ratings are the observed ones."""
    rng = np.random.default_rng(0)
    design, group = draw_null(rng, "quota, 2 of each group")
    same = Design(design.items, design.raters, (design.items % 3).astype(np.int16), design.n_items, design.n_raters, 3)
    permuted = group[draw_permutations(np.random.SeedSequence(0).spawn(5), group.size)]
    effect = assignment_effect(same, group, permuted, INSIDE, OUTSIDE)
    shuffled = exchanged_statistics(same, group, INSIDE, OUTSIDE, seed=np.random.SeedSequence(1), most_exchanges=5)
    observed = statistics(same, group[None], INSIDE, OUTSIDE)
    np.testing.assert_allclose(shuffled, np.repeat(observed, 5, axis=0))
    assert effect.ratings.tolist() == [[2.0, 4.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    ("observed", "permuted", "is_unequal", "is_systematic"),
    [
        (21, (20, 20), False, True),  # 5 % more than in permutations
        (22, (20, 20), True, True),
        (35, (10, 30), False, False),  # squares 1.81 standard deviations above the mean
        (36, (10, 30), False, True),  # 1.99 standard deviations
    ],
)
def test_an_assignment_is_unequal_beyond_5_percent_and_systematic_beyond_1_96_standard_deviations(
    observed: int, permuted: tuple[int, int], is_unequal: bool, is_systematic: bool
) -> None:
    """One item; the first group has some of its 60 raters, and the second always five."""
    design = Design(np.zeros(60, int), np.arange(60), np.zeros(60, np.int16), 1, 60, 2)

    def code_groups(size: int) -> NDArray[np.int64]:
        return np.repeat([1, 0, -1], [5, size, 55 - size])

    groups = np.stack([code_groups(size) for size in permuted])
    effect = assignment_effect(design, code_groups(observed), groups, np.array([0]), np.array([1]))
    assert (effect.unequal.tolist(), effect.systematic.tolist()) == ([is_unequal], [is_systematic])
    assert effect.permuted_ratings.tolist() == [[20, 5]]


def test_exchanges_depend_on_the_seed_alone() -> None:
    design, group = draw_null(np.random.default_rng(0), "random sparse")

    def run(seed: int) -> Floats:
        return exchanged_statistics(design, group, INSIDE, OUTSIDE, seed=np.random.SeedSequence(seed), most_exchanges=5)

    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(2)).any()


def test_a_shift_is_counted_in_standard_deviations() -> None:
    null = np.array([[1.0, np.nan, 1.0], [3.0, np.nan, 1.0]])
    shift = null_shift(np.array([[4.0, 1.0, 2.0]]), null)
    assert shift[0] == 2.0
    assert np.isnan(shift[1])
    assert np.isinf(shift[2])


def test_a_design_is_complete_if_every_rater_with_a_group_rated_every_item() -> None:
    design = Design(np.array([0, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2]), np.zeros(5, np.int16), 2, 3, 2)
    assert is_complete(design, np.array([0, 1, -1]))
    assert not is_complete(design, np.array([0, 1, 1]))
