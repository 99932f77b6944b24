"""Fit of the mean-variance model (distributional preference learning)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind, Vocabulary
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.fit import logistic
from dissensus.preference.fit.linear import (
    FEATURES,
    ChosenSettings,
    build_linear,
    choose_settings,
    fit_temperature,
    inner_folds,
    split_features,
)
from dissensus.preference.fit.logistic import probability
from dissensus.preference.fit.newton import GRADIENT, HessianProduct, dot, minimise, norm
from dissensus.preference.models.encoder import Progress
from dissensus.preference.models.mean_variance import MeanVariance
from dissensus.stats.result import FloatArray
from dissensus.stats.sparse import SparseRows

SPREAD_PENALTIES: Final = (256.0, 64.0, 16.0, 4.0)
"""Penalties on the weights of the spread, as multiples of the penalty on the weights of the mean."""


class ChosenSpread(NamedTuple):
    """Settings of the mean, penalty of the spread, and temperature."""

    mean: ChosenSettings
    penalty: float
    temperature: float

    def to_card(self) -> dict[str, Any]:
        """Return the settings as plain values for the model card."""
        return self.mean.to_card() | {"temperature": self.temperature, "spread_penalty": self.penalty}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpreadHeads:
    r"""Loss of the mean head and the spread head; weights of the mean come first.

    .. math:: P(a \succ b) = \frac{1}{1 + e^{-\eta}}, \qquad
              \eta = \sqrt 2\,\frac{\beta \cdot (x_a - x_b) - m}{\sqrt{e^{2 \gamma \cdot z_a} + e^{2 \gamma \cdot z_b}}}
    """

    differences: SparseRows  # Feature differences of each pair, chosen minus rejected
    answers: SparseRows  # Features of both answers of each pair
    choices: PairChoices
    penalties: tuple[float, float]  # L2 penalties of the mean and of the spread

    def loss(self, weights: FloatArray) -> tuple[float, tuple[FloatArray, FloatArray, FloatArray]]:
        """Return the loss; for each pair its log odds, their slope in the mean, and the share of a in the spread."""
        mean, spread = np.split(weights, [self.differences.width])
        log_spread = 2 * (self.answers @ spread)
        log_total = np.logaddexp(log_spread[0::2], log_spread[1::2])
        scale = np.sqrt(2) * np.exp(-log_total / 2)
        log_odds = scale * (self.differences @ mean - self.choices.margin)
        ridge = self.penalties[0] / 2 * dot(mean, mean) + self.penalties[1] / 2 * dot(spread, spread)
        return float(np.sum(self.choices.loss(log_odds))) + ridge, (
            log_odds,
            scale,
            np.exp(log_spread[0::2] - log_total),
        )

    def differentiate(
        self, weights: FloatArray, intermediate: tuple[FloatArray, FloatArray, FloatArray]
    ) -> tuple[FloatArray, HessianProduct]:
        """Return the gradient and the Gauss–Newton approximation of the Hessian product."""
        log_odds, scale, share = intermediate
        p, pair_weight = probability(log_odds), self.choices.weight
        ridge = np.repeat(self.penalties, [self.differences.width, self.answers.width])
        by_spread = -np.stack([log_odds * share, log_odds * (1 - share)], axis=1)

        def transposed_jacobian(by_odds: FloatArray) -> FloatArray:
            spread = self.answers.transposed_times((by_odds[:, None] * by_spread).ravel())
            return np.concatenate([self.differences.transposed_times(by_odds * scale), spread])

        def jacobian(vector: FloatArray) -> FloatArray:
            mean, spread = np.split(vector, [self.differences.width])
            of_spread = (by_spread * (self.answers @ spread).reshape(-1, 2)).sum(axis=1)
            return np.asarray(scale * (self.differences @ mean) + of_spread)

        curvature = pair_weight * p * (1 - p)
        gradient = ridge * weights + transposed_jacobian(pair_weight * (p - self.choices.share))
        return gradient, lambda vector: ridge * vector + transposed_jacobian(curvature * jacobian(vector))


def fit_heads(heads: SpreadHeads, start: FloatArray) -> FloatArray:
    """Return the weights of both heads at a local minimum; the loss is not convex."""
    tolerance = GRADIENT * norm(heads.differences.transposed_times(heads.choices.weight / 2))
    return minimise(heads, start, tolerance)


def choose_spread(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int,
    progress: Progress | None = None,
) -> ChosenSpread:
    """Choose settings by cross-validation: those of the mean first, without a spread."""
    mean = choose_settings(examples, features=features, seed=seed, progress=progress)
    log_odds = {penalty: np.empty(len(examples.dialogue)) for penalty in SPREAD_PENALTIES}
    for training, held_out, index in inner_folds(examples, seed):
        vocabularies = training.learn_vocabularies(mean.features)
        typical_length, weights = float(training.log_lengths.mean()), None
        held_out_heads = _build_heads(held_out.without_margins(), vocabularies, typical_length, (0.0, 0.0))
        for penalty in SPREAD_PENALTIES:
            weights = _fit_both_heads(training, vocabularies, typical_length, (mean.penalty, penalty), start=weights)
            log_odds[penalty][index] = held_out_heads.loss(weights)[1][0]
    temperatures = {penalty: fit_temperature(log_odds[penalty], examples.choices) for penalty in SPREAD_PENALTIES}
    plain = examples.choices.plain
    losses = {
        penalty: float(plain.loss(log_odds[penalty] / temperatures[penalty]).sum()) for penalty in SPREAD_PENALTIES
    }
    penalty = min(SPREAD_PENALTIES, key=losses.__getitem__)
    return ChosenSpread(mean, penalty, temperatures[penalty])


def fit_spread(
    examples: Examples, settings: ChosenSpread, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> MeanVariance:
    """Fit the mean-variance model to all examples with the chosen settings."""
    vocabularies = examples.learn_vocabularies(settings.mean.features)
    typical_length = float(examples.log_lengths.mean())
    weights = _fit_both_heads(examples, vocabularies, typical_length, (settings.mean.penalty, settings.penalty))
    mean, spread = np.split(weights, 2)
    return MeanVariance(
        mean=build_linear(examples, mean, vocabularies, purpose=purpose, temperature=settings.temperature, card=card),
        spread_weights=split_features(spread, vocabularies),
        spread_length_weight=float(spread[-1]),
        typical_length=typical_length,
    )


def _fit_both_heads(
    examples: Examples,
    vocabularies: dict[Kind, Vocabulary],
    typical_length: float,
    penalties: tuple[float, float],
    *,
    start: FloatArray | None = None,
) -> FloatArray:
    """Fit both heads, by default starting at the linear model with a constant spread."""
    heads = _build_heads(examples, vocabularies, typical_length, (penalties[0], penalties[0] * penalties[1]))
    if start is None:
        mean = logistic.fit_logistic(heads.differences, examples.choices, penalties[0])
        start = np.concatenate([mean, np.zeros(heads.answers.width)])
    return fit_heads(heads, start)


def _build_heads(
    examples: Examples, vocabularies: dict[Kind, Vocabulary], typical_length: float, penalties: tuple[float, float]
) -> SpreadHeads:
    return SpreadHeads(
        differences=examples.differences(vocabularies),
        answers=examples.rows(vocabularies, typical_length),
        choices=examples.choices,
        penalties=penalties,
    )
