"""Fitting of means and spreads (distributional preference learning)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind, Vocabulary
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.data.sparse import FeatureRows, Floats
from dissensus.preference.fit import logistic
from dissensus.preference.fit.linear import (
    FEATURES,
    ChosenSettings,
    Progress,
    build_linear,
    choose_settings,
    fit_temperature,
    inner_folds,
    split_features,
)
from dissensus.preference.fit.logistic import PairChoices, probability
from dissensus.preference.fit.newton import GRADIENT, Curvature, dot, minimise, norm
from dissensus.preference.models.mean_variance import MeanVariance

SPREADS: Final = (256.0, 64.0, 16.0, 4.0)
"""Penalties on the weights of the spread, as multiples of that on the weights of the mean."""


class ChosenSpread(NamedTuple):
    """Settings of the mean, penalty of the spread, and the temperature that fits both."""

    mean: ChosenSettings
    penalty: float
    temperature: float

    def told(self) -> dict[str, Any]:
        """Return it as plain values for a card."""
        return self.mean.told() | {"temperature": self.temperature, "spread_penalty": self.penalty}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpreadHeads:
    r"""The loss of two heads, with weights of the mean before those of the spread.

    .. math:: P(a \succ b) = \frac{1}{1 + e^{-\eta}}, \qquad
              \eta = \sqrt 2\,\frac{\beta \cdot (x_a - x_b) - m}{\sqrt{e^{2 \gamma \cdot z_a} + e^{2 \gamma \cdot z_b}}}
    """

    differences: FeatureRows  # Features of the chosen less those of the rejected answer of each pair
    answers: FeatureRows  # Features of both answers of each pair
    choices: PairChoices  # What each pair counts for
    penalties: tuple[float, float]  # On the squares of the weights of the mean and of the spread

    def loss(self, at: Floats) -> tuple[float, tuple[Floats, Floats, Floats]]:
        """Return the loss; and of each pair its log odds, their slope in the mean, and the share of a in the spread."""
        mean, spread = np.split(at, [self.differences.width])
        log_spread = 2 * (self.answers @ spread)
        both = np.logaddexp(log_spread[0::2], log_spread[1::2])
        scale = np.sqrt(2) * np.exp(-both / 2)
        odds = scale * (self.differences @ mean - self.choices.margin)
        ridge = self.penalties[0] / 2 * dot(mean, mean) + self.penalties[1] / 2 * dot(spread, spread)
        return float(np.sum(self.choices.loss(odds))) + ridge, (odds, scale, np.exp(log_spread[0::2] - both))

    def slope(self, at: Floats, known: tuple[Floats, Floats, Floats]) -> tuple[Floats, Curvature]:
        """Return the gradient, and the curvature without what the bend of the log odds adds (Gauss and Newton)."""
        odds, scale, share = known
        p, weight = probability(odds), self.choices.weight
        ridge = np.repeat(self.penalties, [self.differences.width, self.answers.width])
        by_spread = -np.stack([odds * share, odds * (1 - share)], axis=1)

        def back(by_odds: Floats) -> Floats:
            spread = self.answers.transposed_times((by_odds[:, None] * by_spread).ravel())
            return np.concatenate([self.differences.transposed_times(by_odds * scale), spread])

        def forth(vector: Floats) -> Floats:
            mean, spread = np.split(vector, [self.differences.width])
            of_spread = (by_spread * (self.answers @ spread).reshape(-1, 2)).sum(axis=1)
            return np.asarray(scale * (self.differences @ mean) + of_spread)

        bend = weight * p * (1 - p)
        gradient = ridge * at + back(weight * (p - self.choices.share))
        return gradient, lambda vector: ridge * vector + back(bend * forth(vector))


def fit_heads(heads: SpreadHeads, start: Floats) -> Floats:
    """Return the weights of both heads, going down from a start; the loss is not convex, and this finds a low place."""
    enough = GRADIENT * norm(heads.differences.transposed_times(heads.choices.weight / 2))
    return minimise(heads, start, enough)


def choose_spread(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int = 0,
    progress: Progress | None = None,
) -> ChosenSpread:
    """Choose settings by cross-validation: those of the mean first, as if there were no spread."""
    mean = choose_settings(examples, features=features, seed=seed, progress=progress)
    odds = {penalty: np.empty(len(examples.dialogue)) for penalty in SPREADS}
    for others, unknown, here in inner_folds(examples, seed):
        vocabularies = others.known(mean.settings.features)
        typical, at = float(others.log_lengths.mean()), None
        apart = _heads(unknown.without_margins(), vocabularies, typical, (0.0, 0.0))
        for penalty in SPREADS:
            at = _fitted(others, vocabularies, typical, (mean.settings.penalty, penalty), start=at)
            odds[penalty][here] = apart.loss(at)[1][0]
    heat = {penalty: fit_temperature(found, examples.choices) for penalty, found in odds.items()}
    loss = {penalty: examples.choices.plain.loss(found / heat[penalty]).sum() for penalty, found in odds.items()}
    penalty = min(SPREADS, key=lambda one: float(loss[one]))
    return ChosenSpread(mean, penalty, heat[penalty])


def fit_spread(
    examples: Examples, chosen: ChosenSpread, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> MeanVariance:
    """Return the model that all examples give with these settings."""
    vocabularies = examples.known(chosen.mean.settings.features)
    typical = float(examples.log_lengths.mean())
    at = _fitted(examples, vocabularies, typical, (chosen.mean.settings.penalty, chosen.penalty))
    mean, spread = np.split(at, 2)
    return MeanVariance(
        mean=build_linear(examples, mean, vocabularies, purpose=purpose, temperature=chosen.temperature, card=card),
        spread_weights=split_features(spread, vocabularies),
        spread_length_weight=float(spread[-1]),
        typical_length=typical,
    )


def _fitted(
    examples: Examples,
    vocabularies: dict[Kind, Vocabulary],
    typical: float,
    penalties: tuple[float, float],
    *,
    start: Floats | None = None,
) -> Floats:
    """Fit both heads, from the linear model and a spread that is the same everywhere unless told otherwise."""
    heads = _heads(examples, vocabularies, typical, (penalties[0], penalties[0] * penalties[1]))
    if start is None:
        mean = logistic.fit_logistic(heads.differences, examples.choices, penalties[0])
        start = np.concatenate([mean, np.zeros(heads.answers.width)])
    return fit_heads(heads, start)


def _heads(
    examples: Examples, vocabularies: dict[Kind, Vocabulary], typical: float, penalties: tuple[float, float]
) -> SpreadHeads:
    return SpreadHeads(
        differences=examples.differences(vocabularies),
        answers=examples.rows(vocabularies, typical),
        choices=examples.choices,
        penalties=penalties,
    )
