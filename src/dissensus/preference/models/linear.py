"""Linear model: Bradley–Terry on n-grams of characters and words, and on length."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.features import Kind, Vocabulary, count_features, log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation
from dissensus.stats.result import FloatArray
from dissensus.stats.sparse import SparseRows

LENGTH_SCALE: Final = 0.3
"""Scale of log length as a feature; below 1, so that the L2 penalty is larger on length than on words."""


class HasLength(Protocol):
    """Model with the length baseline of its training pairs."""

    @property
    def length_alone(self) -> float:
        """Weight of log length in the model by length alone."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Linear:
    """Trained linear model.

    Parameters
    ----------
    purpose
        Purpose of the choices: ``harmless`` or ``helpful``.
    vocabularies
        Features of each kind.
    weights
        Weights of the features of each kind, before the temperature.
    length_weight
        Weight of scaled log length, before the temperature.
    length_alone
        Weight of log length in the model by length alone, for comparison.
    temperature
        Divisor of scores, such that differences of scores are log odds.
    card
        Model card with data, settings, accuracy and limits, as plain values for JSON.

    Examples
    --------
    >>> from dissensus.preference.fit.training import train
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [
    ...     Pair((Turn("human", f"How do I do {thing}?"),), f"Please do not do {thing}.", f"Sure, {thing} is fun.")
    ...     for thing in "abcdefghijklmnopqrstuvwxyz"
    ... ]
    >>> model = train(pairs, purpose="harmless")
    >>> talk = Conversation.from_turns([("human", "And now?"), ("bot", "Sure!"), ("human", "No."), ("bot", "Please.")])
    >>> (sure, please), = model.score([talk])
    >>> bool(sure < please)
    True
    """

    purpose: Purpose
    vocabularies: dict[Kind, Vocabulary]
    weights: dict[Kind, npt.NDArray[np.float32]]
    length_weight: float
    length_alone: float
    temperature: float
    card: dict[str, Any] = field(default_factory=dict)

    def score_answers(self, texts: Sequence[str]) -> FloatArray:
        """Return the score of each answer: the log odds of being chosen over an answer of score 0."""
        total = LENGTH_SCALE * self.length_weight * log_length(texts)
        for kind, rows in self.features_of(texts).items():
            total += rows @ self.weights[kind].astype(np.float64)
        return total / self.temperature

    def features_of(self, texts: Sequence[str]) -> dict[Kind, SparseRows]:
        """Return the features of each kind of each answer."""
        return {kind: vocabulary.weigh(count_features(texts, kind)) for kind, vocabulary in self.vocabularies.items()}

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return the score of each bot turn of each conversation.

        This model scores the answer alone; the turns before it did not improve accuracy (see the documentation).
        """
        return split_turns(transcripts, self.score_answers)

    def margins(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return the margin of each pair: score of the chosen minus score of the rejected answer."""
        scores = self.score_answers(answers(pairs))
        return scores[0::2] - scores[1::2]

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Raise an error if the purpose is not the model's, unless forced.

        Raises
        ------
        NotAllowed
            Unknown purpose, or another than the model's.
        """
        check_purpose(self, purpose, force=force)


def split_turns(
    transcripts: Iterable[Conversation], score_answers: Callable[[Sequence[str]], FloatArray]
) -> list[list[float]]:
    """Return the score of each bot turn of each conversation, by a function that scores answers."""
    answers_by_talk = [[turn.text for turn in talk.turns if turn.speaker == "bot"] for talk in transcripts]
    scores = score_answers([text for texts in answers_by_talk for text in texts]).tolist()
    ends = np.cumsum([0, *map(len, answers_by_talk)]).tolist()
    return [scores[begin:end] for begin, end in pairwise(ends)]


def length_margins(model: HasLength, pairs: Sequence[Pair]) -> FloatArray:
    """Return the margin of each pair by length alone."""
    lengths = log_length(answers(pairs))
    return model.length_alone * (lengths[0::2] - lengths[1::2])


def stack_features(parts: Sequence[SparseRows], lengths: FloatArray) -> SparseRows:
    """Return the features of each kind followed by scaled length."""
    matrix = parts[0]
    for part in parts[1:]:
        matrix = matrix.hstack(part)
    return matrix.hstack(SparseRows.one_column(LENGTH_SCALE * lengths))
