"""Training examples: pairs as numeric features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.features import Kind, Vocabulary, count_features, log_length
from dissensus.preference.data.pairs import Pair, answers, dialogues, last_human_turns
from dissensus.preference.data.weighting import PairChoices, Weighting
from dissensus.preference.models.encoder import Encoder, Progress, Vectors
from dissensus.preference.models.linear import stack_features
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.sparse import SparseRows

RATER: Final = "rater_id"
"""Axis on which each rater is a group."""

Labels = npt.NDArray[np.object_]
"""Text of each pair, such as a group; None if unknown."""


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Pairs as numeric features."""

    counts: dict[Kind, SparseRows]  # N-gram counts by kind, two rows per pair: chosen, rejected
    log_lengths: FloatArray  # Log lengths of the answers, in the same order
    choices: PairChoices  # Training weight, share and margin of each pair
    dialogue: Int64Array  # Number of each pair's dialogue
    labels: Mapping[str, Labels]  # Group of each pair's rater by axis; None if unknown
    encoder: Encoder | None = None  # Encoder of the vectors
    vectors: Vectors | None = None  # Vectors of the answers, two rows per pair

    @classmethod
    def from_pairs(
        cls,
        pairs: Sequence[Pair],
        weighting: Weighting | None = None,
        encoder: Encoder | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Build examples from pairs, with vectors if there is an encoder."""
        texts = answers(pairs)
        kinds: tuple[Kind, ...] = ("characters", "words")
        counts = {kind: count_features(texts, kind) for kind in kinds}
        choices = (weighting or Weighting()).choices(pairs)
        vectors = (
            None if encoder is None else Vectors.from_texts(encoder, texts, last_human_turns(pairs), progress=progress)
        )
        return cls(counts, log_length(texts), choices, dialogues(pairs), pair_labels(pairs), encoder, vectors)

    @property
    def lengths(self) -> FloatArray:
        """Log length of the chosen answer minus that of the rejected answer."""
        return self.log_lengths[0::2] - self.log_lengths[1::2]

    def take(self, pairs: Int64Array) -> "Examples":
        """Return the examples of these pair indices."""
        rows = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()
        return replace(
            self,
            counts={kind: counts.take(rows) for kind, counts in self.counts.items()},
            log_lengths=self.log_lengths[rows],
            choices=self.choices.take(pairs),
            dialogue=self.dialogue[pairs],
            labels={axis: labels[pairs] for axis, labels in self.labels.items()},
            vectors=None if self.vectors is None else self.vectors.take(rows),
        )

    def without_margins(self) -> "Examples":
        """Return the examples as prediction targets: choices without margins."""
        return replace(self, choices=self.choices.plain)

    def learn_vocabularies(self, kinds: Sequence[Kind]) -> dict[Kind, Vocabulary]:
        """Return the vocabulary of all answers by kind."""
        return {kind: Vocabulary.learn(self.counts[kind]) for kind in kinds}

    def differences_by_kind(self, vocabularies: Mapping[Kind, Vocabulary]) -> dict[Kind, SparseRows]:
        """Return feature differences, chosen minus rejected, by kind."""
        return {kind: vocabulary.weigh(self.counts[kind]).differences() for kind, vocabulary in vocabularies.items()}

    def differences(self, vocabularies: Mapping[Kind, Vocabulary]) -> SparseRows:
        """Return differences of all features, chosen minus rejected."""
        return stack_features(list(self.differences_by_kind(vocabularies).values()), self.lengths)

    def rows(self, vocabularies: Mapping[Kind, Vocabulary], typical_length: float = 0.0) -> SparseRows:
        """Return the features of all answers, with log length centred on a typical one."""
        parts = [vocabulary.weigh(self.counts[kind]) for kind, vocabulary in vocabularies.items()]
        return stack_features(parts, self.log_lengths - typical_length)


def pair_labels(pairs: Sequence[Pair]) -> dict[str, Labels]:
    """Return the group of each pair's rater by axis, with `RATER` last."""
    cells = [pair.cells for pair in pairs]
    axes = sorted({axis for groups in cells for axis in groups})
    labels = {axis: [groups.get(axis) for groups in cells] for axis in axes}
    if any(pair.rater is not None for pair in pairs):
        labels[RATER] = [pair.rater for pair in pairs]
    return {axis: np.array(values, dtype=np.object_) for axis, values in labels.items()}
