"""Losses of scores: against loops over raters, in identities, and in the number of ratings."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from tests.oracles import scores as oracle

from dissensus.errors import UndefinedEstimate
from dissensus.stats.result import FloatArray
from dissensus.stats.score.calibration import estimate_calibration, number_bins
from dissensus.stats.score.discrimination import auc, rest_auc
from dissensus.stats.score.losses import (
    bias,
    brier,
    cross_entropy,
    disagreement,
    error,
    false_alarm_rate,
    miss_rate,
    rest_brier,
    squared_distance,
    unsafe_share,
)
from dissensus.stats.score.pseudo_values import (
    GroupRatings,
    PseudoValues,
    average_ratings,
    estimate_interval,
)

N_ITEMS, N_RATERS = 9, 7


@pytest.fixture(scope="module")
def scores() -> FloatArray:
    """Scores of items, two of them equal."""
    score = np.random.default_rng(3).uniform(0.05, 0.95, N_ITEMS)
    score[4] = score[5]
    return score


@pytest.fixture(scope="module")
def ratings() -> GroupRatings:
    """Ratings of a sparse table, one item of which has a single rating."""
    rng = np.random.default_rng(5)
    raters, items = np.nonzero((rng.random((N_RATERS, N_ITEMS)) < 0.6) & (np.arange(N_ITEMS) > 0))
    raters, items = np.append(raters, 2), np.append(items, 0)
    return GroupRatings(items=items, raters=raters, unsafe=(rng.random(items.size) < 0.4).astype(float))


def test_influences_of_a_distance_are_those_of_the_jackknife(scores: FloatArray) -> None:
    """In a complete table, the change of the mean of pairs without a rater."""
    raters, items = (part.ravel() for part in np.indices((N_RATERS, N_ITEMS)))
    unsafe = (np.random.default_rng(6).random(items.size) < 0.4).astype(float)
    ratings = GroupRatings(items=items, raters=raters, unsafe=unsafe)
    distance = squared_distance(ratings, scores[items])
    weight = distance.weights / distance.weights.sum()
    influence = np.bincount(raters, weights=weight * distance.residuals)
    without = [
        squared_distance(ratings.select(raters != r), scores[items[raters != r]]).estimate for r in range(N_RATERS)
    ]
    assert influence == pytest.approx((distance.estimate - np.array(without)) * (N_RATERS - 1) / N_RATERS)


def list_ratings(ratings: GroupRatings) -> list[oracle.Rating]:
    return list(zip(ratings.items.tolist(), ratings.raters.tolist(), ratings.unsafe.tolist(), strict=True))


def test_statistics_are_those_of_loops_over_raters(ratings: GroupRatings, scores: FloatArray) -> None:
    of_rating, listed, score = scores[ratings.items], list_ratings(ratings), scores.tolist()
    assert brier(ratings, of_rating).estimate == pytest.approx(oracle.brier(listed, score))
    assert squared_distance(ratings, of_rating).estimate == pytest.approx(oracle.squared_distance(listed, score))
    assert disagreement(ratings).estimate == pytest.approx(oracle.disagreement(listed))
    assert rest_brier(ratings).estimate == pytest.approx(oracle.rest_brier(listed))
    assert auc(ratings, of_rating).estimate == pytest.approx(oracle.auc(listed, score))
    assert rest_auc(ratings) == pytest.approx(oracle.rest_auc(listed))


def test_brier_is_squared_distance_and_disagreement_item_by_item(ratings: GroupRatings, scores: FloatArray) -> None:
    paired = ratings.select(ratings.count()[0] > 1)
    of_rating = scores[paired.items]
    parts = squared_distance(paired, of_rating).estimate + disagreement(paired).estimate
    assert brier(paired, of_rating).estimate == pytest.approx(parts)


@pytest.mark.parametrize("n_drawn", [2, 3, 5])
def test_distance_and_disagreement_do_not_depend_on_the_number_of_ratings(n_drawn: int) -> None:
    rng = np.random.default_rng(8)
    answers = (rng.random((6, 4)) < 0.4).astype(float)
    score = rng.random(4)

    def measure(drawn_raters: tuple[int, ...]) -> tuple[float, float]:
        items, raters = np.tile(np.arange(4), len(drawn_raters)), np.repeat(drawn_raters, 4)
        drawn = GroupRatings(items=items, raters=raters, unsafe=answers[raters, items])
        return squared_distance(drawn, score[items]).estimate, disagreement(drawn).estimate

    means = np.mean([measure(drawn_raters) for drawn_raters in combinations(range(6), n_drawn)], axis=0)
    np.testing.assert_allclose(means, measure(tuple(range(6))))


def test_variance_of_the_area_over_items_is_nearly_that_of_the_jackknife() -> None:
    rng = np.random.default_rng(2)
    items, raters = np.repeat(np.arange(30), 4), np.arange(120)
    score = rng.random(30)
    ratings = GroupRatings(items=items, raters=raters, unsafe=(rng.random(120) < score[items]).astype(float))
    interval = estimate_interval(auc(ratings, score[items]), confidence=0.95)
    assert interval.ci_low is not None
    half = interval.estimate - interval.ci_low
    jackknife = oracle.jackknife_auc(list_ratings(ratings), score.tolist())
    assert half / 2.0452 == pytest.approx(jackknife**0.5, rel=0.05)  # Quantile of Student's t with 29


def test_influence_of_an_item_on_the_area_is_its_derivative() -> None:
    rng = np.random.default_rng(6)
    items, score = np.repeat(np.arange(8), 3), np.array([0.1, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    unsafe = (rng.random(24) < score[items]).astype(float)
    statistic = auc(GroupRatings(items=items, raters=np.arange(24), unsafe=unsafe), score[items])

    def measure_area(weights: FloatArray) -> float:
        share = np.bincount(items, weights=unsafe) / 3
        pairs = np.outer(weights * share, weights * (1 - share)) * (1 - np.eye(8))
        above = (score[:, None] > score) + (score[:, None] == score) / 2
        return float((pairs * above).sum() / pairs.sum())

    steps = 1e-6 * np.eye(8)
    derivative = [(measure_area(1 + step) - measure_area(1 - step)) / 2e-6 for step in steps]
    assert statistic.estimate == pytest.approx(measure_area(np.ones(8)))
    np.testing.assert_allclose(np.bincount(items, weights=statistic.residuals) / 3 / 8, derivative, atol=1e-8)


def test_a_perfect_and_a_constant_score() -> None:
    ratings = GroupRatings(items=np.arange(6), raters=np.arange(6) % 2, unsafe=np.array([1.0, 0, 1, 0, 0, 1]))
    assert auc(ratings, ratings.unsafe).estimate == 1
    assert auc(ratings, np.full(6, 0.3)).estimate == 0.5
    assert brier(ratings, ratings.unsafe).estimate == 0
    assert cross_entropy(ratings, np.clip(ratings.unsafe, 1e-9, 1 - 1e-9)).estimate == pytest.approx(0, abs=1e-8)
    assert error(ratings, ratings.unsafe > 0).estimate == 0
    assert bias(ratings, np.full(6, 0.75)).estimate == 0.25


def test_rates_of_errors_make_up_the_error(ratings: GroupRatings, scores: FloatArray) -> None:
    labels = scores[ratings.items] > 0.5
    share = unsafe_share(ratings).estimate
    parts = share * miss_rate(ratings, labels).estimate + (1 - share) * false_alarm_rate(ratings, labels).estimate
    assert error(ratings, labels).estimate == pytest.approx(parts)


@pytest.mark.parametrize("compute", [brier, squared_distance, auc, cross_entropy])
def test_the_order_of_ratings_and_the_names_of_items_and_raters_do_not_count(
    ratings: GroupRatings, scores: FloatArray, compute: Callable[[GroupRatings, FloatArray], PseudoValues]
) -> None:
    order = np.random.default_rng(1).permutation(len(ratings.items))
    shuffled = ratings.select(order)
    renamed = GroupRatings(items=100 - 3 * shuffled.items, raters=7 * shuffled.raters, unsafe=shuffled.unsafe)
    before = estimate_interval(compute(ratings, scores[ratings.items]), confidence=0.95)
    after = estimate_interval(compute(renamed, scores[shuffled.items]), confidence=0.95)
    assert (after.estimate, after.ci_low, after.ci_high) == pytest.approx(
        (before.estimate, before.ci_low, before.ci_high)
    )


def test_calibration_of_a_calibrated_and_of_a_biased_score() -> None:
    rng = np.random.default_rng(4)
    score = rng.random(2000)
    items = np.repeat(np.arange(2000), 3)
    unsafe = (rng.random(items.size) < score[items]).astype(float)
    ratings = GroupRatings(items=items, raters=np.arange(items.size) % 30, unsafe=unsafe)
    calibrated = estimate_calibration(ratings, score[items], confidence=0.95)
    assert calibrated.error == pytest.approx(calibrated.by_chance, rel=0.6)
    assert sum(part.n_items for part in calibrated.bins) == 2000
    halved = estimate_calibration(ratings, score[items] / 2, confidence=0.95)
    assert halved.error == pytest.approx(0.25, abs=0.02)
    assert halved.error > 5 * halved.by_chance
    rare = GroupRatings(items=np.arange(12), raters=np.arange(12) % 6, unsafe=(np.arange(12) == 0).astype(float))
    (part,) = estimate_calibration(rare, np.full(12, 0.05), confidence=0.95).bins
    assert part.share.ci_low is not None
    assert 0 <= part.share.ci_low < part.share.estimate == pytest.approx(1 / 12)


def test_a_bin_of_scores_has_its_lower_end_and_the_last_one_both_ends() -> None:
    assert number_bins(np.array([0.0, 0.099, 0.1, 0.5, 0.999, 1.0])).tolist() == [0, 0, 1, 5, 9, 9]


def test_undefined_statistics_say_why() -> None:
    single = GroupRatings(items=np.arange(3), raters=np.arange(3), unsafe=np.zeros(3))
    for compute, reason in (
        (lambda: disagreement(single), "two ratings"),
        (lambda: squared_distance(single, np.zeros(3)), "two ratings"),
        (lambda: auc(single, np.arange(3.0)), "different answers"),
        (lambda: cross_entropy(single, np.array([0.0, 0, 1])), "on 1 item"),
        (lambda: miss_rate(single, np.ones(3, bool)), "unsafe answer"),
        (
            lambda: estimate_interval(average_ratings(single.select(np.zeros(3, bool)), np.empty(0)), confidence=0.95),
            "no ratings",
        ),
    ):
        with pytest.raises(UndefinedEstimate, match=reason):
            compute()
