"""The model of means and spreads: its slope, its optimum, what it tells, and what must hold of it."""

import numpy as np
import pytest
from tests.oracles.preferences import mean_variance, mean_variance_loss
from tests.preference.pairs import simulated
from tests.preference.people import People, auroc, people

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import answers
from dissensus.preference.data.sparse import FeatureRows
from dissensus.preference.fit.logistic import PairChoices, fit_logistic, probability
from dissensus.preference.fit.mean_variance import SpreadHeads
from dissensus.preference.fit.mean_variance import fit_heads as fit_heads
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.schema.records.conversation import Conversation

PLAN = TrainingPlan(kind="mean-variance")


def drawn(n: int = 60, width: int = 3) -> tuple[SpreadHeads, np.ndarray]:
    """Return heads on random features, and these for the oracle: of the mean beside those of the spread."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(2 * n, width)).astype(np.float32).astype(np.float64)
    features[0::2] += 0.5
    choices = PairChoices(
        weight=rng.uniform(0.5, 2, n), share=rng.choice([0.7, 1.0], n), margin=rng.choice([0.0, 0.3], n)
    )
    heads = SpreadHeads(
        differences=FeatureRows.dense(features[0::2] - features[1::2]),
        answers=FeatureRows.dense(features),
        choices=choices,
        penalties=(1.0, 4.0),
    )
    return heads, np.hstack([features, features])


def choices_of(heads: SpreadHeads) -> tuple[np.ndarray, ...]:
    return heads.choices.weight, heads.choices.share, heads.choices.margin


def test_the_loss_is_what_the_formula_says() -> None:
    heads, features = drawn()
    at = np.random.default_rng(1).normal(size=6)
    expected = mean_variance_loss(at, features, choices_of(heads), heads.penalties)
    assert heads.loss(at)[0] == pytest.approx(expected, rel=1e-5)


def test_the_slope_is_that_of_the_loss() -> None:
    heads, _ = drawn()
    at = np.random.default_rng(2).normal(size=6)
    gradient, _ = heads.slope(at, heads.loss(at)[1])
    step = 1e-5 * np.eye(6)
    found = [(heads.loss(at + one)[0] - heads.loss(at - one)[0]) / 2e-5 for one in step]
    assert np.allclose(gradient, found, rtol=1e-5, atol=1e-5)


def test_the_curvature_is_that_of_the_linear_part() -> None:
    """Gauss and Newton: the product of the slopes of the log odds, which here are taken by differences."""
    heads, _ = drawn()
    at = np.random.default_rng(3).normal(size=6)
    odds, *_ = heads.loss(at)[1]
    _, curvature = heads.slope(at, heads.loss(at)[1])
    step = 1e-5 * np.eye(6)
    slopes = np.array([(heads.loss(at + one)[1][0] - heads.loss(at - one)[1][0]) / 2e-5 for one in step])
    p = probability(odds)
    expected = (slopes * (heads.choices.weight * p * (1 - p))) @ slopes.T + np.diag([1, 1, 1, 4, 4, 4])
    assert np.allclose(np.column_stack([curvature(one) for one in np.eye(6)]), expected, rtol=1e-3, atol=1e-3)


def test_it_finds_what_a_general_optimiser_finds() -> None:
    heads, features = drawn()
    start = np.concatenate([fit_logistic(heads.differences, heads.choices, 1.0), np.zeros(3)])
    expected = mean_variance(features, choices_of(heads), heads.penalties, start)
    assert np.allclose(fit_heads(heads, start), expected, atol=5e-3)


@pytest.fixture(scope="module")
def split() -> People:
    return people(1.5, seed=1)


@pytest.fixture(scope="module")
def model(split: People) -> MeanVariance:
    found = train(split.votes, purpose="helpful", plan=PLAN)
    assert isinstance(found, MeanVariance)
    return found


def test_it_knows_what_all_like_as_the_linear_model_does(split: People, model: MeanVariance) -> None:
    linear = train(split.votes, purpose="helpful")
    every = (split.men + split.women) / 2
    one, other = (np.corrcoef(some.margins(split.fresh), every)[0, 1] for some in (model, linear))
    assert one == pytest.approx(other, abs=0.03)


def test_the_spread_tells_where_groups_prefer_different_answers(split: People, model: MeanVariance) -> None:
    assert auroc(model.disagreement(split.fresh), split.opposed) > 0.52
    assert auroc(-np.abs(model.margins(split.fresh)), split.opposed) > 0.65


def test_less_variance_lies_between_answers_where_people_differ(split: People, model: MeanVariance) -> None:
    alike = people(0.0, seed=1)
    other = train(alike.votes, purpose="helpful", plan=PLAN)
    assert isinstance(other, MeanVariance)
    assert model.r_squared(answers(split.fresh)) + 0.1 < other.r_squared(answers(alike.fresh))
    assert 0 < model.card["held_out"]["r_squared"] < 1


def test_swapped_answers_have_the_other_probability(split: People, model: MeanVariance) -> None:
    other = [pair.swapped() for pair in split.fresh]
    assert np.allclose(model.margins(split.fresh), -model.margins(other))


def test_the_order_of_pairs_makes_no_difference() -> None:
    pairs = simulated(60)[0]
    one, other = (train(some, purpose="harmless", plan=PLAN) for some in (pairs, pairs[::-1]))
    assert one.card == other.card
    assert one.margins(pairs).tolist() == other.margins(pairs).tolist()


def test_odds_are_means_over_spreads(split: People, model: MeanVariance) -> None:
    mean, spread = model.opinion(answers(split.fresh[:3]))
    expected = 1.702 * (mean[0] - mean[1]) / np.hypot(spread[0], spread[1])
    assert model.margins(split.fresh[:3])[0] == pytest.approx(expected)


def test_who_is_careful_takes_a_lower_quantile(model: MeanVariance) -> None:
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "Let us speak of tea.")])
    low, middle, mean = (model.score([talk], quantile=one)[0][0] for one in (0.05, 0.5, None))
    assert low < middle == mean
    spread = model.opinion(["Let us speak of tea."]).spread[0]
    assert mean - low == pytest.approx(1.6449 * spread, rel=1e-3)
    with pytest.raises(InvalidInput, match=r"The quantile is 1\.5; give a share between 0 and 1"):
        model.score([talk], quantile=1.5)
