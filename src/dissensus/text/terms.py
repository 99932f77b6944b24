"""Terms of texts, weighted by TF-IDF."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

MOST_TERMS: Final = 20_000
"""Largest number of words; those in the most texts are used."""

MOST_SHARE: Final = 0.5
"""Largest share of the texts that may contain a word; words in more texts hardly distinguish them."""

# Letters only: numbers are often telephone or house numbers.
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’][^\W\d_]+)?")


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """TF-IDF weights of texts as a sparse matrix in CSR form.

    Parameters
    ----------
    names
        The words, those in the most texts first.
    values, columns
        Weights and their words, text by text.
    ends
        0, then the end of each text, shape (N + 1,).
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    columns: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of terms in each text."""
        return np.diff(self.ends)


def weight_terms(texts: Sequence[str], authors: Sequence[int], *, least_authors: int = 2) -> Terms:
    r"""Weight the words of texts by TF-IDF.

    .. math:: (1 + \ln f_{tw}) \Bigl(1 + \ln \frac{1 + N}{1 + N_w}\Bigr)

    with the count f of the word in the text, and N texts of which :math:`N_w` contain it; rows are scaled to length 1.

    Parameters
    ----------
    texts
        Any texts.
    authors
        Author of each text.
    least_authors
        Words used by fewer authors are left out: words of a single author are often names or addresses.

    Returns
    -------
    Terms
        Words are runs of two letters or more, case-folded; at most `MOST_TERMS`. Words in more than `MOST_SHARE` of the
        texts are left out. A text without any of the words has an empty row.

    Examples
    --------
    >>> terms = weight_terms(["Pick a lock!", "a LOCK", "bake bread 4 me", "bread"], [1, 2, 1, 2])
    >>> terms.names, terms.sizes.tolist()
    (('bread', 'lock'), [1, 1, 1, 1])
    """
    counts = [Counter(map(str.casefold, _WORD.findall(text))) for text in texts]
    names = _select_words(counts, authors, least_authors)
    column_of = {name: column for column, name in enumerate(names)}
    rows = [sorted((column_of[name], n) for name, n in words.items() if name in column_of) for words in counts]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column, _ in row], np.int32)
    term_frequency = np.array([n for row in rows for _, n in row], np.float64)
    text_frequency = np.bincount(columns, minlength=len(names))
    values = (1 + np.log(term_frequency)) * (1 + np.log((1 + len(texts)) / (1 + text_frequency)))[columns]
    row = np.repeat(np.arange(len(rows)), np.diff(ends))
    length = np.sqrt(np.bincount(row, weights=values**2, minlength=len(rows)))
    return Terms(names, values / length[row], columns, ends.astype(np.int64))


def _select_words(counts: Sequence[Counter[str]], authors: Sequence[int], least_authors: int) -> tuple[str, ...]:
    n_texts, n_authors = Counter[str](), Counter[str]()
    last_author: dict[str, int] = {}
    for words, author in sorted(zip(counts, authors, strict=True), key=lambda pair: pair[1]):
        n_texts.update(words.keys())
        for word in words:
            if last_author.get(word) != author:
                last_author[word] = author
                n_authors[word] += 1
    limit = MOST_SHARE * len(counts)
    selected = [word for word, n in n_texts.items() if n <= limit and n_authors[word] >= least_authors]
    return tuple(sorted(selected, key=lambda word: (-n_texts[word], word))[:MOST_TERMS])
