"""Model of answers and choices: recovery, gains on either alone, gradient, invariances, and no choices at all."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.joint_juries import JointData, choice_loss, cover, rating_loss, simulate_joint
from scipy.special import log_ndtr

from dissensus.stats.jury.likelihood import AnswerLikelihood, Cavity, NormalSites, differentiate
from dissensus.stats.jury.model import TextModel, fit_choice_model, fit_joint_model, fit_text_model

PARTS = ("thresholds", "weights", "covariances", "residuals", "levels", "level_covariance")


@pytest.fixture(scope="module")
def data() -> JointData:
    return simulate_joint(0)


@pytest.fixture(scope="module")
def model(data: JointData) -> TextModel:
    return fit_joint_model(data.ratings, data.choices)


def close(first: TextModel, second: TextModel, tolerance: float) -> bool:
    """Return whether two models predict the same; contrasts of groups may have either sign."""
    rows = np.eye(2, dtype=bool)
    features = np.random.default_rng(0).normal(size=(20, 8))
    ratings, choices = (
        [locations.distributions(rows) for locations in pair]
        for pair in (
            (first.locate(features), second.locate(features)),
            (first.locate_choices(features), second.locate_choices(features)),
        )
    )
    return all(np.allclose(one, other, atol=tolerance) for one, other in (ratings, choices))


def test_without_choices_it_is_the_model_of_answers_bit_by_bit(data: JointData) -> None:
    none = replace(
        data.choices,
        **{name: getattr(data.choices, name)[:0] for name in ("answers", "items", "raters", "features")},
    )
    joint, alone = fit_joint_model(data.ratings, none), fit_text_model(data.ratings)
    for part in PARTS:
        assert np.array_equal(getattr(joint, part), getattr(alone, part))
    assert joint.rater_variance == alone.rater_variance
    assert joint.choice_scale == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_both_together_predict_unseen_texts_better_than_either_alone(scale: float) -> None:
    """Paired differences of log-loss over simulations are above 0, and the scale and shared reactions are found."""
    gains, estimates, coverage = [], [], []
    for seed in range(100, 116):
        data = simulate_joint(seed, scale=scale)
        joint = fit_joint_model(data.ratings, data.choices)
        assert joint.choice_scale is not None
        gains.append(
            (
                rating_loss(data, fit_text_model(data.ratings)) - rating_loss(data, joint),
                choice_loss(data, fit_choice_model(data.choices)) - choice_loss(data, joint),
            )
        )
        estimates.append(math.log(joint.choice_scale / scale))
        coverage.append(cover(data, joint))
    means = np.mean(gains, axis=0)
    errors = np.std(gains, axis=0, ddof=1) / math.sqrt(len(gains))
    assert (means > 2 * errors).all()
    assert abs(np.mean(estimates)) < 3 * np.std(estimates, ddof=1) / math.sqrt(len(estimates)) + 0.1
    assert np.mean(coverage) > 0.85


@pytest.mark.slow
def test_planted_shared_reactions_are_found_by_both_together() -> None:
    """With many choices and few ratings, shared weights are nearer to the planted ones than those of ratings alone."""
    errors = []
    for seed in range(6):
        data = simulate_joint(seed, n_items=60, n_per_item=3, n_choices=600)
        rng = np.random.default_rng(seed)
        shared, own = rng.normal(0, 0.4, 8), rng.normal(0, 0.25, (8, 2))
        planted = shared + own.mean(axis=1)
        models = fit_joint_model(data.ratings, data.choices), fit_text_model(data.ratings)
        errors.append([float(np.linalg.norm(part.weights[0] - planted)) for part in models])
    joint, alone = np.array(errors).T
    assert (joint < alone).sum() >= 5
    assert joint.mean() < 0.8 * alone.mean()


def test_the_gradient_of_the_evidence_equals_finite_differences(data: JointData) -> None:
    rng = np.random.default_rng(1)
    answers = rng.integers(0, 2, 300)
    is_choice = np.arange(300) >= 100
    likelihood = AnswerLikelihood(answers, 2, is_choice)
    cavity = Cavity(rng.normal(size=300), rng.gamma(1.0, size=300))
    for scale in (0.3, 1.0, 4.0):
        evidence, slope = likelihood.choice_evidence(cavity, scale)
        signs = 2 * answers[is_choice] - 1
        z = signs * scale * cavity.mean[is_choice] / np.sqrt(1 + scale**2 * cavity.variance[is_choice])
        assert evidence == pytest.approx(log_ndtr(z).sum())
        step = 1e-5
        ends = [likelihood.choice_evidence(cavity, scale * math.exp(sign * step))[0] for sign in (-1, 1)]
        assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-6)


def test_the_derivatives_of_each_answer_equal_finite_differences() -> None:
    low = np.array([-np.inf, -1.0, 0.3, 2.0, -8.0])
    high = np.array([0.2, 0.5, np.inf, 3.0, -7.0])

    def log_share(mean: float) -> np.ndarray:
        upper, lower = high - mean, low - mean
        flip = lower + upper > 0
        above, below = np.where(flip, -lower, upper), np.where(flip, -upper, lower)
        return np.asarray(log_ndtr(above) + np.log1p(-np.exp(log_ndtr(below) - log_ndtr(above))))

    slope, curvature = differentiate(low, high)
    step = 1e-4
    ends = [log_share(-step), log_share(0.0), log_share(step)]
    assert slope == pytest.approx((ends[2] - ends[0]) / (2 * step), rel=1e-5, abs=1e-7)
    assert curvature == pytest.approx(-(ends[2] - 2 * ends[1] + ends[0]) / step**2, rel=1e-4, abs=1e-6)


def test_the_scale_maximises_the_evidence_where_the_fit_ends(data: JointData, model: TextModel) -> None:
    """Beginning elsewhere, a step of the scale leads back."""
    likelihood = AnswerLikelihood(np.ones(50, np.int64), 2, np.arange(50) > 0)
    cavity = Cavity(np.linspace(-1, 2, 50), np.full(50, 0.1))
    scale = 1.0
    for _ in range(60):
        scale *= likelihood.rescale_choices(cavity.rescale(scale), scale)
    _, slope = likelihood.choice_evidence(cavity, scale)
    assert slope == pytest.approx(0.25 * math.log(scale), abs=1e-4)  # The prior of its logarithm
    assert likelihood.rescale_choices(cavity.rescale(10 * scale), 10 * scale) < 1
    assert likelihood.rescale_choices(cavity.rescale(scale / 10), scale / 10) > 1
    assert model.choice_scale == pytest.approx(1.0, abs=0.6)


def test_rows_in_another_order_give_the_same_model(data: JointData, model: TextModel) -> None:
    rng = np.random.default_rng(2)
    shuffled = []
    for part in (data.ratings, data.choices):
        order = rng.permutation(len(part.answers))
        shuffled.append(replace(part, answers=part.answers[order], items=part.items[order], raters=part.raters[order]))
    assert close(fit_joint_model(*shuffled), model, 1e-6)


def test_exchanged_sides_give_the_same_model(data: JointData, model: TextModel) -> None:
    sign = np.where(np.random.default_rng(3).random(len(data.choices.answers)) < 0.5, -1.0, 1.0)
    exchanged = replace(
        data.choices,
        features=data.choices.features * sign[:, None],
        answers=np.where(sign > 0, data.choices.answers, 1 - data.choices.answers),
    )
    assert close(fit_joint_model(data.ratings, exchanged), model, 1e-6)
    locations = model.locate_choices(data.differences), model.locate_choices(-data.differences)
    shares, exchanged_shares = (part.distributions(np.eye(2, dtype=bool)) for part in locations)
    assert shares == pytest.approx(exchanged_shares[..., ::-1])


def test_choices_of_the_other_response_have_a_small_scale(data: JointData) -> None:
    """What raters call unsafe is what they choose: choices tell nothing of the ratings."""
    opposite = replace(data.choices, answers=1 - data.choices.answers)
    assert (fit_joint_model(data.ratings, opposite).choice_scale or 1) < 0.2


def test_sites_and_cavities_of_scaled_locations_are_scaled() -> None:
    rng = np.random.default_rng(0)
    location, spread = rng.normal(size=5), rng.random(5)
    sites, factor = NormalSites(0.3 * rng.random(5), rng.normal(size=5)), np.array([1, 1, 2, 2, 3.0])
    scaled = Cavity.leave_out(location * factor, spread * factor**2, sites.rescale(factor))
    expected = Cavity.leave_out(location, spread, sites).rescale(factor)
    for numbers, expected_numbers in zip(scaled, expected, strict=True):
        assert numbers == pytest.approx(expected_numbers)
