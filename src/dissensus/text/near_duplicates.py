"""Near-duplicate texts by MinHash and Jaccard similarity of shingles."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput

Indices = npt.NDArray[np.intp]
Hashes = npt.NDArray[np.uint64]

MIN_THRESHOLD: Final = 0.5
"""Lowest threshold; below it, two texts differ in more shingles than they share."""

MAX_MINIMA: Final = 128
"""Largest number of minima per text."""

MAX_MISS_RATE: Final = 0.001
"""Bound on the probability of missing a pair at the threshold."""

# Scripts without spaces between words; each of their characters counts as a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio; odd, so multiplication is invertible
# Number of shingles hashed at once; small enough for the processor's cache.
_CHUNK_SIZE = 1 << 15


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """Texts that repeat an earlier one.

    Parameters
    ----------
    first
        Index of the first text of the group of each text; its own index if it repeats none.
    exact
        True for each text that repeats an earlier one and equals the first one of its group, apart from case, white
        space and Unicode normalisation.
    """

    first: Indices
    exact: npt.NDArray[np.bool_]

    @property
    def repeats(self) -> npt.NDArray[np.bool_]:
        """True for each text that repeats an earlier one."""
        return np.asarray(self.first != np.arange(len(self.first)))


def near_duplicates(texts: Sequence[str], *, threshold: float = 0.8, words: int = 3, seed: int = 0) -> Duplicates:
    """Find exact and near duplicates of earlier texts.

    Two texts are near duplicates if the Jaccard similarity of their shingles, runs of `words` words, is at least the
    threshold. Texts connected by a chain of near duplicates are one group. Candidates are found by MinHash with banding
    (Broder 1997; see `banding`) and confirmed by counting shared shingles.

    Parameters
    ----------
    texts
        Texts in any language.
    threshold
        Similarity from which two texts are near duplicates, from 0.5 to 1.
    words
        Length of a shingle. A shorter text is one shingle.
    seed
        Seed of the hash functions of MinHash.

    Returns
    -------
    Duplicates
        The groups do not depend on the order of the texts.

    Raises
    ------
    InvalidInput
        A threshold, length or seed out of range.

    Notes
    -----
    Punctuation matters only for exact duplicates, and texts without words have no near duplicates. In scripts without
    spaces, each character counts as a word. Shingles are compared by 64-bit hashes.

    Examples
    --------
    >>> lock = "How do I pick a lock at night?"
    >>> duplicates = near_duplicates([lock, lock.upper(), "How do I pick a lock at night, Bob?"], threshold=0.8)
    >>> duplicates.first.tolist(), duplicates.exact.tolist()
    ([0, 0, 0], [False, True, False])
    """
    _check_options(threshold, words, seed)
    keys: dict[str, int] = {}
    code = np.array([keys.setdefault(normalise_text(text), len(keys)) for text in texts], dtype=np.intp)
    distinct = ShingledTexts.from_texts(list(keys), words)
    earliest = np.unique(code, return_index=True)[1]
    first = earliest[_find_groups(distinct, threshold, seed)][code]
    return Duplicates(first, (code == code[first]) & (first != np.arange(len(first))))


def banding(threshold: float) -> tuple[int, int]:
    """Return the number of bands, and of minima in each.

    Two texts with Jaccard similarity s agree in one minimum with probability s. They are compared if all minima of
    some band agree, with probability 1 - (1 - s^r)^b for b bands of r minima (Leskovec, Rajaraman and Ullman, Mining of
    Massive Datasets, section 3.4). The number of minima per band is the largest that misses less than `MAX_MISS_RATE`
    of the pairs at the threshold, so that few dissimilar pairs are compared.

    Examples
    --------
    >>> banding(0.8), banding(0.5)
    ((25, 5), (64, 2))
    """
    _check_options(threshold, words=1, seed=0)
    sizes = range(1, MAX_MINIMA + 1)
    rows = max(r for r in sizes if 1 - candidate_probability(threshold, MAX_MINIMA // r, r) < MAX_MISS_RATE)
    return MAX_MINIMA // rows, rows


def candidate_probability(similarity: float, bands: int, rows: int) -> float:
    """Return the probability that banding compares two texts; see `banding`.

    Examples
    --------
    >>> round(candidate_probability(0.8, 25, 5), 5), round(candidate_probability(0.3, 25, 5), 3)
    (0.99995, 0.059)
    """
    return float(1 - (1 - similarity**rows) ** bands)


def normalise_text(text: str) -> str:
    r"""Normalise case, white space and Unicode form.

    Examples
    --------
    >>> normalise_text("Ｈow\n do  I?")
    'how do i?'
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())


def _check_options(threshold: float, words: int, seed: int) -> None:
    if not MIN_THRESHOLD <= threshold <= 1:
        raise InvalidInput(f"threshold is {threshold}; give a similarity from {MIN_THRESHOLD} to 1, such as 0.8.")
    if words < 1:
        raise InvalidInput(f"words is {words}; give the number of words of a shingle, 1 or more, such as 3.")
    if seed < 0:
        raise InvalidInput(f"seed is {seed}; give a whole number, 0 or more.")


@dataclass(frozen=True, slots=True, eq=False)
class ShingledTexts:
    """Sorted distinct shingles of each text, text by text."""

    shingles: Hashes
    starts: Indices  # Start of each text, then the end of the last

    @classmethod
    def from_texts(cls, texts: Sequence[str], words: int) -> "ShingledTexts":
        """Compute the shingles of texts."""
        hashes = _WordHashes()
        sets = [_hash_shingles([hashes[word] for word in _WORD.findall(text) or [text]], words) for text in texts]
        starts = np.cumsum([0, *map(len, sets)], dtype=np.intp)
        return cls(np.concatenate([*sets, np.empty(0, np.uint64)]), starts)

    def find_similar(self, text: int, candidates: Indices, threshold: float) -> Indices:
        """Return the candidates whose Jaccard similarity with a text is at least the threshold."""
        if not len(candidates):
            return candidates
        own, *sets = (self.shingles[self.starts[index] : self.starts[index + 1]] for index in (text, *candidates))
        sizes, shingles = np.array(list(map(len, sets))), np.concatenate(sets)
        is_shared = own[np.minimum(np.searchsorted(own, shingles), len(own) - 1)] == shingles
        n_shared = np.add.reduceat(is_shared, np.cumsum(sizes) - sizes, dtype=np.int64)
        return np.asarray(candidates[n_shared / (len(own) + sizes - n_shared) >= threshold])


class _WordHashes(dict[str, int]):
    """Cache of word hashes, which are the same in each process."""

    def __missing__(self, word: str) -> int:
        digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = int.from_bytes(digest, "big")
        return self[word]


def _hash_shingles(words: Sequence[int], length: int) -> Hashes:
    """Return the sorted distinct hashes of the runs of words; of all words if there are fewer than `length`."""
    hashes, length = np.array(words, np.uint64), min(length, len(words))
    shingles = np.zeros(len(hashes) - length + 1, np.uint64)
    for offset in range(length):
        shingles *= _MULTIPLIER
        shingles += hashes[offset : offset + len(shingles)]
    return np.unique(shingles)


def _find_groups(texts: ShingledTexts, threshold: float, seed: int) -> Indices:
    """Return the index of the first text of the group of each text."""
    bands, rows = banding(threshold)
    links = list(range(len(texts.starts) - 1))
    keys = band_keys(texts, np.random.default_rng(seed), bands, rows)
    for band in range(bands):
        for bucket in _buckets(keys[:, band]):
            _link(texts, keys[:, : band + 1], bucket, links, threshold)
    return np.array([_find_first(links, text) for text in range(len(links))], dtype=np.intp)


def band_keys(texts: ShingledTexts, rng: np.random.Generator, bands: int, rows: int) -> Hashes:
    """Return the hash of the minima of each band, shape (texts, bands)."""
    keys = np.zeros((bands, len(texts.starts) - 1), np.uint64)
    for _ in range(rows):
        keys *= _MULTIPLIER
        keys += _minima(texts, rng, bands)
    return np.ascontiguousarray(keys.T)


def _minima(texts: ShingledTexts, rng: np.random.Generator, count: int) -> Hashes:
    """Return the smallest shingle of each text under `count` random hash functions, shape (count, texts)."""
    factors, shifts = rng.integers(2**64, size=(2, count), dtype=np.uint64)
    minima = np.empty((count, len(texts.starts) - 1), np.uint64)
    for begin, end in _iter_chunks(texts.starts):
        first, last = texts.starts[begin], texts.starts[end]
        shingles, hashed = texts.shingles[first:last], np.empty(last - first, np.uint64)
        for row, (factor, shift) in enumerate(zip(factors | np.uint64(1), shifts, strict=True)):
            np.multiply(shingles, factor, out=hashed)
            hashed += shift
            np.minimum.reduceat(hashed, texts.starts[begin:end] - first, out=minima[row, begin:end])
    return minima


def _iter_chunks(starts: Indices) -> Iterator[tuple[int, int]]:
    """Yield ranges of texts with at most `_CHUNK_SIZE` shingles together, or a single text."""
    begin = 0
    while begin < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[begin] + _CHUNK_SIZE, side="right")) - 1
        yield begin, max(begin + 1, end)
        begin = max(begin + 1, end)


def _buckets(keys: Hashes) -> Iterator[list[int]]:
    """Yield the texts of each key that several texts have, in order."""
    order = np.argsort(keys, kind="stable")
    for bucket in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        if len(bucket) > 1:
            yield bucket.tolist()


def _link(texts: ShingledTexts, keys: Hashes, bucket: list[int], links: list[int], threshold: float) -> None:
    """Link the near duplicates of a bucket, whose texts share the key of the last band.

    Pairs that are already linked, or were compared in an earlier band, are skipped.
    """
    for position, text in enumerate(bucket):
        first = _find_first(links, text)
        unlinked = [other for other in bucket[position + 1 :] if _find_first(links, other) != first]
        if not unlinked:  # a bucket of one group needs a single pass
            return
        candidates = np.array(unlinked)[~(keys[unlinked, :-1] == keys[text, :-1]).any(axis=1)]
        for other in texts.find_similar(text, candidates, threshold).tolist():
            earlier, later = sorted((_find_first(links, text), _find_first(links, other)))
            links[later] = earlier


def _find_first(links: list[int], text: int) -> int:
    """Return the first text of a group (union-find with path halving)."""
    while links[text] != text:
        links[text] = links[links[text]]
        text = links[text]
    return text
