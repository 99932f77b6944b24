"""Differences of groups and of scores, and gaps: against known designs, simulation and published ranges."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student_t

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.cluster_robust import clustered_mean, t_quantile
from dissensus.stats.score.discrimination import auc
from dissensus.stats.score.gap import estimate_gap, expected_range
from dissensus.stats.score.losses import brier, unsafe_share
from dissensus.stats.score.pseudo_values import GroupRatings, compare_groups, compare_scores


def draw_group(rng: np.random.Generator, raters: range, share: float, n_items: int = 60) -> GroupRatings:
    items, codes = np.tile(np.arange(n_items), len(raters)), np.repeat(np.array(raters), n_items)
    return GroupRatings(items=items, raters=codes, unsafe=(rng.random(items.size) < share).astype(float))


@pytest.mark.parametrize(("n", "published"), [(2, 1.128), (3, 1.693), (5, 2.326), (10, 3.078)])
def test_expected_range_is_that_of_tables(n: int, published: float) -> None:
    assert expected_range(np.full(n, 2.0)) == pytest.approx(2 * published, abs=1e-3)


def test_expected_range_of_unequal_groups_is_that_of_simulation() -> None:
    errors = np.array([0.2, 1.0, 0.0])
    drawn = np.random.default_rng(1).normal(0, errors, (200_000, 3))
    assert expected_range(errors) == pytest.approx(np.ptp(drawn, axis=1).mean(), abs=0.005)


def test_difference_is_that_of_welch_where_raters_alone_vary() -> None:
    """Raters who give one answer to all items: the difference is that of two samples of raters."""
    first, second = np.array([1.0, 1, 0, 0, 1]), np.array([0.0, 1, 0, 0, 0, 0, 0])
    sides = []
    for start, answers in ((0, first), (10, second)):
        items, raters = np.tile(np.arange(80), len(answers)), np.repeat(np.arange(len(answers)), 80)
        sides.append(GroupRatings(items=items, raters=raters + start, unsafe=answers[raters]))
    difference = compare_groups(*map(unsafe_share, sides))
    variances = [answers.var(ddof=1) / len(answers) for answers in (first, second)]
    assert difference.estimate == pytest.approx(first.mean() - second.mean())
    assert difference.variance == pytest.approx(sum(variances))
    assert difference.p == pytest.approx(0.1530842716)  # scipy.stats.ttest_ind(..., equal_var=False)


def test_difference_in_a_complete_table_varies_by_rater_means_and_item_differences_less_single_ratings() -> None:
    rng = np.random.default_rng(11)
    chance = np.repeat([[0.3], [0.6]], [7, 9], axis=0) + rng.normal(0, 0.15, (16, 1)) + np.zeros(12)
    chance[:7] += rng.normal(0, 0.3, 12)
    table = (rng.random((16, 12)) < chance).astype(float)
    raters, items = (index.ravel() for index in np.indices(table.shape))
    ratings = GroupRatings(items=items, raters=raters, unsafe=table.ravel())
    x, y = table[:7], table[7:]
    parts = [side.mean(axis=1).var(ddof=1) / len(side) for side in (x, y)]
    of_items = (x.mean(axis=0) - y.mean(axis=0)).var(ddof=1) / 12
    variance = sum(parts) + of_items - sum(side.var() / side.size for side in (x, y))
    assert variance > max(sum(parts), of_items)
    difference = compare_groups(unsafe_share(ratings.select(raters < 7)), unsafe_share(ratings.select(raters >= 7)))
    assert difference.estimate == pytest.approx(x.mean() - y.mean())
    assert difference.variance == pytest.approx(variance)
    pooled = (sum(part) ** 2 / (part[0] ** 2 / 6 + part[1] ** 2 / 8) for part in (parts, (1 / 7, 1 / 9)))
    df, error = min(*pooled, 11), variance**0.5
    assert difference.p == pytest.approx(2 * student_t.sf(abs(difference.estimate) / error, df), rel=1e-5)
    ends = difference.estimate + student_t.ppf([0.025, 0.975], df) * error
    assert (difference.ci_low, difference.ci_high) == pytest.approx(tuple(ends))


def test_a_small_group_of_little_variance_keeps_its_degrees_of_freedom() -> None:
    """Three raters who happen to agree beside 60 who do not: Welch's test would have the 59 degrees of the others."""
    answers = np.arange(63) % 2
    answers[:3] = 0
    items, raters = np.tile(np.arange(80), 63), np.repeat(np.arange(63), 80)
    ratings = GroupRatings(items=items, raters=raters, unsafe=(answers[raters] * (items % 4 > 0)).astype(float))
    small, large = (unsafe_share(ratings.select(part)) for part in (raters < 3, raters >= 3))
    narrow, wide = (compare_groups(small, large, confidence=confidence) for confidence in (0.5, 0.95))
    equal = (1 / 3 + 1 / 60) ** 2 / ((1 / 3) ** 2 / 2 + (1 / 60) ** 2 / 59)
    ratio = t_quantile(0.95, equal) / t_quantile(0.5, equal)
    assert (wide.ci_high - wide.estimate) / (narrow.ci_high - narrow.estimate) == pytest.approx(ratio)


def test_few_influential_items_leave_few_degrees_of_freedom() -> None:
    """One item has all unsafe answers but a few: kurtosis of item totals near the number of items, so one degree."""
    items, raters = np.tile(np.arange(40), 20), np.repeat(np.arange(20), 40)
    unsafe = ((items == 0) & (raters % 3 > 0)) | ((items == 1) & (raters % 10 == 0))
    ratings = GroupRatings(items=items, raters=raters, unsafe=unsafe.astype(float))
    scores = np.linspace(1, 0, 40)[items]
    sides = [auc(ratings.select(part), scores[part]) for part in (raters < 8, raters >= 8)]
    bounded = compare_groups(*sides)
    free = compare_groups(*(replace(side, is_concentrated=False) for side in sides))
    assert (bounded.estimate, bounded.variance) == (free.estimate, free.variance)
    assert bounded.p > free.p
    half = bounded.ci_high - bounded.estimate
    assert half > t_quantile(0.95, 5) * bounded.variance**0.5


def test_difference_on_two_items_has_one_degree_of_freedom() -> None:
    rng = np.random.default_rng(3)
    groups = [unsafe_share(draw_group(rng, raters, 0.4, n_items=2)) for raters in (range(20), range(20, 40))]
    wide, narrow = (compare_groups(*groups, confidence=confidence) for confidence in (0.95, 0.5))
    assert (wide.ci_high - wide.estimate) / (narrow.ci_high - narrow.estimate) == pytest.approx(12.7062, abs=1e-3)


def test_gap_finds_the_group_that_differs_and_its_order_is_without_effect() -> None:
    rng = np.random.default_rng(7)
    groups = [
        unsafe_share(draw_group(rng, range(20 * g, 20 * g + 20), share)) for g, share in enumerate((0.3, 0.3, 0.5))
    ]
    gap, turned = estimate_gap(groups), estimate_gap(groups[::-1])
    assert (gap.highest, turned.highest) == (2, 0)
    assert gap.p < 0.001
    assert 2 in gap.pair
    assert gap.estimate > 3 * gap.by_chance
    assert (turned.p, turned.by_chance) == pytest.approx((gap.p, gap.by_chance))


def test_a_difference_without_variance_has_no_test() -> None:
    rng = np.random.default_rng(1)
    none, every = (draw_group(rng, raters, share) for raters, share in ((range(3), 0.0), (range(3, 6), 1.0)))
    with pytest.raises(UndefinedEstimate, match="do not vary"):
        compare_groups(unsafe_share(none), unsafe_share(every))
    assert np.isnan(estimate_gap([unsafe_share(none), unsafe_share(every)]).p)


def test_difference_of_scores_is_the_clustered_mean_of_differences() -> None:
    ratings, rng = draw_group(np.random.default_rng(2), range(6), 0.4, n_items=20), np.random.default_rng(3)
    first, second = (score[ratings.items] for score in rng.random((2, 20)))
    difference = compare_scores(brier(ratings, first), brier(ratings, second), confidence=0.9)
    of_each = (first - ratings.unsafe) ** 2 - (second - ratings.unsafe) ** 2
    expected = clustered_mean(of_each, [ratings.items, ratings.raters], confidence=0.9)
    assert difference[:3] == pytest.approx((expected.estimate, expected.ci_low, expected.ci_high))
    widest = compare_scores(brier(ratings, first), brier(ratings, second), confidence=1 - difference.p)
    assert min(abs(widest.ci_low), abs(widest.ci_high)) == pytest.approx(0, abs=1e-6)


def test_scores_are_compared_on_the_same_ratings_alone() -> None:
    ratings = draw_group(np.random.default_rng(1), range(6), 0.4, n_items=12)
    score = np.linspace(0, 1, 12)[ratings.items]
    same = compare_scores(brier(ratings, score), brier(ratings, score), confidence=0.95)
    assert (same.estimate, same.ci_low, same.ci_high) == (0, 0, 0)
    for other in (ratings.select(ratings.items < 6), replace(ratings, raters=ratings.raters[::-1])):
        with pytest.raises(InvalidInput, match="different ratings"):
            compare_scores(brier(ratings, score), brier(other, score[: len(other.items)]), confidence=0.95)


def test_too_few_groups_raters_and_items() -> None:
    rng = np.random.default_rng(1)
    several, lone = unsafe_share(draw_group(rng, range(4), 0.5)), unsafe_share(draw_group(rng, range(9, 10), 0.5))
    with pytest.raises(UndefinedEstimate, match="two groups"):
        estimate_gap([several])
    with pytest.raises(UndefinedEstimate, match="fewer than 2 raters"):
        compare_groups(several, lone)
    gap = estimate_gap([several, lone])
    assert np.isnan(gap.p)
    assert np.isnan(gap.by_chance)
    one_item = [unsafe_share(draw_group(rng, range(a, a + 3), 0.5, n_items=1)) for a in (0, 5)]
    with pytest.raises(UndefinedEstimate, match="1 item"):
        compare_groups(*one_item)
