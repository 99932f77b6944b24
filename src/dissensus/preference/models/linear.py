"""The default preference model: a Bradley–Terry model that is linear in runs of characters and words, and in length."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.features import Kind, Vocabulary, count_features, log_length
from dissensus.preference.data.pairs import Pair, Purpose, answers
from dissensus.preference.data.sparse import FeatureRows, Floats
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation

LENGTH_SCALE: Final = 0.3
"""By how much log length is scaled: less than 1, so that length pays more for its weight than words do."""


class HasLength(Protocol):
    """A model that knows what the length of answers alone says."""

    @property
    def length_alone(self) -> float:
        """Weight of log length in a model that knows nothing else."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearSettings:
    """Settings that training selects."""

    features: tuple[Kind, ...]  # Kinds of runs that the model sees
    penalty: float  # On the squares of all weights


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Linear:
    """A trained model.

    Parameters
    ----------
    purpose
        What people chose by: ``harmless`` or ``helpful``.
    vocabularies
        Features of each kind.
    weights
        Of the features of each kind, before the temperature.
    length_weight
        Of scaled log length, before the temperature.
    length_alone
        Weight of log length in a model that knows nothing else, for comparison.
    temperature
        By which scores are divided, so that differences of scores are log odds.
    card
        What the model was made of, and how far it can be trusted: plain values for JSON.

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

    def score_answers(self, texts: Sequence[str]) -> Floats:
        """Return the score of each answer, a log odds of being chosen over an answer whose score is 0."""
        total = LENGTH_SCALE * self.length_weight * log_length(texts)
        for kind, rows in self.features_of(texts).items():
            total += rows @ self.weights[kind].astype(np.float64)
        return total / self.temperature

    def features_of(self, texts: Sequence[str]) -> dict[Kind, FeatureRows]:
        """Return the features of each kind of each answer."""
        return {kind: known.weigh(count_features(texts, kind)) for kind, known in self.vocabularies.items()}

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot, given all before it.

        This model looks at the answer alone, since what came before did not help (see the documentation).
        """
        return split_turns(transcripts, self.score_answers)

    def margins(self, pairs: Sequence[Pair]) -> Floats:
        """Return the score of the chosen less that of the rejected answer of each pair."""
        scores = self.score_answers(answers(pairs))
        return scores[0::2] - scores[1::2]

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Refuse another purpose than the model's, unless forced.

        Raises
        ------
        NotAllowed
            It is another one.
        """
        check_purpose(self, purpose, force=force)


def split_turns(
    transcripts: Iterable[Conversation], score_answers: Callable[[Sequence[str]], Floats]
) -> list[list[float]]:
    """Return for each conversation the score of each turn of the bot, by what scores answers alone."""
    said = [[turn.text for turn in talk.turns if turn.speaker == "bot"] for talk in transcripts]
    scores = score_answers([text for texts in said for text in texts]).tolist()
    ends = np.cumsum([0, *map(len, said)]).tolist()
    return [scores[begin:end] for begin, end in pairwise(ends)]


def length_margins(model: HasLength, pairs: Sequence[Pair]) -> Floats:
    """Return what the length of the answers alone says of each pair."""
    lengths = log_length(answers(pairs))
    return model.length_alone * (lengths[0::2] - lengths[1::2])


def stack_features(parts: Sequence[FeatureRows], lengths: Floats) -> FeatureRows:
    """Return the differences of all features of pairs: those of each kind, then length."""
    matrix = parts[0]
    for part in parts[1:]:
        matrix = matrix.beside(part)
    return matrix.beside(FeatureRows.one_column(LENGTH_SCALE * lengths))
