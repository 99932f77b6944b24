"""Near-duplicate texts: candidates by MinHash, confirmed by shared shingles."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput

Places = npt.NDArray[np.intp]
Hashes = npt.NDArray[np.uint64]

LEAST: Final = 0.5
"""The lowest threshold: below it, two texts differ in more than they share."""

MINIMA: Final = 128
"""Minima that a text is known by, at most."""

MISSED: Final = 0.001
"""How often two texts that are just as similar as the threshold may escape."""

# Scripts that set no spaces between words: there, each character is a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_SHIFT = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no hash is lost; 2^64 over the golden ratio
# Shingles hashed at once: few enough to stay in the processor's cache.
_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """Texts that repeat an earlier one.

    Parameters
    ----------
    first
        For each text the place of the first one of its group, its own if it repeats none.
    exact
        Whether it is the same as that first one but for case, white space and how characters are encoded.
    """

    first: Places
    exact: npt.NDArray[np.bool_]

    @property
    def repeats(self) -> npt.NDArray[np.bool_]:
        """True for each text that repeats an earlier one."""
        return np.asarray(self.first != np.arange(len(self.first)))


def near_duplicates(texts: Sequence[str], *, threshold: float = 0.8, words: int = 3, seed: int = 0) -> Duplicates:
    """Find texts that repeat an earlier one, word for word or nearly.

    Two texts are near duplicates if the Jaccard similarity of their shingles, the runs of so many words, is at least
    the threshold. Texts that a chain of near duplicates joins are one group. Candidates are found by MinHash with
    banding (Broder 1997; see `banding`); what they share is then counted.

    Parameters
    ----------
    texts
        Texts in any language.
    threshold
        Similarity from which two texts are near duplicates, from 0.5 to 1.
    words
        Length of a shingle. A shorter text is one shingle.
    seed
        Of the hash functions of MinHash.

    Returns
    -------
    Duplicates
        The first text of each group is the one to keep. Another order of the texts gives the same groups.

    Raises
    ------
    InvalidInput
        The threshold, the length or the seed is none.

    Notes
    -----
    Punctuation counts for exact duplicates alone, and texts without any word have no near ones. Where a script sets no
    spaces, each character counts as a word. Shingles are compared by hashes of 64 bits.

    Examples
    --------
    >>> lock = "How do I pick a lock at night?"
    >>> found = near_duplicates([lock, lock.upper(), "How do I pick a lock at night, Bob?"], threshold=0.8)
    >>> found.first.tolist(), found.exact.tolist()
    ([0, 0, 0], [False, True, False])
    """
    _check(threshold, words, seed)
    keys: dict[str, int] = {}
    which = np.array([keys.setdefault(normalised(text), len(keys)) for text in texts], dtype=np.intp)
    different = Shingled.of(list(keys), words)
    earliest = np.unique(which, return_index=True)[1]
    first = earliest[_groups(different, threshold, seed)][which]
    return Duplicates(first, (which == which[first]) & (first != np.arange(len(first))))


def banding(threshold: float) -> tuple[int, int]:
    """Return how many bands of how many minima find similar texts.

    Two texts with Jaccard similarity s agree in one minimum with probability s. They are compared if all minima of
    some band agree, with probability 1 - (1 - s^r)^b for b bands of r (Leskovec, Rajaraman and Ullman, Mining of
    Massive Datasets, section 3.4). Rows are as many as may be, so that few others are compared, while less than
    `MISSED` of the pairs at the threshold escape.

    Examples
    --------
    >>> banding(0.8), banding(0.5)
    ((25, 5), (64, 2))
    """
    _check(threshold, 1, 0)
    rows = max(r for r in range(1, MINIMA + 1) if 1 - compared(threshold, MINIMA // r, r) < MISSED)
    return MINIMA // rows, rows


def compared(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that banding compares two texts; see `banding`.

    Examples
    --------
    >>> round(compared(0.8, 25, 5), 5), round(compared(0.3, 25, 5), 3)
    (0.99995, 0.059)
    """
    return float(1 - (1 - similarity**rows) ** bands)


def normalised(text: str) -> str:
    r"""Return a text without what exact duplicates may differ in.

    Examples
    --------
    >>> normalised("Ｈow\n do  I?")
    'how do i?'
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def _check(threshold: float, words: int, seed: int) -> None:
    if not LEAST <= threshold <= 1:
        raise InvalidInput(f"threshold is {threshold}; give a similarity from {LEAST} to 1, such as 0.8.")
    if words < 1:
        raise InvalidInput(f"words is {words}; give how many words make a shingle, 1 or more, such as 3.")
    if seed < 0:
        raise InvalidInput(f"seed is {seed}; give a whole number, 0 or more.")


@dataclass(frozen=True, slots=True, eq=False)
class Shingled:
    """Shingles of texts that all differ, one text after the other, each text's sorted and each once."""

    shingles: Hashes
    starts: Places

    @classmethod
    def of(cls, texts: Sequence[str], words: int) -> "Shingled":
        """Return the shingles of texts."""
        hashes = _Hashes()
        sets = [_shingles([hashes[word] for word in _WORD.findall(text) or [text]], words) for text in texts]
        starts = np.cumsum([0, *map(len, sets)], dtype=np.intp)
        return cls(np.concatenate([*sets, np.empty(0, np.uint64)]), starts)

    def similar(self, one: int, others: Places, threshold: float) -> Places:
        """Return those whose Jaccard similarity with a text is at least the threshold."""
        if not len(others):
            return others
        mine, *theirs = (self.shingles[self.starts[text] : self.starts[text + 1]] for text in (one, *others))
        sizes, every = np.array(list(map(len, theirs))), np.concatenate(theirs)
        found = mine[np.minimum(np.searchsorted(mine, every), len(mine) - 1)] == every
        shared = np.add.reduceat(found, np.cumsum(sizes) - sizes, dtype=np.int64)
        return np.asarray(others[shared / (len(mine) + sizes - shared) >= threshold])


class _Hashes(dict[str, int]):
    """The hash of each word, which is the same in every run."""

    def __missing__(self, word: str) -> int:
        self[word] = found = int.from_bytes(
            blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
        )
        return found


def _shingles(words: Sequence[int], length: int) -> Hashes:
    """Return the hash of each run of words, sorted and each once; of all words where there are fewer."""
    hashes, length = np.array(words, np.uint64), min(length, len(words))
    found = np.zeros(len(hashes) - length + 1, np.uint64)
    for place in range(length):
        found *= _SHIFT
        found += hashes[place : place + len(found)]
    return np.unique(found)


def _groups(texts: Shingled, threshold: float, seed: int) -> Places:
    """Return for each text the first one of its group."""
    bands, rows = banding(threshold)
    links = list(range(len(texts.starts) - 1))
    keys = band_keys(texts, np.random.default_rng(seed), bands, rows)
    for band in range(bands):
        for bucket in _buckets(keys[:, band]):
            _link(texts, keys[:, : band + 1], bucket, links, threshold)
    return np.array([_first(links, text) for text in range(len(links))], dtype=np.intp)


def band_keys(texts: Shingled, rng: np.random.Generator, bands: int, rows: int) -> Hashes:
    """Return the hash of the minima of each band, shape (texts, bands).

    A minimum is the least shingle of a text under a random hash function.
    """
    keys = np.zeros((bands, len(texts.starts) - 1), np.uint64)
    for _ in range(rows):
        keys *= _SHIFT
        keys += _minima(texts, rng, bands)
    return np.ascontiguousarray(keys.T)


def _minima(texts: Shingled, rng: np.random.Generator, count: int) -> Hashes:
    """Return the minima of each text under so many hash functions, shape (count, texts)."""
    factors, shifts = rng.integers(2**64, size=(2, count), dtype=np.uint64)
    found = np.empty((count, len(texts.starts) - 1), np.uint64)
    for begin, end in _stretches(texts.starts):
        first, last = texts.starts[begin], texts.starts[end]
        shingles, hashed = texts.shingles[first:last], np.empty(last - first, np.uint64)
        for row, (factor, shift) in enumerate(zip(factors | np.uint64(1), shifts, strict=True)):
            np.multiply(shingles, factor, out=hashed)
            hashed += shift
            np.minimum.reduceat(hashed, texts.starts[begin:end] - first, out=found[row, begin:end])
    return found


def _stretches(starts: Places) -> Iterator[tuple[int, int]]:
    """Yield stretches of texts that have about `_AT_ONCE` shingles together, and one text at least."""
    begin = 0
    while begin < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[begin] + _AT_ONCE, side="right")) - 1
        yield begin, max(begin + 1, end)
        begin = max(begin + 1, end)


def _buckets(keys: Hashes) -> Iterator[list[int]]:
    """Yield the texts that have one key, in order, where there are several."""
    order = np.argsort(keys, kind="stable")
    for bucket in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(bucket) > 1:
            yield bucket.tolist()


def _link(texts: Shingled, keys: Hashes, bucket: list[int], links: list[int], threshold: float) -> None:
    """Link the near duplicates of a bucket, whose texts have one key in the last of these bands.

    Two texts that others link already need no look, nor two that an earlier band has compared.
    """
    for place, one in enumerate(bucket):
        first = _first(links, one)
        apart = [other for other in bucket[place + 1 :] if _first(links, other) != first]
        if not apart:  # so that a bucket of one group takes one round
            return
        new = np.array(apart)[~(keys[apart, :-1] == keys[one, :-1]).any(axis=1)]
        for other in texts.similar(one, new, threshold).tolist():
            early, late = sorted((_first(links, one), _first(links, other)))
            links[late] = early


def _first(links: list[int], text: int) -> int:
    """Follow the links of a text to the first one of its group, and shorten the way."""
    while links[text] != text:
        links[text] = links[links[text]]
        text = links[text]
    return text
