"""Consistency of raters, against Krippendorff's alpha, counting by hand, and simulated answers."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.counts import count_answers
from dissensus.stats.raters.consistency import (
    RepeatedAnswers,
    estimate_consistency,
    match_repeats,
    rater_consistency,
)


def simulate(rng: np.random.Generator, *, noise: float, n_raters: int = 30, n_items: int = 12) -> RepeatedAnswers:
    """Raters with thresholds of their own, who see each item twice with noise of a standard deviation."""
    stable = (
        rng.normal(size=n_items) + 0.7 * rng.normal(size=(n_raters, 1)) + 0.7 * rng.normal(size=(n_raters, n_items))
    )
    first, second = (np.digitize(stable + noise * rng.normal(size=stable.shape), [0, 0.8]) for _ in range(2))
    raters, items = np.indices(stable.shape)
    return RepeatedAnswers(
        items=items.ravel(), raters=raters.ravel(), first=first.ravel(), second=second.ravel(), n_single=0
    )


def test_that_of_one_rater_is_alpha_of_both_showings() -> None:
    repeated = simulate(np.random.default_rng(1), noise=0.6, n_raters=3, n_items=40)
    for rater in range(3):
        own = repeated.select(repeated.raters == rater)
        both = count_answers(np.tile(own.items, 2), np.concatenate([own.first, own.second]), n_items=40, n_categories=3)
        result = estimate_consistency(own)
        assert result.corrected == pytest.approx(krippendorff_alpha(both).estimate, abs=1e-12)
        assert result.estimate == pytest.approx((own.first == own.second).mean())
        assert (result.n_repeats, result.n_raters, result.n_items) == (40, 1, 40)


def test_that_of_a_group_weighs_raters_by_their_repeats() -> None:
    repeated = simulate(np.random.default_rng(2), noise=0.6, n_raters=4)
    repeated = repeated.select(np.random.default_rng(3).random(len(repeated.first)) < 0.7)
    unequal = expected = 0.0
    for rater in range(4):
        own = repeated.select(repeated.raters == rater)
        result = estimate_consistency(own)
        assert result.corrected is not None
        unequal += result.n_repeats * (1 - result.estimate)
        expected += result.n_repeats * (1 - result.estimate) / (1 - result.corrected)
    assert estimate_consistency(repeated).corrected == pytest.approx(1 - unequal / expected)


def test_noise_alone_is_no_consistency_and_no_noise_is_all_of_it() -> None:
    noisy = estimate_consistency(simulate(np.random.default_rng(4), noise=50, n_raters=200))
    assert noisy.corrected == pytest.approx(0, abs=0.04)
    steady = estimate_consistency(simulate(np.random.default_rng(4), noise=0))
    assert (steady.estimate, steady.corrected) == (1, 1)


def test_raters_with_one_answer_are_consistent_by_chance() -> None:
    """Differences between raters do not count as consistency: each says the same to every item, but for one answer."""
    first = np.repeat([0, 1, 2], 10)
    second = first.copy()
    second[::10] = (second[::10] + 1) % 3
    codes = np.arange(30)
    repeated = RepeatedAnswers(items=codes % 10, raters=codes // 10, first=first, second=second, n_single=0)
    result = estimate_consistency(repeated)
    assert result.estimate == pytest.approx(0.9)
    assert result.corrected == pytest.approx(0, abs=0.1)
    constant = estimate_consistency(repeated.select((repeated.raters == 0) & (first == second)))
    assert (constant.estimate, constant.corrected) == (1, None)


def test_intervals_cover_the_share_of_other_raters_and_items() -> None:
    rng = np.random.default_rng(5)
    truth = np.mean([estimate_consistency(simulate(rng, noise=0.6)).estimate for _ in range(300)])
    results = [estimate_consistency(simulate(rng, noise=0.6)) for _ in range(300)]
    coverage = np.mean([result.ci_low <= truth <= result.ci_high for result in results])
    assert 0.92 <= coverage <= 0.99


def test_ratings_are_matched_in_any_order() -> None:
    rng = np.random.default_rng(6)
    repeated = simulate(rng, noise=0.6, n_raters=4)
    n = len(repeated.first)
    columns = [
        np.tile(repeated.items, 2),
        np.tile(repeated.raters, 2),
        np.concatenate([repeated.first, repeated.second]),
        np.repeat([1, 2], n),
    ]
    order = rng.permutation(2 * n)
    matched = match_repeats(*(column[order] for column in columns))
    assert [*zip(matched.raters, matched.items, matched.first, matched.second, strict=True)] == sorted(
        zip(repeated.raters, repeated.items, repeated.first, repeated.second, strict=True)
    )
    columns[2] = np.where(np.arange(2 * n) == n, -1, columns[2])  # The second answer of the first rater is missing
    without = match_repeats(*columns)
    assert (len(without.first), without.n_single) == (n - 1, 1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([0, 0], [0, 0], [1, 1], [1, 3]), "A showing is 3"),
        (([0, 0], [0, 0], [1, 1], [2, 2]), "one showing of an item more than once"),
        (([0], [0, 0], [1, 1], [1, 2]), "of one length"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns: tuple[list[int], ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        match_repeats(*columns)


def test_without_repeats_it_is_undefined() -> None:
    repeated = match_repeats([0, 1], [0, 0], [1, 1], [1, 1])
    assert repeated.n_single == 2
    with pytest.raises(UndefinedEstimate, match="no item was answered twice"):
        estimate_consistency(repeated)


def test_equal_answers_are_counted_as_by_a_slow_oracle() -> None:
    rng = np.random.default_rng(4)
    raters, first, second = rng.integers(9, size=400), rng.integers(-1, 3, size=400), rng.integers(-1, 3, size=400)
    result = rater_consistency(raters, first, second, n_raters=10)
    for rater in range(10):
        answered = [
            (a, b) for one, a, b in zip(raters, first, second, strict=True) if one == rater and a >= 0 and b >= 0
        ]
        assert (result.n_repeats[rater], result.n_equal[rater]) == (len(answered), sum(a == b for a, b in answered))
    assert np.isnan(result.share[9])


@pytest.mark.parametrize(("raters", "second"), [([0, 1], [0]), ([0, 2], [0, 0]), ([-1, 0], [0, 0])])
def test_impossible_codes_are_refused(raters: list[int], second: list[int]) -> None:
    with pytest.raises(InvalidInput, match="raters"):
        rater_consistency(raters, [0, 0], second, n_raters=2)
