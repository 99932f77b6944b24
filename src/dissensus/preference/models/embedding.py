"""A preference model that is linear in words and in what a frozen encoder makes of the answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dissensus.preference.data.pairs import Pair, Purpose, answers, asked
from dissensus.preference.data.sparse import Floats
from dissensus.preference.models.encoder import Encoder, Vector, Vectors
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation, Turn


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Embedding:
    """A trained model.

    Parameters
    ----------
    words
        What runs of characters and words, and length, add to a score: a linear model.
    weights
        Of the numbers of an answer's vector, and where context counts of their products with those of the last human
        turn; before the temperature.
    encoder
        What made the vectors.

    Examples
    --------
    >>> from dissensus.preference.models.encoder import EncodedTexts
    >>> from dissensus.preference.fit.training import TrainingPlan, train
    >>> class Polite:
    ...     name, dimension, sha256 = "polite", 2, "0" * 64
    ...     def encode(self, texts):
    ...         polite = np.array(["please" in text for text in texts], dtype=np.float32)
    ...         return EncodedTexts(np.stack([polite, 1 - polite], axis=1), np.zeros(len(texts), dtype=bool))
    >>> pairs = [Pair((Turn("human", f"{n}?"),), f"please {n}", f"no {n}") for n in "abcdefghijklmnop"]
    >>> model = train(pairs, purpose="helpful", plan=TrainingPlan(kind="embedding", encoder=Polite()))
    >>> bool(np.subtract(*model.score_answers(["pleased to", "bored to"])) > 0)
    True
    """

    words: Linear
    weights: Vector
    encoder: Encoder

    @property
    def purpose(self) -> Purpose:
        """Purpose of the choices: helpful or harmless."""
        return self.words.purpose

    @property
    def card(self) -> dict[str, Any]:
        """Model card: data, settings, accuracy and limits."""
        return self.words.card

    @property
    def length_alone(self) -> float:
        """Weight of log length in a model that knows nothing else."""
        return self.words.length_alone

    @property
    def crossed(self) -> bool:
        """True if the last human turn is crossed in."""
        return len(self.weights) > self.encoder.dimension

    def score_answers(self, texts: Sequence[str], before: Sequence[str] | None = None) -> Floats:
        """Return the score of each answer to the human turn before it; without that, of answers to nothing."""
        known = [""] * len(texts) if before is None or not self.crossed else before
        return self._scores(texts, Vectors.of(self.encoder, texts, known))

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return for each conversation the score of each turn of the bot, given the last human turn before it."""
        said = [_said(talk.turns) for talk in transcripts]
        texts, before = ([turn[side] for turns in said for turn in turns] for side in (0, 1))
        scores = self.score_answers(texts, before).tolist()
        return [scores[begin:end] for begin, end in pairwise(np.cumsum([0, *map(len, said)]).tolist())]

    def margins(self, pairs: Sequence[Pair]) -> Floats:
        """Return the score of the chosen less that of the rejected answer of each pair."""
        scores = self.score_answers(answers(pairs), asked(pairs))
        return scores[0::2] - scores[1::2]

    def margins_by(self, pairs: Sequence[Pair], vectors: Vectors) -> Floats:
        """Return the same by vectors that are known."""
        scores = self._scores(answers(pairs), vectors)
        return scores[0::2] - scores[1::2]

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Refuse another purpose than the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _scores(self, texts: Sequence[str], vectors: Vectors) -> Floats:
        of_vectors = vectors.columns(crossed=self.crossed) @ self.weights.astype(np.float64)
        return np.asarray(self.words.score_answers(texts) + of_vectors / self.words.temperature)


def _said(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Return each turn of the bot, and the last human one before it."""
    found, before = [], ""
    for turn in turns:
        if turn.speaker == "human":
            before = turn.text
        else:
            found.append((turn.text, before))
    return found
