"""Mean-variance model: gradient, optimum, disagreement and invariances."""

import numpy as np
import pytest
from tests.oracles.preferences import mean_variance, mean_variance_loss
from tests.preference.pairs import simulate_pairs
from tests.preference.people import People, auroc, people

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import answers
from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.fit.logistic import fit_logistic, probability
from dissensus.preference.fit.mean_variance import SpreadHeads, fit_heads
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.sparse import SparseRows

PLAN = TrainingPlan(kind="mean-variance")


def draw_heads(n: int = 60, width: int = 3) -> tuple[SpreadHeads, np.ndarray]:
    """Return heads on random features, and the features of mean and spread for the oracle."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(2 * n, width)).astype(np.float32).astype(np.float64)
    features[0::2] += 0.5
    choices = PairChoices(
        weight=rng.uniform(0.5, 2, n), share=rng.choice([0.7, 1.0], n), margin=rng.choice([0.0, 0.3], n)
    )
    heads = SpreadHeads(
        differences=SparseRows.dense(features[0::2] - features[1::2]),
        answers=SparseRows.dense(features),
        choices=choices,
        penalties=(1.0, 4.0),
    )
    return heads, np.hstack([features, features])


def choices_of(heads: SpreadHeads) -> tuple[np.ndarray, ...]:
    return heads.choices.weight, heads.choices.share, heads.choices.margin


def test_the_loss_follows_the_formula() -> None:
    heads, features = draw_heads()
    at = np.random.default_rng(1).normal(size=6)
    expected = mean_variance_loss(at, features, choices_of(heads), heads.penalties)
    assert heads.loss(at)[0] == pytest.approx(expected, rel=1e-5)


def test_the_gradient_is_that_of_the_loss() -> None:
    heads, _ = draw_heads()
    at = np.random.default_rng(2).normal(size=6)
    gradient, _ = heads.differentiate(at, heads.loss(at)[1])
    step = 1e-5 * np.eye(6)
    differences = [(heads.loss(at + one)[0] - heads.loss(at - one)[0]) / 2e-5 for one in step]
    assert np.allclose(gradient, differences, rtol=1e-5, atol=1e-5)


def test_the_curvature_is_that_of_the_linear_part() -> None:
    """The Gauss–Newton product equals that of numerical slopes of the log odds."""
    heads, _ = draw_heads()
    at = np.random.default_rng(3).normal(size=6)
    odds, *_ = heads.loss(at)[1]
    _, curvature = heads.differentiate(at, heads.loss(at)[1])
    step = 1e-5 * np.eye(6)
    slopes = np.array([(heads.loss(at + one)[1][0] - heads.loss(at - one)[1][0]) / 2e-5 for one in step])
    p = probability(odds)
    expected = (slopes * (heads.choices.weight * p * (1 - p))) @ slopes.T + np.diag([1, 1, 1, 4, 4, 4])
    assert np.allclose(np.column_stack([curvature(one) for one in np.eye(6)]), expected, rtol=1e-3, atol=1e-3)


def test_the_fit_equals_that_of_a_general_optimiser() -> None:
    heads, features = draw_heads()
    start = np.concatenate([fit_logistic(heads.differences, heads.choices, 1.0), np.zeros(3)])
    expected = mean_variance(features, choices_of(heads), heads.penalties, start)
    assert np.allclose(fit_heads(heads, start), expected, atol=5e-3)


@pytest.fixture(scope="module")
def split() -> People:
    return people(1.5, seed=1)


@pytest.fixture(scope="module")
def model(split: People) -> MeanVariance:
    trained = train(split.votes, purpose="helpful", plan=PLAN)
    assert isinstance(trained, MeanVariance)
    return trained


def test_the_mean_agrees_with_the_linear_model(split: People, model: MeanVariance) -> None:
    linear = train(split.votes, purpose="helpful")
    means = (split.men + split.women) / 2
    correlation, linear_correlation = (np.corrcoef(some.margins(split.fresh), means)[0, 1] for some in (model, linear))
    assert correlation == pytest.approx(linear_correlation, abs=0.03)


def test_the_spread_detects_disagreement(split: People, model: MeanVariance) -> None:
    assert auroc(model.disagreement(split.fresh), split.opposed) > 0.52
    assert auroc(-np.abs(model.margins(split.fresh)), split.opposed) > 0.65


def test_less_variance_lies_between_answers_where_people_differ(split: People, model: MeanVariance) -> None:
    uniform = people(0.0, seed=1)
    uniform_model = train(uniform.votes, purpose="helpful", plan=PLAN)
    assert isinstance(uniform_model, MeanVariance)
    assert model.r_squared(answers(split.fresh)) + 0.1 < uniform_model.r_squared(answers(uniform.fresh))
    assert 0 < model.card["held_out"]["r_squared"] < 1


def test_swapped_answers_have_the_other_probability(split: People, model: MeanVariance) -> None:
    swapped = [pair.swapped() for pair in split.fresh]
    assert np.allclose(model.margins(split.fresh), -model.margins(swapped))


def test_the_order_of_pairs_makes_no_difference() -> None:
    pairs = simulate_pairs(60)[0]
    first, second = (train(some, purpose="harmless", plan=PLAN) for some in (pairs, pairs[::-1]))
    assert first.card == second.card
    assert first.margins(pairs).tolist() == second.margins(pairs).tolist()


def test_odds_are_means_over_spreads(split: People, model: MeanVariance) -> None:
    mean, spread = model.opinion(answers(split.fresh[:3]))
    expected = 1.702 * (mean[0] - mean[1]) / np.hypot(spread[0], spread[1])
    assert model.margins(split.fresh[:3])[0] == pytest.approx(expected)


def test_lower_quantiles_give_lower_scores(model: MeanVariance) -> None:
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "Let us speak of tea.")])
    low, middle, mean = (model.score([talk], quantile=one)[0][0] for one in (0.05, 0.5, None))
    assert low < middle == mean
    spread = model.opinion(["Let us speak of tea."]).spread[0]
    assert mean - low == pytest.approx(1.6449 * spread, rel=1e-3)
    with pytest.raises(InvalidInput, match=r"The quantile is 1\.5; give a share between 0 and 1"):
        model.score([talk], quantile=1.5)
