"""GLAD: abilities of raters and difficulties of items, by a generalised EM algorithm."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dissensus.pipeline.aggregate.crowd_kit import LabelMatrix, LabelModelFit, expect_truth
from dissensus.stats.result import FloatArray, IntArray

# Largest change of a probability, of an ability or of the logarithm of an ease in the last step of a converged fit.
CONVERGED = 1e-6
# Means of the normal priors, of variance 1, on abilities and on logarithms of eases: those of crowd-kit.
PRIOR_MEAN = 1.0
HALVINGS = 30


class Parameters(NamedTuple):
    """Ability of each rater, shape (R,), and logarithm of the ease of each item, shape (I,)."""

    ability: FloatArray
    log_ease: FloatArray


def fit_glad(answers: LabelMatrix, iterations: int, _seed: int) -> LabelModelFit:
    """Fit an ability for each rater and a difficulty for each item; deterministic.

    Each step updates the probabilities, then all abilities, then all eases by a damped Newton step, so the posterior
    density of the parameters never falls.
    """
    n_items, n_raters, n_answers = (int(codes.max()) + 1 for codes in answers)
    parameters = Parameters(np.full(n_raters, PRIOR_MEAN), np.full(n_items, PRIOR_MEAN))
    probability, log_likelihood = _expect(answers, parameters, n_answers)
    converged, step = False, 0
    while not converged and step < iterations:
        step += 1
        updated = _maximise(answers, parameters, probability[answers.item, answers.answer])
        next_probability, log_likelihood = _expect(answers, updated, n_answers)
        changes = (*(new - old for new, old in zip(updated, parameters, strict=True)), next_probability - probability)
        converged = max(float(np.abs(change).max()) for change in changes) < CONVERGED
        parameters, probability = updated, next_probability
    return LabelModelFit(
        probability=probability,
        rater_parameters={"ability": parameters.ability},
        item_parameters={"difficulty": np.exp(-parameters.log_ease)},
        iterations=step,
        converged=converged,
        log_likelihood=log_likelihood,
    )


def _expect(answers: LabelMatrix, parameters: Parameters, n_answers: int) -> tuple[FloatArray, float]:
    """Return the probability of each true answer, shape (I, K), and the log-likelihood."""
    logit = parameters.ability[answers.rater] * np.exp(parameters.log_ease)[answers.item]
    right = -np.logaddexp(0, -logit)
    wrong = right - logit - np.log(n_answers - 1)
    rating = np.where(answers.answer[:, None] == np.arange(n_answers), right[:, None], wrong[:, None])
    return expect_truth(answers.item, np.full(n_answers, -np.log(n_answers)), rating)


def _maximise(answers: LabelMatrix, parameters: Parameters, right: FloatArray) -> Parameters:
    """Raise the expected log posterior density, with the probability of each rating to be right, shape (N,)."""
    ability, log_ease = parameters
    ability = _step(ability, answers.rater, right, np.exp(log_ease)[answers.item], np.asarray, np.ones_like)
    return Parameters(ability, _step(log_ease, answers.item, right, ability[answers.rater], np.exp, np.exp))


def _step(
    values: FloatArray,
    owner: IntArray,
    right: FloatArray,
    factor: FloatArray,
    link: Callable[[FloatArray], FloatArray],
    derivative: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the values after a step of Fisher scoring, halved for each value until its objective does not fall.

    `owner` is the value of each rating. The logit of a rating is its `factor` times the `link` of this value, which has
    the given `derivative`.
    """
    logit, slope = link(values)[owner] * factor, derivative(values)[owner] * factor
    chance = 0.5 * (1 + np.tanh(logit / 2))
    gradient = np.bincount(owner, (right - chance) * slope, len(values)) - (values - PRIOR_MEAN)
    information = np.bincount(owner, chance * (1 - chance) * slope**2, len(values)) + 1
    objective, step = _objective(values, owner, right, logit), gradient / information
    falls = np.ones(len(values), np.bool_)
    for _ in range(HALVINGS):
        # Ratings of values whose objective fell; after the first halving they are few.
        rows = np.flatnonzero(falls[owner])
        logit = link(values + step)[owner[rows]] * factor[rows]
        falls &= _objective(values + step, owner[rows], right[rows], logit) < objective
        if not falls.any():
            return values + step
        step = np.where(falls, step / 2, step)
    return values + np.where(falls, 0.0, step)


def _objective(values: FloatArray, owner: IntArray, right: FloatArray, logit: FloatArray) -> FloatArray:
    """Return the expected log posterior density of each value, up to a constant."""
    expected = -np.logaddexp(0, -logit) - (1 - right) * logit
    return np.bincount(owner, expected, len(values)) - (values - PRIOR_MEAN) ** 2 / 2
