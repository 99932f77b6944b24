"""Text features of answers: character and word n-grams, hashed and weighted by TF-IDF."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dissensus.preference.data import kernels
from dissensus.preference.data.sparse import FeatureRows, Floats, Integers

Kind = Literal["characters", "words"]

BITS: Final = 20
"""Features are told apart by so many bits of their hash."""

CHARACTERS: Final = (2, 5)
"""Lengths of the shortest and the longest run of characters."""

WORDS: Final = 2
"""Words of the longest run."""

_AT_ONCE = 2_000
_SHIFT = np.uint64(64 - BITS)
_WORD = re.compile(r"\w+")


class _Hashed(NamedTuple):
    hashes: npt.NDArray[np.uint32]
    ends: Integers


def count_features(texts: Sequence[str], kind: Kind) -> FeatureRows:
    """Count the runs of each text, whatever its case and its white space.

    Examples
    --------
    >>> rows = count_features(["No, no!", "no", ""], "words")
    >>> rows.values.tolist(), rows.ends.tolist()
    ([1.0, 2.0, 1.0], [0, 2, 3, 3])
    """
    hash_some = {"characters": _characters, "words": _words}[kind]
    parts = [_counts(hash_some, texts[begin : begin + _AT_ONCE]) for begin in range(0, len(texts), _AT_ONCE)]
    return FeatureRows.one_after_the_other(parts, 1 << BITS)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The features of one kind that training texts have, and how much each tells."""

    hashes: npt.NDArray[np.int32]  # Hashes of the features, increasing
    idf: npt.NDArray[np.float32]  # Inverse document frequency of each, ln((1 + n) / (1 + df)) + 1
    place: npt.NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        place = np.full(1 << BITS, -1, np.int32)
        place[self.hashes] = np.arange(len(self.hashes), dtype=np.int32)
        object.__setattr__(self, "place", place)

    @classmethod
    def learn(cls, counts: FeatureRows) -> Self:
        """Return the vocabulary of counted texts."""
        frequency = np.bincount(counts.columns, minlength=counts.width)
        hashes = np.flatnonzero(frequency)
        idf = np.log((1 + len(counts)) / (1 + frequency[hashes])) + 1
        return cls(hashes.astype(np.int32), idf.astype(np.float32))

    def __len__(self) -> int:
        return len(self.hashes)

    def weigh(self, counts: FeatureRows) -> FeatureRows:
        """Return (1 + ln count) · idf, each row scaled to length 1; features that training did not have are left out.

        A text of which nothing is known has a row of zeros.
        """
        columns = self.place[counts.columns]
        known = columns >= 0
        columns, ends = columns[known], np.concatenate([[0], np.cumsum(known)])[counts.ends]
        values = (1 + np.log(counts.values[known])) * self.idf[columns]
        row = np.repeat(np.arange(len(counts)), np.diff(ends))
        length = np.sqrt(np.bincount(row, weights=np.square(values, dtype=np.float64), minlength=len(counts)))
        return FeatureRows((values / length[row]).astype(np.float32), columns, ends, len(self.hashes))


def log_length(texts: Sequence[str]) -> Floats:
    """Return ln(1 + characters) of each text."""
    return np.log1p(np.array([len(text) for text in texts], dtype=np.float64))


def _counts(hash_some: Callable[[Sequence[str]], _Hashed], texts: Sequence[str]) -> FeatureRows:
    hashes, ends = hash_some(texts)
    columns, counts = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32)
    filled = kernels.count_runs(hashes, ends, columns, counts)
    return FeatureRows(counts[: filled[-1]], columns[: filled[-1]], filled, 1 << BITS)


def _characters(texts: Sequence[str]) -> _Hashed:
    codes, starts = _codes([text.casefold().split() for text in texts])
    low, high = CHARACTERS
    hashes = np.empty(len(codes) * (high - low + 1), np.uint32)
    return _Hashed(hashes, kernels.hash_characters(codes, starts, low, high, _SHIFT, hashes))


def _words(texts: Sequence[str]) -> _Hashed:
    codes, starts = _codes([_WORD.findall(text.casefold()) for text in texts])
    hashes = np.empty(len(codes) * WORDS, np.uint32)
    return _Hashed(hashes, kernels.hash_words(codes, starts, WORDS, _SHIFT, hashes))


def _codes(texts: Sequence[Sequence[str]]) -> tuple[npt.NDArray[np.uint32], Integers]:
    """Return the code points of texts, one space before, between and after their words, and where each begins."""
    spaced = [f" {' '.join(words)} " if words else "" for words in texts]
    starts = np.cumsum([0, *map(len, spaced)], dtype=np.int64)
    return np.frombuffer("".join(spaced).encode("utf-32-le", "surrogatepass"), np.uint32), starts
