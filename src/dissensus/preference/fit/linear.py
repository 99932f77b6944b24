"""Fit of the linear model, with settings and calibration from held-out dialogues."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind, Vocabulary, log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers, folds
from dissensus.preference.data.sparse import FeatureRows, Floats, Integers
from dissensus.preference.fit import logistic
from dissensus.preference.fit.logistic import PairChoices
from dissensus.preference.models.linear import LENGTH_SCALE, Linear, LinearSettings, stack_features

FEATURES: Final[tuple[tuple[Kind, ...], ...]] = (("characters",), ("words",), ("characters", "words"))
PENALTIES: Final = (4.0, 2.0, 1.0, 0.5)
INNER: Final = 3
"""Folds in which settings are chosen."""

HOTTEST: Final = 20.0
"""Temperature of scores that say nothing."""

Progress = Callable[[float], None]


class ChosenSettings(NamedTuple):
    """Settings with the least log-loss on training dialogues held out, and the temperature that fits these."""

    settings: LinearSettings
    temperature: float

    def told(self) -> dict[str, Any]:
        """Return it as plain values for a card."""
        return asdict(self.settings) | {"length_scale": LENGTH_SCALE, "temperature": self.temperature}


def choose_settings(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int = 0,
    progress: Progress | None = None,
) -> ChosenSettings:
    """Choose settings and temperature by cross-validation."""
    margins = {(kinds, penalty): np.empty(len(examples.dialogue)) for kinds in features for penalty in PENALTIES}
    for number, (others, unknown, here) in enumerate(inner_folds(examples, seed)):
        vocabularies = others.known(tuple(others.counts))
        parts, apart = (some.parts(vocabularies) for some in (others, unknown))
        for step, kinds in enumerate(features):
            rows = stack_features([parts[kind] for kind in kinds], others.lengths)
            rows_apart = stack_features([apart[kind] for kind in kinds], unknown.lengths)
            beta = np.zeros(rows.width)
            for penalty in PENALTIES:
                beta = logistic.fit_logistic(rows, others.choices, penalty, start=beta)
                margins[kinds, penalty][here] = rows_apart @ beta
            if progress is not None:
                progress((number * len(features) + step + 1) / (INNER * len(features)))
    heat = {key: fit_temperature(found, examples.choices) for key, found in margins.items()}
    loss = {key: examples.choices.plain.loss(found / heat[key]).sum() for key, found in margins.items()}
    kinds, penalty = min(loss, key=lambda key: float(loss[key]))
    return ChosenSettings(LinearSettings(features=kinds, penalty=penalty), heat[kinds, penalty])


def inner_folds(
    examples: Examples, seed: int, *, units: Integers | None = None
) -> Iterator[tuple[Examples, Examples, Integers]]:
    """Yield for each of `INNER` folds of dialogues, or other units, all others, the fold, and the places of this."""
    fold = folds(examples.dialogue if units is None else units, INNER, seed=seed + 1)
    for number in range(INNER):
        here = np.flatnonzero(fold == number)
        yield examples.take(np.flatnonzero(fold != number)), examples.take(here), here


def fit_linear(
    examples: Examples, chosen: ChosenSettings, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Linear:
    """Return the model that all examples give with these settings."""
    vocabularies = examples.known(chosen.settings.features)
    beta = logistic.fit_logistic(examples.differences(vocabularies), examples.choices, chosen.settings.penalty)
    return build_linear(examples, beta, vocabularies, purpose=purpose, temperature=chosen.temperature, card=card)


def build_linear(
    examples: Examples,
    beta: Floats,
    vocabularies: dict[Kind, Vocabulary],
    *,
    purpose: Purpose,
    temperature: float,
    card: dict[str, Any] | None = None,
) -> Linear:
    """Return the linear model of weights for features and, the last, length."""
    return Linear(
        purpose=purpose,
        vocabularies=vocabularies,
        weights=split_features(beta, vocabularies),
        length_weight=float(beta[-1]),
        length_alone=fit_slope(examples.lengths, examples.choices),
        temperature=temperature,
        card=card or {},
    )


def split_features(beta: Floats, vocabularies: dict[Kind, Vocabulary]) -> dict[Kind, npt.NDArray[np.float32]]:
    """Return the weights of each kind of features."""
    ends = np.cumsum([0, *(len(known) for known in vocabularies.values())])
    return {kind: beta[ends[k] : ends[k + 1]].astype(np.float32) for k, kind in enumerate(vocabularies)}


def fit_length(pairs: Sequence[Pair]) -> Floats:
    """Return what the length of answers says of pairs, with its one weight fitted to these pairs themselves."""
    lengths = log_length(answers(pairs))
    column = lengths[0::2] - lengths[1::2]
    return column * fit_slope(column, PairChoices.of_first(np.array([pair.weight for pair in pairs])))


def fit_temperature(odds: Floats, choices: PairChoices) -> float:
    """Return by what log odds are to be divided so that they fit what was chosen."""
    return 1 / max(fit_slope(odds, choices), 1 / HOTTEST)


def fit_slope(column: Floats, choices: PairChoices) -> float:
    """Return the weight of a single feature; the little penalty keeps it finite where all pairs agree."""
    return float(logistic.fit_logistic(FeatureRows.one_column(column), choices.plain, 0.01)[0])
