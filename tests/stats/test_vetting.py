"""Evidence on raters from arrays, and the criteria."""

import math
import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm, spearmanr
from tests.designs import Case, case, cases
from tests.oracles import cohesion
from tests.oracles import vetting as oracle
from tests.stats.compare import close
from tests.strategies import Floats, quick

from dissensus.errors import InvalidInput
from dissensus.stats.criteria import SHARES, Criteria, meets_criteria
from dissensus.stats.design import Design
from dissensus.stats.vetting import (
    Labels,
    Times,
    answer_times,
    flat_items,
    label_use,
    outlier_limit,
    outlier_score,
    plurality_agreement,
    rank_correlation,
    share_by_rater,
)

PARTS = {"below_half": Fraction(1, 2), "below_third": Fraction(1, 3), "below_quarter": Fraction(1, 4)}
Timed = dict[int, list[float]]


def assert_each(result: Floats, expected: list[Fraction | None]) -> None:
    """Assert equal numbers for each rater, and NaN where the oracle has None."""
    assert len(result) == len(expected)
    for value, expected_value in zip(result.tolist(), expected, strict=True):
        assert math.isnan(value) if expected_value is None else value == close(expected_value)


@quick
@given(st.lists(st.lists(st.integers(0, 40).map(float), max_size=6), min_size=1, max_size=5))
def test_times_equal_the_oracle(times_of_raters: list[list[float]]) -> None:
    """Integral times, so that some equal the bound of a half exactly; a rater may have none."""
    times: Timed = dict(enumerate(times_of_raters))
    rater_indices = [r for r, own in times.items() for _ in own]
    order = np.random.default_rng(0).permutation(len(rater_indices))
    result = answer_times(
        np.array(rater_indices, dtype=int)[order],
        np.array([t for own in times_of_raters for t in own])[order],
        n_raters=len(times),
    )
    for name, part in PARTS.items():
        assert_each(getattr(result, name), list(oracle.below(times, part).values()))
    middles = [float(np.median(own)) if own else math.nan for own in times_of_raters]
    np.testing.assert_allclose(result.median, middles)
    assert result.n_timed.tolist() == [len(own) for own in times_of_raters]
    if rater_indices:
        assert result.pool_median == np.median([t for own in times_of_raters for t in own])
    else:
        assert math.isnan(result.pool_median)


def test_a_time_that_is_not_known_is_no_time() -> None:
    expected = answer_times([0, 0, 1], [10, 30, 30], n_raters=2)
    with_gaps = answer_times([0, 0, 0, 1, 1], [10, math.nan, 30, 30, math.nan], n_raters=2)
    for name in ("pool_median", "n_timed", "median", *PARTS):
        np.testing.assert_array_equal(getattr(with_gaps, name), getattr(expected, name))


@quick
@given(st.lists(st.lists(st.integers(-1, 3), max_size=8), min_size=1, max_size=5))
def test_labels_equal_the_oracle(answers: list[list[int]]) -> None:
    rater_indices = [r for r, rater_answers in enumerate(answers) for _ in rater_answers]
    all_answers = np.array([k for rater_answers in answers for k in rater_answers], dtype=int)
    result = label_use(np.array(rater_indices, dtype=int), all_answers, n_raters=len(answers), n_categories=4)
    for r, rater_answers in enumerate(answers):
        counts = Counter(k for k in rater_answers if k >= 0)
        assert result.n_ratings[r] == counts.total()
        if not counts:
            assert result.top[r] == -1
            assert math.isnan(result.same_label[r])
            assert math.isnan(result.entropy[r])
            continue
        assert result.top[r] == min(k for k, n in counts.items() if n == max(counts.values()))
        assert result.same_label[r] == close(Fraction(max(counts.values()), counts.total()))
        assert result.entropy[r] == close(cohesion.entropy([counts[k] for k in range(4)]))


@quick
@given(cases())
def test_agreement_equals_the_oracle(sample: Case) -> None:
    design, rated = sample.design, sample.rated_by_hand
    for group in (None, sample.group):
        groups = dict(enumerate([0] * design.n_raters if group is None else group.tolist()))
        expected = [oracle.agreement(rated, r, groups) for r in range(design.n_raters)]
        assert_each(plurality_agreement(design, group), expected)


def test_agreement_does_not_depend_on_order_or_names() -> None:
    sample = case(3, n_items=20, n_raters=12, n_categories=3, n_groups=3, share_rated=0.6)
    design = sample.design
    expected = plurality_agreement(design, sample.group)
    shift = np.array([2, 0, 1])
    renamed = Design(
        design.items[::-1], design.raters[::-1], shift[design.answers[::-1]], design.n_items, design.n_raters, 3
    )
    np.testing.assert_allclose(plurality_agreement(renamed, shift[sample.group]), expected, rtol=1e-12)


def test_raters_alone_or_without_a_group_have_no_agreement() -> None:
    design = Design(np.array([0, 1, 1, 1]), np.array([0, 1, 2, 3]), np.array([0, 0, 0, 0]), 2, 4, 2)
    np.testing.assert_array_equal(plurality_agreement(design), [math.nan, 1, 1, 1])
    np.testing.assert_array_equal(plurality_agreement(design, np.array([0, 0, -1, 0])), [math.nan, 1, math.nan, 1])
    assert np.isnan(plurality_agreement(design, np.array([-1, -1, -1, -1]))).all()


def test_one_category_gives_full_agreement() -> None:
    design = Design(np.array([0, 0]), np.array([0, 1]), np.array([0, 0]), 1, 2, 1)
    np.testing.assert_array_equal(plurality_agreement(design), [1, 1])


def test_flat_needs_two_answers_of_one_kind() -> None:
    flat = flat_items([[0, 2, 1, -1, 2], [0, 0, -1, -1, 2], [-1, 0, -1, -1, 2]])
    np.testing.assert_array_equal(flat, [1, 0, math.nan, math.nan, 1])
    assert np.isnan(flat_items([[0, 1, 2]])).all()


def test_shares_leave_out_missing_values() -> None:
    result = share_by_rater([1, math.nan, 0, math.nan], [0, 0, 0, 1], n_raters=3)
    np.testing.assert_array_equal(result, [0.5, math.nan, math.nan])


def evidence(shares: tuple[float, float, float, float], n: int = 100) -> tuple[Times, Labels]:
    """Return the evidence on one rater with these shares."""
    half, third, quarter, same = (np.array([share]) for share in shares)
    number = np.array([n])
    times = Times(
        pool_median=1.0,
        n_timed=number,
        median=np.array([1.0]),
        total=number * 1.0,
        below_half=half,
        below_third=third,
        below_quarter=quarter,
    )
    return times, Labels(n_ratings=number, top=np.array([0]), same_label=same, entropy=np.array([0.0]))


@pytest.mark.parametrize(
    ("shares", "met"),
    [
        ((0.5, 0.0, 0.0, 0.0), {"below_half"}),
        ((0.49, 0.32, 0.24, 0.98), set()),
        ((0.9, 0.8, 0.3, 0.5), {"below_half", "below_third", "below_quarter"}),
        ((0.0, 0.0, 0.0, 0.99), {"same_label"}),
        ((math.nan, math.nan, math.nan, 1.0), {"same_label"}),
        ((math.nan, math.nan, math.nan, math.nan), set()),
    ],
)
def test_a_rater_is_flagged_from_the_share_on(shares: tuple[float, float, float, float], met: set[str]) -> None:
    result = meets_criteria(*evidence(shares), Criteria())
    assert {name for name, hit in zip(SHARES, result[:, 0], strict=True) if hit} == met


def test_few_ratings_flag_nobody() -> None:
    shares = (1.0, 1.0, 1.0, 1.0)
    assert not meets_criteria(*evidence(shares, 19), Criteria()).any()
    assert meets_criteria(*evidence(shares, 20), Criteria()).all()
    assert meets_criteria(*evidence(shares, 1), Criteria(min_ratings=1)).all()


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("share", [0.0, -0.5, 1.01, 50, math.nan])
def test_a_threshold_is_a_share(name: str, share: float) -> None:
    with pytest.raises(InvalidInput, match=f"{name} is .*; give a share above 0, up to 1"):
        Criteria(**{name: share})  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [0, -1, 2.5])
def test_a_minimum_is_a_whole_number(number: float) -> None:
    with pytest.raises(InvalidInput, match="whole number, 1 or more"):
        Criteria(min_ratings=number)  # type: ignore[arg-type]


def loop_scale(values: list[float]) -> float:
    middle = statistics.median(values)
    return 1.4826 * statistics.median(abs(value - middle) for value in values)


def loop_scores(rows: list[list[float]]) -> list[float]:
    """The formula of Maronna and Zamar, term by term."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    units = [[(x - statistics.median(column)) / loop_scale(column) for x in column] for column in columns]
    pairs = [
        [
            (
                loop_scale([a + b for a, b in zip(first, second, strict=True)]) ** 2
                - loop_scale([a - b for a, b in zip(first, second, strict=True)]) ** 2
            )
            / 4
            for second in units
        ]
        for first in units
    ]
    _, directions = np.linalg.eigh(np.array(pairs))
    squares = [0.0] * len(rows)
    for j in range(len(units)):
        turned = [sum(units[k][r] * directions[k, j] for k in range(len(units))) for r in range(len(rows))]
        middle, spread = statistics.median(turned), loop_scale(turned)
        squares = [total + ((value - middle) / spread) ** 2 for total, value in zip(squares, turned, strict=True)]
    return [total**0.5 for total in squares]


@pytest.mark.parametrize("n_measures", [2, 3, 5])
def test_outlier_scores_are_those_of_a_loop(n_measures: int) -> None:
    rng = np.random.default_rng(n_measures)
    values = rng.normal(size=(31, n_measures)) @ rng.normal(size=(n_measures, n_measures))
    np.testing.assert_allclose(outlier_score(values), loop_scores(values.tolist()))


def test_outlier_scores_of_normal_measures_are_mahalanobis_distances() -> None:
    """20,000 correlated pairs: the robust distance estimates the true one, and 2.5 % lie above the limit."""
    rng = np.random.default_rng(1)
    covariance = np.array([[4.0, 1.2], [1.2, 1.0]])
    values = rng.multivariate_normal([1, 2], covariance, size=20_000)
    gaps = values - [1, 2]
    exact = np.sqrt((gaps @ np.linalg.inv(covariance) * gaps).sum(axis=1))
    scores = outlier_score(values)
    assert np.abs(scores - exact).max() < 0.2
    assert (scores > outlier_limit(2)).mean() == pytest.approx(0.025, abs=0.005)
    assert outlier_limit(3) == pytest.approx(np.sqrt(chi2.ppf(0.975, 3)), rel=0.01)


def test_outliers_do_not_hide_each_other() -> None:
    """A fifth of the raters at one far place, which would draw the mean and the covariance to them."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(100, 3))
    values[:20] = rng.normal(size=(20, 3)) * 0.1 + [6, -6, 6]
    scores = outlier_score(values)
    assert scores[:20].min() > 2 * np.quantile(scores[20:], 0.95)


def test_outlier_scores_do_not_depend_on_units_and_order() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40, 3))
    scores, order = outlier_score(values), rng.permutation(40)
    np.testing.assert_allclose(outlier_score(values * [2, 0.1, 30] + [5, 0, -7]), scores)
    np.testing.assert_allclose(outlier_score(values[order]), scores[order])


def test_outlier_scores_without_values() -> None:
    values = np.random.default_rng(4).normal(size=(9, 3))
    values[2, 1] = np.nan
    scores = outlier_score(values)
    assert np.isnan(scores).tolist() == [r == 2 for r in range(9)]
    constant = np.column_stack([values[:, 0], np.ones(9), values[:, 2]])
    np.testing.assert_allclose(outlier_score(constant), outlier_score(values[:, [0, 2]]))
    assert np.isnan(outlier_score(constant[:, :2])).all()
    assert np.isnan(outlier_score(np.full((5, 2), np.nan))).all()


@pytest.mark.parametrize("seed", range(3))
def test_rank_correlation_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 8, 25).astype(float)
    y = x + rng.integers(0, 9, 25)
    x[3], y[7] = np.nan, np.nan
    result = rank_correlation(x, y)
    assert result.n == 23
    assert result.estimate == pytest.approx(spearmanr(x, y, nan_policy="omit").statistic)
    assert -1 < result.ci_low < result.estimate < result.ci_high < 1
    # Bonett and Wright 2000: the standard error of Fisher's z
    error = np.sqrt((1 + result.estimate**2 / 2) / 20)
    ends = np.arctanh([result.ci_low, result.ci_high])
    assert ends == pytest.approx(np.arctanh(result.estimate) + norm.ppf([0.025, 0.975]) * error)


def test_rank_correlation_is_undefined_without_ranks() -> None:
    for x, y in (([1, 2, 3], [1, 2, 3]), ([1, 1, 1, 1], [1, 2, 3, 4])):
        assert np.isnan(rank_correlation(x, y).estimate)


@pytest.mark.parametrize(("y", "estimate"), [([1, 4, 9, 16, 25, 25], 1), ([9, 8, 7, 6, 5, 5], -1)])
def test_equal_or_reversed_ranks_have_no_interval(y: list[float], estimate: int) -> None:
    perfect = rank_correlation([1, 2, 3, 4, 5, 5], y)
    assert perfect.estimate == pytest.approx(estimate)
    assert np.isnan([perfect.ci_low, perfect.ci_high]).all()


def test_total_times_are_sums() -> None:
    times = answer_times([0, 0, 2], [10, np.nan, 30], n_raters=3)
    np.testing.assert_array_equal(times.total, [10, np.nan, 30])
