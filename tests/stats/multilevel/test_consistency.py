"""Share of the residual that repeated answers have in common."""

import numpy as np
import numpy.typing as npt
import pytest

from dissensus.errors import UndefinedEstimate
from dissensus.stats.multilevel import kernels
from dissensus.stats.multilevel.consistency import NODES, compare_consistency, estimate_residual_consistency
from dissensus.stats.multilevel.design import Covariates, ModelDesign, RandomTerm
from dissensus.stats.multilevel.fit import MaximumFit, fit_ordinal
from dissensus.stats.multilevel.posterior import PosteriorDraws

N_RATERS, N_ITEMS = 40, 60
Answers = npt.NDArray[np.int8]


def answer_twice(rng: np.random.Generator, common_share: float) -> tuple[Answers, Answers]:
    """Return two answers of each rater to each item, whose residuals have a share in common."""
    location = np.add.outer(rng.normal(0, 0.8, N_ITEMS), rng.normal(0, 0.6, N_RATERS)).ravel()
    location += np.sqrt(common_share) * rng.normal(size=location.size)
    noise = np.sqrt(1 - common_share) * rng.normal(size=(2, location.size))
    first, second = np.digitize(location + noise, [-0.3, 0.5]).astype(np.int8)
    return first, second


def fit(answers: Answers) -> tuple[MaximumFit, PosteriorDraws]:
    item, rater = (index.ravel() for index in np.indices((N_ITEMS, N_RATERS)))
    terms = (
        RandomTerm(name="item", groups=item, n_groups=N_ITEMS),
        RandomTerm(name="rater", groups=rater, n_groups=N_RATERS),
    )
    empty = Covariates(values=np.empty((1, 0)), row=np.zeros(answers.size, np.int64))
    model = fit_ordinal(ModelDesign(answers=answers, n_categories=3, fixed=empty, random=terms))
    assert isinstance(model, MaximumFit)
    return model, model.approximation.draw(26, np.random.default_rng(0))


@pytest.mark.slow
@pytest.mark.parametrize("common_share", [0.0, 0.5, 0.9])
def test_the_common_share_is_recovered(common_share: float) -> None:
    rng = np.random.default_rng(1)
    first, second = answer_twice(rng, common_share)
    model, draws = fit(first)
    rows = rng.choice(first.size, 1200, replace=False)
    result = estimate_residual_consistency(
        model.approximation.likelihood, draws, rows, second[rows].astype(np.int64), confidence=0.95
    )
    assert result.ci_low <= common_share <= result.ci_high
    assert result.ci_high - result.ci_low < 0.2
    assert result.n_repeats == 1200
    equal = first[rows] == second[rows]
    assert result.expected.mean() == pytest.approx(equal.mean(), abs=0.04)
    raters, careless = rows % N_RATERS, rows % N_RATERS < 8
    assert compare_consistency(raters, equal, result.expected, n_raters=N_RATERS).p > 0.01
    if common_share == 0.9:
        # A fifth of the raters answer anew each time.
        anew = answer_twice(np.random.default_rng(2), 0.0)[0][rows]
        answers = np.where(careless, anew, second[rows]).astype(np.int64)
        again = estimate_residual_consistency(model.approximation.likelihood, draws, rows, answers, confidence=0.95)
        comparison = compare_consistency(raters, first[rows] == answers, again.expected, n_raters=N_RATERS)
        assert comparison.p < 1e-4
        assert set(np.argsort(comparison.deviations)[:4]) <= set(range(8))


def test_probabilities_are_those_of_a_bivariate_normal_distribution() -> None:
    """A common part of a half makes residuals that correlate by a half; quadrants have a closed form."""
    quadrant = np.array([[-np.inf, -np.inf], [-np.inf, 0.0]]), np.array([[0.0, 0.0], [0.0, np.inf]])
    weights = np.exp(-0.5 * NODES**2)
    for place, sign in ((0, 1), (1, -1)):
        low, high = (bound[[place]] for bound in quadrant)
        sums = np.zeros((1, 3))
        shares = np.array([0.0, 0.5, 0.9])
        kernels.add_repeat_probabilities(low, high, shares, NODES, weights / weights.sum(), sums)
        # Sheppard 1899: P(x < 0, y < 0) = 1 / 4 + asin(r) / 2π
        assert sums[0] / 2 == pytest.approx(0.25 + sign * np.arcsin(shares) / (2 * np.pi), abs=1e-5)


def test_equal_consistency_is_rejected_as_often_as_stated() -> None:
    rng = np.random.default_rng(3)
    raters = np.repeat(np.arange(25), np.arange(25) % 6 + 1)  # One to six repeats
    expected = rng.uniform(0.3, 0.95, raters.size)
    p = [compare_consistency(raters, rng.random(raters.size) < expected, expected, n_raters=26).p for _ in range(2000)]
    assert (np.array(p) < 0.05).mean() == pytest.approx(0.05, abs=0.02)
    result = compare_consistency(raters, np.ones(raters.size, bool), expected, n_raters=26)
    first = (1 - expected[0]) / np.sqrt(expected[0] * (1 - expected[0]))
    assert result.deviations[0] == pytest.approx(first)
    assert np.isnan(result.deviations[25])
    with pytest.raises(UndefinedEstimate, match="two or more"):
        compare_consistency(raters[:1], np.array([True]), expected[:1], n_raters=26)
    with pytest.raises(UndefinedEstimate, match="equal by an even chance"):
        compare_consistency(np.arange(2), np.array([True, False]), np.array([0.5, 0.5]), n_raters=2)


def test_without_repeats_it_is_undefined() -> None:
    model, draws = fit(answer_twice(np.random.default_rng(1), 0.0)[0])
    none = np.empty(0, np.int64)
    with pytest.raises(UndefinedEstimate, match="no item was answered twice"):
        estimate_residual_consistency(model.approximation.likelihood, draws, none, none, confidence=0.95)
