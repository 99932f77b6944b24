"""Fit of the linear model, with settings and temperature chosen by cross-validation."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind, Vocabulary, log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers, folds
from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.fit import logistic
from dissensus.preference.models.encoder import Progress
from dissensus.preference.models.linear import LENGTH_SCALE, Linear, stack_features
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.sparse import SparseRows

FEATURES: Final[tuple[tuple[Kind, ...], ...]] = (("characters",), ("words",), ("characters", "words"))
"""Candidate combinations of n-gram kinds."""

PENALTIES: Final = (4.0, 2.0, 1.0, 0.5)
"""Candidate L2 penalties, in decreasing order: each fit starts at the weights of the one before."""

INNER_FOLDS: Final = 3
"""Folds of the inner cross-validation that chooses settings."""

MAX_TEMPERATURE: Final = 20.0
"""Largest temperature, which uninformative scores have."""


class ChosenSettings(NamedTuple):
    """Settings with the lowest cross-validated log-loss, and their temperature."""

    features: tuple[Kind, ...]  # Kinds of n-grams
    penalty: float  # L2 penalty on all weights
    temperature: float

    def to_card(self) -> dict[str, Any]:
        """Return the settings as plain values for the model card."""
        return {
            "features": self.features,
            "penalty": self.penalty,
            "length_scale": LENGTH_SCALE,
            "temperature": self.temperature,
        }


def choose_settings(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int,
    progress: Progress | None = None,
) -> ChosenSettings:
    """Choose settings and temperature by cross-validation."""
    margins = {(kinds, penalty): np.empty(len(examples.dialogue)) for kinds in features for penalty in PENALTIES}
    for fold, (training, held_out, index) in enumerate(inner_folds(examples, seed)):
        vocabularies = training.learn_vocabularies(tuple(training.counts))
        parts, held_out_parts = (part.differences_by_kind(vocabularies) for part in (training, held_out))
        for step, kinds in enumerate(features):
            rows = stack_features([parts[kind] for kind in kinds], training.lengths)
            held_out_rows = stack_features([held_out_parts[kind] for kind in kinds], held_out.lengths)
            beta = np.zeros(rows.width)
            for penalty in PENALTIES:
                beta = logistic.fit_logistic(rows, training.choices, penalty, start=beta)
                margins[kinds, penalty][index] = held_out_rows @ beta
            if progress is not None:
                progress((fold * len(features) + step + 1) / (INNER_FOLDS * len(features)))
    temperatures = {key: fit_temperature(log_odds, examples.choices) for key, log_odds in margins.items()}
    losses = {key: examples.choices.plain.loss(values / temperatures[key]).sum() for key, values in margins.items()}
    kinds, penalty = min(losses, key=lambda key: float(losses[key]))
    return ChosenSettings(kinds, penalty, temperatures[kinds, penalty])


def inner_folds(
    examples: Examples,
    seed: int,
    *,
    units: Int64Array | None = None,
    strata: Int64Array | None = None,
    count: int = INNER_FOLDS,
) -> Iterator[tuple[Examples, Examples, Int64Array]]:
    """Yield training examples, held-out examples and held-out indices for each fold of the units."""
    fold = folds(examples.dialogue if units is None else units, count, seed=seed + 1, strata=strata)
    for number in range(count):
        index = np.flatnonzero(fold == number)
        yield examples.take(np.flatnonzero(fold != number)), examples.take(index), index


def fit_linear(
    examples: Examples, settings: ChosenSettings, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Linear:
    """Fit the linear model to all examples with the chosen settings."""
    vocabularies = examples.learn_vocabularies(settings.features)
    beta = logistic.fit_logistic(examples.differences(vocabularies), examples.choices, settings.penalty)
    return build_linear(examples, beta, vocabularies, purpose=purpose, temperature=settings.temperature, card=card)


def build_linear(
    examples: Examples,
    beta: FloatArray,
    vocabularies: dict[Kind, Vocabulary],
    *,
    purpose: Purpose,
    temperature: float,
    card: dict[str, Any] | None = None,
) -> Linear:
    """Build the linear model from its weights; that of length comes last."""
    return Linear(
        purpose=purpose,
        vocabularies=vocabularies,
        weights=split_features(beta, vocabularies),
        length_weight=float(beta[-1]),
        length_alone=fit_slope(examples.lengths, examples.choices),
        temperature=temperature,
        card=card or {},
    )


def split_features(beta: FloatArray, vocabularies: dict[Kind, Vocabulary]) -> dict[Kind, npt.NDArray[np.float32]]:
    """Split weights by kind of feature."""
    ends = np.cumsum([0, *map(len, vocabularies.values())])
    return {kind: beta[ends[k] : ends[k + 1]].astype(np.float32) for k, kind in enumerate(vocabularies)}


def fit_length(pairs: Sequence[Pair]) -> FloatArray:
    """Return margins by length alone, with its weight fitted to these pairs."""
    lengths = log_length(answers(pairs))
    column = lengths[0::2] - lengths[1::2]
    return column * fit_slope(column, PairChoices.unanimous(np.array([pair.weight for pair in pairs])))


def fit_temperature(log_odds: FloatArray, choices: PairChoices) -> float:
    """Return the temperature by which log odds are divided to fit the choices, at most `MAX_TEMPERATURE`."""
    return 1 / max(fit_slope(log_odds, choices), 1 / MAX_TEMPERATURE)


def fit_slope(column: FloatArray, choices: PairChoices) -> float:
    """Return the weight of a single feature; a small penalty keeps it finite if all pairs agree."""
    return float(logistic.fit_logistic(SparseRows.one_column(column), choices.plain, 0.01)[0])
