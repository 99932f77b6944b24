"""Fleiss' kappa and Gwet's AC1."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss_kappa
from tests.oracles import agreement as oracle
from tests.reference import irrcac, published
from tests.stats.compare import assert_equal_outcomes, assert_same, close
from tests.strategies import Counts, complete_tables, quick, tables

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import NO_PAIR, ONE_CATEGORY, fleiss_kappa, gwet_ac1, krippendorff_alpha
from dissensus.stats.counts import count_matrix
from dissensus.stats.result import Estimate


def _irrcac() -> list[tuple[str, str, float, float, float]]:
    with Path(irrcac.__file__).with_suffix(".csv").open(newline="") as file:
        return [
            (
                row["matrix"],
                row["statistic"],
                float(row["estimate"]),
                float(row["observed"]),
                float(row["expected"]),
            )
            for row in csv.DictReader(file)
        ]


def _counts(name: str) -> Counts:
    matrix = np.array(irrcac.MATRICES[name])
    return np.asarray(count_matrix(matrix, n_categories=irrcac.CATEGORIES[name]), np.int64)


# irrCAC prints 15 decimals, and its last ones are off by its own rounding (-0.071428571428569 for -1/14).
IRRCAC_DIGITS = 1e-13


@pytest.mark.parametrize(("name", "statistic", "estimate", "observed", "expected"), _irrcac())
def test_irrcac(name: str, statistic: str, estimate: float, observed: float, expected: float) -> None:
    counts = _counts(name)
    if statistic == "fleiss" and len(set(counts.sum(axis=1))) > 1:
        # irrCAC generalises Fleiss to missing answers; Fleiss did not.
        with pytest.raises(InvalidInput, match="the same number of ratings for every item"):
            fleiss_kappa(counts)
        return
    if statistic in ("alpha", "alpha_interval"):
        # irrCAC splits alpha differently from Krippendorff's D_o and D_e: only alpha itself is comparable
        alpha = krippendorff_alpha(counts, level="nominal" if statistic == "alpha" else "interval")
        assert alpha.estimate == pytest.approx(estimate, abs=IRRCAC_DIGITS)
        return
    ours = gwet_ac1(counts) if statistic == "ac1" else fleiss_kappa(counts)
    assert ours.estimate == pytest.approx(estimate, abs=IRRCAC_DIGITS)
    assert ours.observed == pytest.approx(observed, abs=IRRCAC_DIGITS)
    assert ours.expected == pytest.approx(expected, abs=IRRCAC_DIGITS)


def test_fleiss_published() -> None:
    result = fleiss_kappa(np.array(published.FLEISS_COUNTS))
    assert round(result.estimate, 3) == published.FLEISS["kappa"]
    assert result.observed is not None
    assert result.expected is not None
    assert round(result.observed, 3) == published.FLEISS["observed"]
    assert round(result.expected, 3) == published.FLEISS["expected"]
    assert (result.n_items, result.n_dropped, result.n_ratings) == (10, 0, 140)


@quick
@given(complete_tables())
def test_fleiss_oracle(counts: Counts) -> None:
    assert_same(lambda: fleiss_kappa(counts), lambda: oracle.fleiss(counts.tolist()))


def test_fleiss_statsmodels() -> None:
    rng = np.random.default_rng(0)
    for _ in range(10):
        counts = rng.multinomial(6, rng.dirichlet(np.ones(4)), size=8)
        expected = float(statsmodels_fleiss_kappa(counts, method="fleiss"))
        assert fleiss_kappa(counts).estimate == close(expected)


@quick
@given(complete_tables())
def test_alpha_is_fleiss_corrected_for_small_samples(counts: Counts) -> None:
    """With equal raters, 1 - alpha = (1 - kappa)(n - 1)/n: Krippendorff draws without replacement."""
    n = int(counts.sum())
    try:
        kappa = fleiss_kappa(counts).estimate
    except UndefinedEstimate:
        with pytest.raises(UndefinedEstimate, match="alpha is undefined"):
            krippendorff_alpha(counts)
        return
    assert krippendorff_alpha(counts).estimate == close(1 - (1 - kappa) * (n - 1) / n)


@quick
@given(data=st.data())
def test_fleiss_does_not_depend_on_names_or_order(data: st.DataObject) -> None:
    counts = data.draw(complete_tables())
    items = data.draw(st.permutations(range(counts.shape[0])))
    categories = data.draw(st.permutations(range(counts.shape[1])))
    assert_equal_outcomes(lambda: fleiss_kappa(counts[items][:, categories]), lambda: fleiss_kappa(counts))


@pytest.mark.parametrize("counts", [[[2, 1], [1, 1]], [[1, 0], [2, 1]], [[0, 0], [2, 1]]], ids=str)
def test_fleiss_refuses_unequal_raters(counts: list[list[int]]) -> None:
    with pytest.raises(InvalidInput, match="the same number of ratings for every item"):
        fleiss_kappa(np.array(counts))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        pytest.param([[1, 0], [0, 1]], NO_PAIR, id="one rating per item"),
        pytest.param([[3, 0], [3, 0]], ONE_CATEGORY, id="one category used"),
    ],
)
def test_fleiss_undefined(counts: list[list[int]], reason: str) -> None:
    with pytest.raises(UndefinedEstimate, match=reason):
        fleiss_kappa(np.array(counts))


def test_ac1_published() -> None:
    counts = count_matrix(np.array(published.FOUR_OBSERVERS.matrix))
    result = gwet_ac1(counts)
    assert result.observed is not None
    assert result.expected is not None
    assert round(result.estimate, 5) == published.GWET_AC1_FOUR_OBSERVERS["ac1"]
    assert round(result.observed, 5) == published.GWET_AC1_FOUR_OBSERVERS["observed"]
    assert round(result.expected, 5) == published.GWET_AC1_FOUR_OBSERVERS["expected"]


@quick
@given(tables())
def test_ac1_oracle(counts: Counts) -> None:
    assert_same(lambda: gwet_ac1(counts), lambda: oracle.ac1(counts.tolist()))


@quick
@given(data=st.data())
def test_ac1_does_not_depend_on_names_or_order(data: st.DataObject) -> None:
    counts = data.draw(tables())
    items = data.draw(st.permutations(range(counts.shape[0])))
    categories = data.draw(st.permutations(range(counts.shape[1])))
    unrated = np.zeros((1, counts.shape[1]), dtype=np.int64)
    assert_equal_outcomes(
        lambda: gwet_ac1(np.concatenate([counts[items][:, categories], unrated])), lambda: gwet_ac1(counts)
    )


def test_ac1_needs_the_number_of_categories() -> None:
    """Chance is 1/(K - 1) sum pi(1 - pi): unused categories count."""
    two = np.array([[2, 0], [1, 1], [0, 2]])
    three = np.pad(two, ((0, 0), (0, 1)))
    assert gwet_ac1(two).expected == close(1 / 2)
    assert gwet_ac1(three).expected == close(1 / 4)


def test_ac1_is_defined_where_kappa_is_not() -> None:
    """All ratings are in one category of two: no disagreement, and chance agreement 0 by Gwet's model."""
    assert gwet_ac1(np.array([[3, 0], [2, 0]])).estimate == 1.0


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param([[1, 0], [0, 1]], id="one rating per item"),
        pytest.param([[0, 0]], id="nobody rated"),
    ],
)
def test_ac1_undefined(counts: list[list[int]]) -> None:
    with pytest.raises(UndefinedEstimate, match=NO_PAIR):
        gwet_ac1(np.array(counts))


@pytest.mark.parametrize("statistic", [fleiss_kappa, gwet_ac1])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        pytest.param([[1, -1]], "cannot be negative", id="negative"),
        pytest.param([1, 2], "has 1 dimensions", id="one dimension"),
        pytest.param([[1.5, 2.0]], "whole numbers of raters", id="not integer"),
    ],
)
def test_malformed(statistic: Callable[[Counts], Estimate], counts: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        statistic(np.array(counts))
