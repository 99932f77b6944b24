"""Variance of crossed raters and items: against loops, and against simulated effects."""

import numpy as np
import pytest

from dissensus.stats.multilevel.variance import split_fixed, split_random

RNG = np.random.default_rng(4)
RATERS, ITEMS = RNG.dirichlet(np.ones(5)), RNG.dirichlet(np.ones(7))
VALUES = RNG.normal(size=(5, 7, 3))


def test_fixed_parts_are_a_weighted_analysis_of_variance() -> None:
    beta = RNG.normal(size=3)
    table = VALUES @ beta
    mean = sum(RATERS[r] * ITEMS[q] * table[r, q] for r in range(5) for q in range(7))
    item = [sum(RATERS[r] * table[r, q] for r in range(5)) - mean for q in range(7)]
    rater = [sum(ITEMS[q] * table[r, q] for q in range(7)) - mean for r in range(5)]
    rest = [RATERS[r] * ITEMS[q] * (table[r, q] - mean - item[q] - rater[r]) ** 2 for r in range(5) for q in range(7)]
    parts = split_fixed(VALUES, RATERS, ITEMS).expect(np.outer(beta, beta)[None])
    assert parts.item[0] == pytest.approx(sum(ITEMS * np.square(item)))
    assert parts.rater[0] == pytest.approx(sum(RATERS * np.square(rater)))
    assert parts.interaction[0] == pytest.approx(sum(rest))


def test_random_parts_are_variances_of_simulated_effects() -> None:
    factor = np.tril(RNG.normal(size=(3, 3)))
    effects = RNG.normal(size=(100_000, 7, 3)) @ factor.T  # Effects of each item
    location = np.einsum("rqd,sqd->srq", VALUES, effects)
    by_item = np.einsum("srq,r->sq", location, RATERS)
    parts = split_random(VALUES, RATERS, ITEMS, rater_share=0.0, item_share=1.0).expect((factor @ factor.T)[None])
    assert parts.item[0] == pytest.approx((by_item**2 @ ITEMS).mean(), rel=0.02)
    rest = np.einsum("srq,r,q->s", (location - by_item[:, None]) ** 2, RATERS, ITEMS)
    assert parts.interaction[0] == pytest.approx(rest.mean(), rel=0.02)
    assert parts.rater[0] == 0


@pytest.mark.parametrize(("rater_groups", "item_groups"), [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_parts_of_effects_of_groups_are_those_of_fixed_effects_of_each_pair_of_groups(
    rater_groups: int, item_groups: int
) -> None:
    """All raters, and items, are equally often of each group, so that two are of one group with probability 1 / G."""
    factor = np.random.default_rng(7).normal(size=(3, 3))
    covariance, n_pairs = factor @ factor.T, rater_groups * item_groups
    groups = np.arange(n_pairs).reshape(rater_groups, item_groups)
    pair = np.tile(groups, (len(RATERS), len(ITEMS)))
    crossed = np.repeat(np.repeat(VALUES, rater_groups, axis=0), item_groups, axis=1)
    columns = np.einsum("rqp,rqd->rqpd", np.eye(n_pairs)[pair], crossed).reshape(*pair.shape, -1)
    raters, items = np.repeat(RATERS / rater_groups, rater_groups), np.repeat(ITEMS / item_groups, item_groups)
    expected = split_fixed(columns, raters, items).expect(
        np.asarray(np.kron(np.eye(n_pairs), covariance), np.float64)[None]
    )
    shares = {"rater_share": 1 - 1 / rater_groups, "item_share": 1 - 1 / item_groups}
    parts = split_random(VALUES, RATERS, ITEMS, **shares).expect(covariance[None])
    assert parts.item == pytest.approx(expected.item)
    assert parts.rater == pytest.approx(expected.rater)
    assert parts.interaction == pytest.approx(expected.interaction)


def test_intercepts_belong_to_their_own_facet() -> None:
    ones = np.ones((5, 7, 1))
    for shares, expected in (
        ((0.0, 1.0), (1, 0, 0)),
        ((1.0, 0.0), (0, 1, 0)),
        ((1.0, 1.0), (0, 0, 1)),
        ((0.75, 1.0), (0.25, 0, 0.75)),
    ):
        parts = split_random(ones, RATERS, ITEMS, rater_share=shares[0], item_share=shares[1])
        assert (parts.item.item(), parts.rater.item(), parts.interaction.item()) == pytest.approx(expected)
