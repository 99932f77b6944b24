"""Fit of the embedding model: word weights and vector weights together."""

from collections.abc import Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from dissensus.preference.data.examples import Examples
from dissensus.preference.data.features import Kind, Vocabulary
from dissensus.preference.data.pairs import Purpose
from dissensus.preference.fit import logistic
from dissensus.preference.fit.linear import (
    FEATURES,
    INNER_FOLDS,
    ChosenSettings,
    build_linear,
    choose_settings,
    fit_temperature,
    inner_folds,
)
from dissensus.preference.models.embedding import Embedding
from dissensus.preference.models.encoder import Encoder, Progress, Vectors
from dissensus.stats.sparse import SparseRows

PENALTIES: Final = (8.0, 4.0, 2.0, 1.0)
"""Candidate L2 penalties, in decreasing order."""


class ChosenEmbedding(NamedTuple):
    """Word features, use of the context, penalty and temperature."""

    words: ChosenSettings
    crossed: bool  # True if the products with the vector of the last human turn are features
    penalty: float
    temperature: float

    def to_card(self) -> dict[str, Any]:
        """Return the settings as plain values for the model card."""
        joint = {"penalty": self.penalty, "temperature": self.temperature, "context": self.crossed}
        return self.words.to_card() | joint


def choose_embedding(
    examples: Examples,
    *,
    features: Sequence[tuple[Kind, ...]] = FEATURES,
    seed: int,
    progress: Progress | None = None,
) -> ChosenEmbedding:
    """Choose word features as for the linear model, then use of the context, penalty and temperature."""
    words = choose_settings(examples, features=features, seed=seed)
    grid = list(product((False, True), PENALTIES))
    margins = {key: np.empty(len(examples.dialogue)) for key in grid}
    for fold, (training, held_out, index) in enumerate(inner_folds(examples, seed)):
        vocabularies = training.learn_vocabularies(words.features)
        for crossed in (False, True):
            rows, held_out_rows = (_differences(part, vocabularies, crossed) for part in (training, held_out))
            beta = np.zeros(rows.width)
            for penalty in PENALTIES:
                beta = logistic.fit_logistic(rows, training.choices, penalty, start=beta)
                margins[crossed, penalty][index] = held_out_rows @ beta
        if progress is not None:
            progress((fold + 1) / INNER_FOLDS)
    temperatures = {key: fit_temperature(log_odds, examples.choices) for key, log_odds in margins.items()}
    losses = {key: float(examples.choices.plain.loss(margins[key] / temperatures[key]).sum()) for key in grid}
    crossed, penalty = min(grid, key=losses.__getitem__)
    return ChosenEmbedding(words, crossed, penalty, temperatures[crossed, penalty])


def fit_embedding(
    examples: Examples, settings: ChosenEmbedding, purpose: Purpose, *, card: dict[str, Any] | None = None
) -> Embedding:
    """Fit the embedding model to all examples with the chosen settings."""
    encoder, vectors = _encoded_answers(examples)
    vocabularies = examples.learn_vocabularies(settings.words.features)
    rows = _differences(examples, vocabularies, settings.crossed)
    beta = logistic.fit_logistic(rows, examples.choices, settings.penalty)
    width = encoder.dimension * (1 + settings.crossed)
    encoder_card = {
        "name": encoder.name,
        "dimension": encoder.dimension,
        "sha256": encoder.sha256,
        "n_answers": len(vectors.cut),
        "n_cut": int(vectors.cut.sum()),
    }
    words = build_linear(
        examples,
        beta[width:],
        vocabularies,
        purpose=purpose,
        temperature=settings.temperature,
        card=None if card is None else card | {"encoder": encoder_card},
    )
    return Embedding(words=words, weights=beta[:width].astype(np.float32), encoder=encoder)


def _differences(examples: Examples, vocabularies: dict[Kind, Vocabulary], crossed: bool) -> SparseRows:
    """Return vector differences, followed by word and length differences."""
    return _encoded_answers(examples)[1].differences(crossed=crossed).hstack(examples.differences(vocabularies))


def _encoded_answers(examples: Examples) -> tuple[Encoder, Vectors]:
    if examples.encoder is None or examples.vectors is None:
        raise ValueError("the examples have no vectors")
    return examples.encoder, examples.vectors
