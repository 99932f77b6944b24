"""Oracles against published values."""

from fractions import Fraction
from math import log, sqrt

import pytest
from tests.oracles import agreement, cohesion, crossgroup, divergence, significance
from tests.reference import published

from dissensus.stats.distance import Level


def _counts(matrix: published.Matrix, n_categories: int) -> list[list[int]]:
    """Raters × items to items × categories."""
    return [[item.count(k) for k in range(n_categories)] for item in zip(*matrix, strict=True)]


def _distance(level: Level, counts: list[list[int]], values: list[float]) -> agreement.Distance:
    exact = [Fraction(value) for value in values]
    return {
        "nominal": agreement.nominal,
        "ordinal": agreement.ordinal(counts),
        "interval": agreement.interval(exact),
        "ratio": agreement.ratio(exact),
    }[level]


@pytest.mark.parametrize(
    ("name", "level"),
    [(name, level) for name, example in published.AGREEMENTS.items() for level in example.alpha],
)
def test_alpha_as_printed(name: str, level: Level) -> None:
    example = published.AGREEMENTS[name]
    counts = _counts(example.matrix, len(example.values))
    alpha = agreement.alpha(counts, _distance(level, counts, example.values)).value
    assert round(float(alpha), example.digits) == example.alpha[level]


def test_alpha_of_two_observers_is_two_twenty_firsts() -> None:
    """Krippendorff prints 0.095; the exact value follows from o_01 = 4 and n_0 = 14, n_1 = 6."""
    counts = _counts(published.TWO_OBSERVERS_BINARY.matrix, 2)
    assert agreement.alpha(counts) == (Fraction(2, 21), Fraction(8, 20), Fraction(168, 380))


def test_fleiss_as_printed() -> None:
    kappa = agreement.fleiss(published.FLEISS_COUNTS)
    assert round(float(kappa.value), 3) == published.FLEISS["kappa"]
    assert round(float(kappa.observed), 3) == published.FLEISS["observed"]
    assert round(float(kappa.expected), 3) == published.FLEISS["expected"]


def test_ac1_as_printed() -> None:
    ac1 = agreement.ac1(_counts(published.FOUR_OBSERVERS.matrix, 5))
    assert round(float(ac1.value), 5) == published.GWET_AC1_FOUR_OBSERVERS["ac1"]
    assert round(float(ac1.observed), 5) == published.GWET_AC1_FOUR_OBSERVERS["observed"]
    assert round(float(ac1.expected), 5) == published.GWET_AC1_FOUR_OBSERVERS["expected"]


def test_xrr_of_the_java_unit_test() -> None:
    example = published.XRR_UNIT_TEST
    result = crossgroup.xrr(example.counts_x, example.counts_y)
    assert result == (Fraction(2, 11), Fraction(9, 22), Fraction(1, 2))
    assert round(float(result.observed), 10) == example.values["observed"]
    assert round(float(result.value), 10) == example.values["xrr"]


def test_grasp_toy() -> None:
    x, y, values = published.GRASP_TOY.counts_x, published.GRASP_TOY.counts_y, published.GRASP_TOY.values
    result: dict[str, Fraction | float] = {
        "alpha_x": agreement.alpha(x).value,
        "alpha_y": agreement.alpha(y).value,
        "negentropy": cohesion.negentropy(x),
        "plurality_size": cohesion.plurality_size(x),
        "cross_negentropy": crossgroup.cross_negentropy(x, y),
        "voting_agreement": crossgroup.voting_agreement(x, y).value,
        "xrr": crossgroup.xrr(x, y).value,
        "gai": crossgroup.gai(x, y),
    }
    assert {name: round(float(value), 10) for name, value in result.items()} == values


def test_rarefying_two_raters_of_three() -> None:
    """Two of {a, a, b}: one pair of three agrees, the other two pairs differ."""
    assert cohesion.rarefied([[2, 1]], 2) == pytest.approx(log(2) - 2 / 3 * log(2), rel=1e-15)


def test_miller_madow_adds_the_half_over_n() -> None:
    plain = cohesion.negentropy([[3, 1, 0]])
    assert cohesion.miller_madow([[3, 1, 0]]) == pytest.approx(plain - 1 / 8, rel=1e-15)


def test_divergences_of_a_coin_and_its_opposite() -> None:
    assert divergence.total_variation([1, 0], [0, 1]) == 1
    assert divergence.jensen_shannon([1, 0], [0, 1]) == log(2)
    assert divergence.kullback_leibler([0.5, 0.5], [0.25, 0.75]) == pytest.approx(log(2 / sqrt(3)), rel=1e-14)
    assert divergence.wasserstein([1, 0, 0], [0, 0, 1], [0, 1, 3]) == 3


def test_p_values_by_hand() -> None:
    replicates = [1.0, 2.0, 3.0, 4.0]
    assert significance.two_sided_p(5.0, replicates) == Fraction(2, 5)
    assert significance.grasp_p(5.0, replicates) == 0
    assert significance.grasp_p(2.0, replicates) == Fraction(1, 4)


def test_benjamini_hochberg_example() -> None:
    """Ten tests: adjusted p is 10 p / rank, then the running minimum from the largest."""
    p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    expected = [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.74 / 7, 0.216, 0.216, 0.216]
    assert significance.benjamini_hochberg(p) == pytest.approx(expected, rel=1e-12)
