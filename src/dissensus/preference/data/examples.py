"""Training examples: pairs as numeric features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.features import Kind, Vocabulary, count_features, log_length
from dissensus.preference.data.pairs import Pair, answers, asked, dialogues
from dissensus.preference.data.sparse import FeatureRows, Floats, Integers
from dissensus.preference.data.weighting import Weighting
from dissensus.preference.fit.logistic import PairChoices
from dissensus.preference.models.encoder import Encoder, Progress, Vectors
from dissensus.preference.models.linear import stack_features

RATER: Final = "rater_id"
"""Axis of which each rater is a group of their own."""

Labels = npt.NDArray[np.object_]


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Pairs as numbers."""

    counts: dict[Kind, FeatureRows]  # Runs of each kind, two rows a pair: chosen, rejected
    log_lengths: Floats  # Of both answers of each pair, likewise
    choices: PairChoices  # What each pair counts for
    dialogue: Integers
    who: Mapping[str, Labels]  # By axis the group of the rater of each pair, None where it is not known
    # What made vectors of both answers of each pair, and these; None where there are none
    encoder: Encoder | None = None
    vectors: Vectors | None = None

    @classmethod
    def of(
        cls,
        pairs: Sequence[Pair],
        counting: Weighting | None = None,
        encoder: Encoder | None = None,
        *,
        progress: Progress | None = None,
    ) -> Self:
        """Return pairs as numbers, with vectors where there is an encoder."""
        texts = answers(pairs)
        kinds: tuple[Kind, ...] = ("characters", "words")
        counts = {kind: count_features(texts, kind) for kind in kinds}
        choices = (counting or Weighting()).choices(pairs)
        vectors = None if encoder is None else Vectors.of(encoder, texts, asked(pairs), progress=progress)
        return cls(counts, log_length(texts), choices, dialogues(pairs), pair_labels(pairs), encoder, vectors)

    @property
    def lengths(self) -> Floats:
        """Log length of the chosen less that of the rejected answer."""
        return self.log_lengths[0::2] - self.log_lengths[1::2]

    def take(self, pairs: Integers) -> "Examples":
        """Return some of them."""
        both = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()
        counts = {kind: rows.take(both) for kind, rows in self.counts.items()}
        who = {axis: labels[pairs] for axis, labels in self.who.items()}
        return replace(
            self,
            counts=counts,
            log_lengths=self.log_lengths[both],
            choices=self.choices.take(pairs),
            dialogue=self.dialogue[pairs],
            who=who,
            vectors=None if self.vectors is None else self.vectors.take(both),
        )

    def without_margins(self) -> "Examples":
        """Return them as what is to be foretold: who chose, and not by how much."""
        return replace(self, choices=self.choices.plain)

    def known(self, kinds: Sequence[Kind]) -> dict[Kind, Vocabulary]:
        """Return the vocabulary of all answers."""
        return {kind: Vocabulary.learn(self.counts[kind]) for kind in kinds}

    def parts(self, vocabularies: Mapping[Kind, Vocabulary]) -> dict[Kind, FeatureRows]:
        """Return the features of each kind of the chosen less those of the rejected answer."""
        return {kind: known.weigh(self.counts[kind]).differences() for kind, known in vocabularies.items()}

    def differences(self, vocabularies: Mapping[Kind, Vocabulary]) -> FeatureRows:
        """Return all features of the chosen less those of the rejected answer."""
        return stack_features(list(self.parts(vocabularies).values()), self.lengths)

    def rows(self, vocabularies: Mapping[Kind, Vocabulary], typical: float = 0.0) -> FeatureRows:
        """Return the features of all answers, with log length beside what is typical."""
        parts = [known.weigh(self.counts[kind]) for kind, known in vocabularies.items()]
        return stack_features(parts, self.log_lengths - typical)


def pair_labels(pairs: Sequence[Pair]) -> dict[str, Labels]:
    """Return by axis, `RATER` the last, the group of the rater of each pair."""
    cells = [pair.cells for pair in pairs]
    axes = sorted({axis for one in cells for axis in one})
    who = {axis: [one.get(axis) for one in cells] for axis in axes}
    if any(pair.rater is not None for pair in pairs):
        who[RATER] = [pair.rater for pair in pairs]
    return {axis: np.array(labels, dtype=np.object_) for axis, labels in who.items()}
