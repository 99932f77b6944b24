"""Features of texts: words of the response and of the conversation before it, and vectors of a frozen encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from dissensus.preference.data.features import Vocabulary, count_features
from dissensus.preference.fit.groups import principal_directions
from dissensus.preference.jury.texts import RatedText
from dissensus.preference.models.encoder import Encoder, Vector
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.sparse import SparseRows

RANK: Final = 200
"""Limit on the principal directions of the words of responses, and of those of contexts."""

MOST_FEATURES: Final = 30_000
"""Limit on the words and pairs of words from which these directions are learned."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WordSpace:
    """Principal directions of the TF-IDF of words and pairs of words."""

    vocabulary: Vocabulary  # Features of two texts in training or more, the most frequent ones if there are many
    directions: Vector  # Shape (features, P)
    centre: Vector  # Mean coordinates of the texts in training, shape (P,)

    @classmethod
    def learn(cls, texts: Sequence[str], rank: int = RANK) -> Self:
        """Learn the words of texts."""
        counts = count_features(texts, "words")
        vocabulary = _choose_features(counts)
        rows = vocabulary.weigh(counts)
        directions = principal_directions(rows, rank)
        centre = _project(rows, directions).mean(axis=0).astype(np.float32)
        return cls(vocabulary=vocabulary, directions=directions, centre=centre)

    def project(self, texts: Sequence[str]) -> FloatArray:
        """Return centred coordinates of texts, shape (texts, P)."""
        return _project(self.vocabulary.weigh(count_features(texts, "words")), self.directions) - self.centre

    def known_share(self, texts: Sequence[str]) -> FloatArray:
        """Return the share of the words and pairs of words of each text that are features; 0 without words.

        Examples
        --------
        >>> space = WordSpace.learn(["no way", "no way out"])
        >>> space.known_share(["no way", "no luck", ""]).round(2).tolist()
        [1.0, 0.33, 0.0]
        """
        return _share_known(count_features(texts, "words"), self.vocabulary)


def known_by_others(texts: Sequence[str]) -> FloatArray:
    """Return the share of the words and pairs of words of each text that would be features without it.

    Examples
    --------
    >>> known_by_others(["no way", "no way", "no luck"]).round(2).tolist()
    [0.33, 0.33, 0.33]
    """
    counts = count_features(texts, "words")
    # Features of two texts besides the text itself
    return _share_known(counts, _choose_features(counts, least=3))


def share_words(texts: Sequence[str], others: Sequence[str]) -> bool:
    """Return True if a word or pair of words is both in one of the texts and in one of the others.

    Examples
    --------
    >>> share_words(["no way"], ["way out"]), share_words(["no way"], ["yes"])
    (True, False)
    """
    words, other_words = (count_features(part, "words").columns for part in (texts, others))
    return bool(np.isin(words, other_words).any())


def _share_known(counts: SparseRows, vocabulary: Vocabulary) -> FloatArray:
    rows = np.repeat(np.arange(len(counts)), np.diff(counts.ends))
    total = np.bincount(rows, minlength=len(counts))
    known = np.bincount(rows, vocabulary.index[counts.columns] >= 0, minlength=len(counts))
    return np.asarray(known / np.maximum(total, 1))


def _choose_features(counts: SparseRows, least: int = 2) -> Vocabulary:
    """Return the features of at least so many texts; the most frequent ones if they are more than `MOST_FEATURES`."""
    vocabulary = Vocabulary.learn(counts)
    frequency = np.bincount(counts.columns, minlength=counts.width)[vocabulary.hashes]
    order = np.argsort(-frequency, kind="stable")[:MOST_FEATURES]
    selected = np.sort(order[frequency[order] >= least])
    return Vocabulary(vocabulary.hashes[selected], vocabulary.idf[selected])


def _project(rows: SparseRows, directions: Vector) -> FloatArray:
    return rows @ directions.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextFeatures:
    """Features of texts in blocks: words of the response, words before it, and vectors of the response."""

    response: WordSpace
    context: WordSpace
    encoder: Encoder | None = None  # Frozen encoder of the response; None without vectors
    centre: Vector  # Mean vector of the responses in training; empty without vectors

    @classmethod
    def learn(
        cls,
        texts: Sequence[RatedText],
        encoder: Encoder | None = None,
        *,
        compared: Sequence[str] = (),
        rank: int = RANK,
    ) -> Self:
        """Learn the features of texts, and of further responses: those that were compared."""
        responses = [*(text.response for text in texts), *compared]
        return cls(
            response=WordSpace.learn(responses, rank),
            context=WordSpace.learn([text.context for text in texts], rank),
            encoder=encoder,
            centre=np.empty(0, np.float32) if encoder is None else encoder.encode(responses).vectors.mean(axis=0),
        )

    @property
    def blocks(self) -> Int64Array:
        """Index of the block of each feature; blocks without features are not counted."""
        blocks = (self.response.centre, self.context.centre, self.centre)
        sizes = [len(block) for block in blocks if len(block)]
        return np.repeat(np.arange(len(sizes)), sizes)

    def project(self, texts: Sequence[RatedText]) -> FloatArray:
        """Return the features of texts, shape (texts, P)."""
        responses = [text.response for text in texts]
        parts = [self.response.project(responses), self.context.project([text.context for text in texts])]
        if self.encoder is not None and texts:
            parts.append((self.encoder.encode(responses).vectors - self.centre).astype(np.float64))
        return np.concatenate(parts, axis=1)

    def known_share(self, texts: Sequence[RatedText]) -> FloatArray:
        """Return the share of each response that is known; see `WordSpace.known_share`."""
        return self.response.known_share([text.response for text in texts])
