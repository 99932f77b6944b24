"""Joint fit of word weights and embedding weights."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind, Vocabulary
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.data.sparse import FeatureRows
from dissensus.preference.fit import logistic
from dissensus.preference.fit.linear import (
    FEATURES,
    INNER,
    ChosenSettings,
    Progress,
    build_linear,
    choose_settings,
    fit_temperature,
    inner_folds,
)
from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.encoder import Encoder, Vectors

PENALTIES: Final = (8.0, 4.0, 2.0, 1.0)


class ChosenEmbedding(NamedTuple):
    """Kinds of runs, whether context counts, the penalty of all weights, and the temperature that fits them."""

    words: ChosenSettings
    crossed: bool
    penalty: float
    temperature: float

    def told(self) -> dict[str, Any]:
        """Return it as plain values for a card."""
        of_all = {"penalty": self.penalty, "temperature": self.temperature, "context": self.crossed}
        return self.words.told() | of_all


def choose_embedding(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int = 0,
    progress: Progress | None = None,
) -> ChosenEmbedding:
    """Choose kinds of runs as the linear model does, then whether context counts, penalty and temperature."""
    words = choose_settings(examples, features=features, seed=seed)
    grid = list(product((False, True), PENALTIES))
    margins = {key: np.empty(len(examples.dialogue)) for key in grid}
    for number, (others, unknown, here) in enumerate(inner_folds(examples, seed)):
        vocabularies = others.known(words.settings.features)
        for crossed in (False, True):
            rows, apart = (_differences(some, vocabularies, crossed) for some in (others, unknown))
            beta = np.zeros(rows.width)
            for penalty in PENALTIES:
                beta = logistic.fit_logistic(rows, others.choices, penalty, start=beta)
                margins[crossed, penalty][here] = apart @ beta
        if progress is not None:
            progress((number + 1) / INNER)
    heat = {key: fit_temperature(found, examples.choices) for key, found in margins.items()}
    crossed, penalty = min(grid, key=lambda key: float(examples.choices.plain.loss(margins[key] / heat[key]).sum()))
    return ChosenEmbedding(words, crossed, penalty, heat[crossed, penalty])


def fit_embedding(
    examples: Examples, chosen: ChosenEmbedding, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Embedding:
    """Return the model that all examples give with these settings."""
    encoder, vectors = _known(examples)
    vocabularies = examples.known(chosen.words.settings.features)
    rows = _differences(examples, vocabularies, chosen.crossed)
    beta = logistic.fit_logistic(rows, examples.choices, chosen.penalty)
    width = encoder.dimension * (1 + chosen.crossed)
    about = {"name": encoder.name, "dimension": encoder.dimension, "sha256": encoder.sha256}
    told = {"encoder": about | {"n_answers": len(vectors.cut), "n_cut": int(vectors.cut.sum())}}
    words = build_linear(
        examples,
        beta[width:],
        vocabularies,
        purpose=purpose,
        temperature=chosen.temperature,
        card=None if card is None else card | told,
    )
    return Embedding(words=words, weights=beta[:width].astype(np.float32), encoder=encoder)


def _differences(examples: Examples, vocabularies: dict[Kind, Vocabulary], crossed: bool) -> FeatureRows:
    """Return what vectors differ by, then features of runs and length."""
    return _known(examples)[1].differences(crossed=crossed).beside(examples.differences(vocabularies))


def _known(examples: Examples) -> tuple[Encoder, Vectors]:
    if examples.encoder is None or examples.vectors is None:
        raise ValueError("the examples have no vectors")
    return examples.encoder, examples.vectors
