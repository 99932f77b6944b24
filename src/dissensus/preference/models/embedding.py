"""Embedding model: linear in words and in the vector of a frozen encoder."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dissensus.preference.data.pairs import Pair, Purpose, answers, last_human_turns
from dissensus.preference.models.encoder import Encoder, Vector, Vectors
from dissensus.preference.models.linear import Linear
from dissensus.preference.models.model import check_purpose
from dissensus.schema.records.conversation import Conversation, Turn
from dissensus.stats.result import FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Embedding:
    """Trained embedding model.

    Parameters
    ----------
    words
        Linear model of n-grams and length.
    weights
        Weights of the components of the answer's vector and, if context is used, of their products with those of the
        last human turn; before the temperature.
    encoder
        Encoder of the vectors.

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
        """Weight of log length in the model by length alone."""
        return self.words.length_alone

    @property
    def crossed(self) -> bool:
        """True if products of the vectors of the answer and of the last human turn are features."""
        return len(self.weights) > self.encoder.dimension

    def score_answers(self, texts: Sequence[str], before: Sequence[str] | None = None) -> FloatArray:
        """Return the score of each answer, given the human turn before it if any."""
        questions = [""] * len(texts) if before is None or not self.crossed else before
        return self._scores(texts, Vectors.from_texts(self.encoder, texts, questions))

    def score(self, transcripts: Iterable[Conversation]) -> list[list[float]]:
        """Return the score of each bot turn of each conversation, given the last human turn before it."""
        exchanges = [_list_exchanges(talk.turns) for talk in transcripts]
        texts, before = ([turn[side] for turns in exchanges for turn in turns] for side in (0, 1))
        scores = self.score_answers(texts, before).tolist()
        return [scores[begin:end] for begin, end in pairwise(np.cumsum([0, *map(len, exchanges)]).tolist())]

    def margins(self, pairs: Sequence[Pair]) -> FloatArray:
        """Return the margin of each pair: score of the chosen minus score of the rejected answer."""
        scores = self.score_answers(answers(pairs), last_human_turns(pairs))
        return scores[0::2] - scores[1::2]

    def margins_by(self, pairs: Sequence[Pair], vectors: Vectors) -> FloatArray:
        """Return the margin of each pair, given the vectors of its answers."""
        scores = self._scores(answers(pairs), vectors)
        return scores[0::2] - scores[1::2]

    def check_purpose(self, purpose: str, *, force: bool = False) -> None:
        """Raise an error if the purpose is not the model's, unless forced; see `model.check_purpose`."""
        check_purpose(self, purpose, force=force)

    def _scores(self, texts: Sequence[str], vectors: Vectors) -> FloatArray:
        vector_scores = vectors.columns(crossed=self.crossed) @ self.weights.astype(np.float64)
        return np.asarray(self.words.score_answers(texts) + vector_scores / self.words.temperature)


def _list_exchanges(turns: Sequence[Turn]) -> list[tuple[str, str]]:
    """Return each bot turn with the last human turn before it."""
    exchanges, before = [], ""
    for turn in turns:
        if turn.speaker == "human":
            before = turn.text
        elif turn.speaker == "bot":
            exchanges.append((turn.text, before))
    return exchanges
