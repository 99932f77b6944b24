"""Terms of texts, weighted by TF-IDF."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

MOST_TERMS: Final = 20_000
"""The most frequent words that are kept."""

MOST_SHARE: Final = 0.5
"""A word in more texts than this share tells little of any of them."""

# letters alone: numbers are often those of a telephone or a house
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’][^\W\d_]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Words of texts, a row each.

    Parameters
    ----------
    names
        The words, the most frequent first.
    values, columns
        Weights and their words, one text after the other.
    ends
        Where each text ends, and 0 before the first, shape (N + 1,).
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    columns: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of known terms in each text."""
        return np.diff(self.ends)


def weighed_terms(texts: Sequence[str], authors: Sequence[int], *, least_authors: int = 2) -> Terms:
    r"""Weigh the words of texts by how often they are there, and how seldom elsewhere.

    .. math:: (1 + \ln f_{tw}) \Bigl(1 + \ln \frac{1 + N}{1 + N_w}\Bigr)

    with f the count of the word in the text, N texts of which :math:`N_w` have it; each row is scaled to length 1.

    Parameters
    ----------
    texts
        Any texts.
    authors
        Who wrote each.
    least_authors
        A word that fewer of them use is left out: what only one writes is often a name or an address.

    Returns
    -------
    Terms
        Words are runs of two letters or more, whatever their case; at most `MOST_TERMS`. Words in more than
        `MOST_SHARE` of the texts are left out. A text without known words has an empty row.

    Examples
    --------
    >>> terms = weighed_terms(["Pick a lock!", "a LOCK", "bake bread 4 me", "bread"], [1, 2, 1, 2])
    >>> terms.names, terms.sizes.tolist()
    (('bread', 'lock'), [1, 1, 1, 1])
    """
    counts = [Counter(map(str.casefold, _WORD.findall(text))) for text in texts]
    names = _kept(counts, authors, least_authors)
    place = {name: column for column, name in enumerate(names)}
    rows = [sorted((place[name], n) for name, n in of.items() if name in place) for of in counts]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column, _ in row], np.int32)
    often = np.array([n for row in rows for _, n in row], np.float64)
    having = np.bincount(columns, minlength=len(names))
    values = (1 + np.log(often)) * (1 + np.log((1 + len(texts)) / (1 + having)))[columns]
    row = np.repeat(np.arange(len(rows)), np.diff(ends))
    length = np.sqrt(np.bincount(row, weights=values**2, minlength=len(rows)))
    return Terms(names, values / length[row], columns, ends.astype(np.int64))


def _kept(counts: Sequence[Counter[str]], authors: Sequence[int], least_authors: int) -> tuple[str, ...]:
    texts: Counter[str] = Counter()
    first: dict[str, int] = {}
    used_by = Counter[str]()
    for of, author in _by_author(counts, authors):
        texts.update(of.keys())
        for name in of:
            if first.get(name) != author:
                first[name] = author
                used_by[name] += 1
    often = [name for name, n in texts.items() if n <= MOST_SHARE * len(counts) and used_by[name] >= least_authors]
    return tuple(sorted(often, key=lambda name: (-texts[name], name))[:MOST_TERMS])


def _by_author(counts: Sequence[Counter[str]], authors: Sequence[int]) -> list[tuple[Counter[str], int]]:
    """Return texts with their authors, all of one author after each other."""
    return sorted(zip(counts, authors, strict=True), key=lambda pair: pair[1])
