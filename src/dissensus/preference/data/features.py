"""Text features of answers: character and word n-grams, hashed and weighted by TF-IDF."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dissensus.preference.data import kernels
from dissensus.stats.result import FloatArray, Int32Array, Int64Array
from dissensus.stats.sparse import SparseRows

Kind = Literal["characters", "words"]

BITS: Final = 20
"""Bits of a feature hash."""

CHARACTERS: Final = (2, 5)
"""Shortest and longest character n-gram."""

WORDS: Final = 2
"""Longest word n-gram."""

_BATCH_SIZE = 2_000
_SHIFT = np.uint64(64 - BITS)
_WORD = re.compile(r"\w+")


class _HashedNgrams(NamedTuple):
    """Hashes of the n-grams of texts, text by text, and the end index of each text."""

    hashes: npt.NDArray[np.uint32]
    ends: Int64Array


def count_features(texts: Sequence[str], kind: Kind) -> SparseRows:
    """Count the n-grams of each text, ignoring case and white space.

    Examples
    --------
    >>> rows = count_features(["No, no!", "no", ""], "words")
    >>> rows.values.tolist(), rows.ends.tolist()
    ([1.0, 2.0, 1.0], [0, 2, 3, 3])
    """
    hash_ngrams = {"characters": _hash_characters, "words": _hash_words}[kind]
    parts = [
        _count_batch(hash_ngrams, texts[begin : begin + _BATCH_SIZE]) for begin in range(0, len(texts), _BATCH_SIZE)
    ]
    return SparseRows.concatenate(parts, 1 << BITS)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Features of one kind that occur in training texts, with their inverse document frequencies."""

    hashes: Int32Array  # Feature hashes, increasing
    idf: npt.NDArray[np.float32]  # Inverse document frequency of each, ln((1 + n) / (1 + df)) + 1
    index: Int32Array = field(init=False, repr=False)  # Feature index by hash; -1 if not in training

    def __post_init__(self) -> None:
        index = np.full(1 << BITS, -1, np.int32)
        index[self.hashes] = np.arange(len(self.hashes), dtype=np.int32)
        object.__setattr__(self, "index", index)

    @classmethod
    def learn(cls, counts: SparseRows) -> Self:
        """Build the vocabulary of counted texts."""
        frequency = np.bincount(counts.columns, minlength=counts.width)
        hashes = np.flatnonzero(frequency)
        idf = np.log((1 + len(counts)) / (1 + frequency[hashes])) + 1
        return cls(hashes.astype(np.int32), idf.astype(np.float32))

    def __len__(self) -> int:
        return len(self.hashes)

    def weigh(self, counts: SparseRows) -> SparseRows:
        """Return (1 + ln count) · idf of known features, each row scaled to length 1, or zeros if none is known."""
        columns = self.index[counts.columns]
        mask = columns >= 0
        columns, ends = columns[mask], np.concatenate([[0], np.cumsum(mask)])[counts.ends]
        values = (1 + np.log(counts.values[mask])) * self.idf[columns]
        row = np.repeat(np.arange(len(counts)), np.diff(ends))
        length = np.sqrt(np.bincount(row, weights=np.square(values, dtype=np.float64), minlength=len(counts)))
        return SparseRows((values / length[row]).astype(np.float32), columns, ends, len(self.hashes))


def log_length(texts: Sequence[str]) -> FloatArray:
    """Return ln(1 + characters) of each text."""
    return np.log1p(np.array([len(text) for text in texts], dtype=np.float64))


def _count_batch(hash_ngrams: Callable[[Sequence[str]], _HashedNgrams], texts: Sequence[str]) -> SparseRows:
    hashes, ends = hash_ngrams(texts)
    columns, counts = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32)
    filled = kernels.count_runs(hashes, ends, columns, counts)
    return SparseRows(counts[: filled[-1]], columns[: filled[-1]], filled, 1 << BITS)


def _hash_characters(texts: Sequence[str]) -> _HashedNgrams:
    codes, starts = _code_points([text.casefold().split() for text in texts])
    low, high = CHARACTERS
    hashes = np.empty(len(codes) * (high - low + 1), np.uint32)
    return _HashedNgrams(hashes, kernels.hash_characters(codes, starts, low, high, _SHIFT, hashes))


def _hash_words(texts: Sequence[str]) -> _HashedNgrams:
    codes, starts = _code_points([_WORD.findall(text.casefold()) for text in texts])
    hashes = np.empty(len(codes) * WORDS, np.uint32)
    return _HashedNgrams(hashes, kernels.hash_words(codes, starts, WORDS, _SHIFT, hashes))


def _code_points(texts: Sequence[Sequence[str]]) -> tuple[npt.NDArray[np.uint32], Int64Array]:
    """Return the code points of texts, with a space before, between and after their words, and their start indices."""
    spaced = [f" {' '.join(words)} " if words else "" for words in texts]
    starts = np.cumsum([0, *map(len, spaced)], dtype=np.int64)
    return np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), np.uint32), starts
