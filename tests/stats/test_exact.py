"""The exact test of independence, and conditional odds ratios."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats.contingency import odds_ratio as scipy_odds_ratio
from tests.oracles import exact as oracle
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats import exact
from dissensus.stats.exact import freeman_halton, odds_ratio

Table = list[list[int]]
GENDER = [[14, 47], [5, 57]]
RACE = [[5, 21], [6, 23], [0, 22], [3, 13], [5, 25]]


def can_be_tested(table: Table) -> bool:
    rows = [row for row in table if sum(row)]
    return len(rows) > 1 and all(sum(row[c] for row in rows) for c in (0, 1))


def tables(n_groups: st.SearchStrategy[int], max_size: int) -> st.SearchStrategy[Table]:
    cell = st.integers(0, max_size)
    return n_groups.flatmap(lambda n: st.lists(st.lists(cell, min_size=2, max_size=2), min_size=n, max_size=n)).filter(
        can_be_tested
    )


PAIRS = tables(st.just(2), 30)
MANY = tables(st.integers(2, 5), 4)


def test_published_pair() -> None:
    """Men and women whom DICES-350 removed; odds ratio 3.36 is the conditional one, 3.40 that of the sample."""
    test, odds = freeman_halton(GENDER), odds_ratio(GENDER)
    assert (round(test.p, 4), test.method, test.draws) == (0.0262, "Fisher's exact test", None)
    assert (round(odds.estimate, 2), round(odds.sample, 2)) == (3.36, 3.40)


@quick
@given(PAIRS)
def test_fisher_of_scipy(table: Table) -> None:
    assert freeman_halton(table).p == pytest.approx(scipy.stats.fisher_exact(table).pvalue, rel=1e-9)


@quick
@given(MANY)
def test_p_values_equal_those_of_full_enumeration(table: Table) -> None:
    assert freeman_halton(table).p == pytest.approx(float(oracle.freeman_halton(table)), rel=1e-9)


def test_races_of_dices_350() -> None:
    test = freeman_halton(RACE)
    assert test.method == "Freeman–Halton exact test"
    assert test.p == pytest.approx(float(oracle.freeman_halton(RACE)), rel=1e-9)


def test_equally_likely_tables_are_ties() -> None:
    """Three equal groups, all removed raters in one: the three such tables are equally likely, and all count."""
    table = [[6, 1], [0, 7], [0, 7]]
    assert freeman_halton(table).p == pytest.approx(3 * math.comb(7, 6) / math.comb(21, 6), rel=1e-9)


@quick
@given(MANY, st.randoms())
def test_order_of_groups_columns_and_empty_groups_do_not_matter(table: Table, random: Random) -> None:
    p = freeman_halton(table).p
    shuffled = [*table, [0, 0]]
    random.shuffle(shuffled)
    assert 0 < p <= 1
    assert freeman_halton(shuffled).p == pytest.approx(p, rel=1e-12)
    assert freeman_halton([[b, a] for a, b in table]).p == pytest.approx(p, rel=1e-12)


def test_drawn_tables_agree_with_the_exact_test(monkeypatch: pytest.MonkeyPatch) -> None:
    p = freeman_halton(RACE).p
    monkeypatch.setattr(exact, "MAX_PATHS", 10)
    sampled = freeman_halton(RACE, draws=20_000, seed=4)
    assert (sampled.method, sampled.draws) == ("Freeman–Halton test on 20,000 drawn tables", 20_000)
    assert sampled.p == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 20_000))
    assert sampled == freeman_halton(RACE, draws=20_000, seed=4)
    assert sampled != freeman_halton(RACE, draws=20_000, seed=5)
    with pytest.raises(InvalidInput, match="draw at least one"):
        freeman_halton(RACE, draws=0)


def test_too_many_tables_are_drawn_and_an_unlikely_one_has_no_p_of_zero() -> None:
    table = [[200, 200]] * 10 + [[0, 400]] * 10
    test = freeman_halton(table, draws=999)
    assert (test.p, test.draws) == (1 / 1000, 999)


@pytest.mark.parametrize(("sizes", "total"), [([20] * 8, 40), ([1000, 900, 1100, 1000], 900), ([5] * 20, 15)])
def test_tables_beyond_listing_agree_with_those_that_scipy_draws(sizes: list[int], total: int) -> None:
    removed = np.random.default_rng(3).multivariate_hypergeometric(sizes, total)
    table = np.stack([removed, np.array(sizes) - removed], axis=1)
    test = freeman_halton(table)
    drawing = scipy.stats.MonteCarloMethod(n_resamples=4000, rng=np.random.default_rng(1))
    expected = scipy.stats.fisher_exact(table, method=drawing).pvalue
    assert test.draws is None
    assert test.p == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 4000))


def test_the_test_keeps_its_size() -> None:
    """Independent outcomes are rejected at 5 % no more often than that: the exact test is conservative."""
    rng = np.random.default_rng(0)
    sizes = np.array([30, 25, 20])
    counts = rng.binomial(sizes, 0.2, size=(1500, 3))
    p = [freeman_halton(np.stack([x, sizes - x], axis=1)).p for x in counts if x.any()]
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.065


@quick
@given(PAIRS, st.sampled_from([0.5, 0.95, 0.999]))
def test_odds_ratio_of_scipy(table: Table, confidence: float) -> None:
    result, expected = odds_ratio(table, confidence=confidence), scipy_odds_ratio(table, kind="conditional")
    interval = expected.confidence_interval(confidence)
    for value, reference in zip(
        (result.estimate, result.ci_low, result.ci_high), (expected.statistic, interval.low, interval.high), strict=True
    ):
        assert value == pytest.approx(reference, rel=1e-8)


@quick
@given(tables(st.just(2), 6))
def test_odds_ratio_solves_its_equations(table: Table) -> None:
    """In exact fractions: the mean of the first cell is the observed one, and each tail beyond an end is 2.5 %."""
    result, a = odds_ratio(table), table[0][0]
    if 0 < result.estimate < math.inf:
        cells = oracle.first_cells(table, Fraction(result.estimate))
        assert float(sum(x * p for x, p in cells.items())) == pytest.approx(a, rel=1e-9)
    if result.ci_low > 0:
        cells = oracle.first_cells(table, Fraction(result.ci_low))
        assert float(sum(p for x, p in cells.items() if x >= a)) == pytest.approx(0.025, rel=1e-9)
    if result.ci_high < math.inf:
        cells = oracle.first_cells(table, Fraction(result.ci_high))
        assert float(sum(p for x, p in cells.items() if x <= a)) == pytest.approx(0.025, rel=1e-9)


@quick
@given(PAIRS)
def test_exchanging_rows_or_columns_inverts_the_odds_ratio(table: Table) -> None:
    result = odds_ratio(table)
    for turned in (odds_ratio(table[::-1]), odds_ratio([row[::-1] for row in table])):
        for value, inverse in (
            (result.estimate, turned.estimate),
            (result.ci_low, turned.ci_high),
            (result.ci_high, turned.ci_low),
        ):
            assert value == pytest.approx(math.inf if inverse == 0 else 1 / inverse, rel=1e-9)


@quick
@given(PAIRS)
def test_the_interval_holds_the_estimate(table: Table) -> None:
    result = odds_ratio(table)
    assert result.ci_low <= result.estimate <= result.ci_high
    assert float(result) == result.estimate
    assume(0 < result.estimate < math.inf)
    wide = odds_ratio(table, confidence=0.999)
    assert wide.ci_low < result.ci_low
    assert result.ci_high < wide.ci_high


@pytest.mark.parametrize(
    ("table", "estimate", "ends"),
    [
        ([[0, 5], [3, 4]], 0.0, (0.0, None)),
        ([[5, 0], [3, 4]], math.inf, (None, math.inf)),
        ([[3, 4], [0, 5]], math.inf, (None, math.inf)),
        ([[3, 4], [5, 0]], 0.0, (0.0, None)),
        ([[5, 0], [0, 5]], math.inf, (None, math.inf)),
    ],
)
def test_an_empty_cell_has_one_finite_end(
    table: Table, estimate: float, ends: tuple[float | None, float | None]
) -> None:
    result = odds_ratio(table)
    assert result.estimate == result.sample == estimate
    for end, expected in zip((result.ci_low, result.ci_high), ends, strict=True):
        assert end == expected if expected is not None else 0 < end < math.inf


@pytest.mark.parametrize("table", [[[1, 2], [0, 0]], [[1, 2]], np.empty((0, 2), dtype=int)])
def test_one_group_has_no_test(table: Table | NDArray[np.int64]) -> None:
    for estimator in (freeman_halton, odds_ratio):
        with pytest.raises(UndefinedEstimate, match="fewer than two groups have raters"):
            estimator(table)


@pytest.mark.parametrize("table", [[[3, 0], [5, 0]], [[0, 3], [0, 5]]])
def test_one_outcome_has_no_test(table: Table) -> None:
    for estimator in (freeman_halton, odds_ratio):
        with pytest.raises(UndefinedEstimate, match="all raters have the same outcome"):
            estimator(table)


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match=r"shape \(2, 3\); give groups × two outcomes"):
        freeman_halton([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(InvalidInput, match=r"shape \(2,\)"):
        freeman_halton([1, 2])
    with pytest.raises(InvalidInput, match="cannot be negative"):
        freeman_halton([[1, -2], [4, 5]])
    with pytest.raises(InvalidInput, match="compares two groups; the table has 3"):
        odds_ratio([[1, 2], [3, 4], [5, 6]])
    for confidence in (0.0, 1.0, 95.0):
        with pytest.raises(InvalidInput, match="between 0 and 1"):
            odds_ratio(GENDER, confidence=confidence)


def test_large_pools() -> None:
    """Two groups of a hundred thousand are exact; tables of more groups are drawn to bound memory."""
    pair = [[10_000, 90_000], [10_500, 89_500]]
    test = freeman_halton(pair)
    assert test.draws is None
    assert test.p == pytest.approx(scipy.stats.fisher_exact(pair).pvalue, rel=1e-6)
    table = [[10_000, 90_000], [10_050, 89_950], [10_020, 89_980]]
    sampled = freeman_halton(table, draws=2000)
    assert sampled.draws == 2000
    asymptotic = scipy.stats.chi2_contingency(table).pvalue
    assert sampled.p == pytest.approx(asymptotic, abs=4 * math.sqrt(0.25 / 2000))
