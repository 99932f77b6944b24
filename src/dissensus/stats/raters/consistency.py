"""Consistency of raters: equal answers to items that they rated twice."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.cluster_robust import clustered_share
from dissensus.stats.result import FloatArray, IntArray

SHOWINGS = (1, 2)
"""Numbers of the first and the second showing of an item to a rater."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterConsistency:
    """Equal answers of each rater to repeated items; all arrays have the shape (R,)."""

    n_repeats: IntArray  # Items with an answer at both showings
    n_equal: IntArray  # Those among them with the same answer

    @property
    def share(self) -> FloatArray:
        """Share of equal answers of each rater, NaN without repeats."""
        with np.errstate(invalid="ignore"):
            shares: FloatArray = self.n_equal / np.where(self.n_repeats > 0, self.n_repeats, np.nan)
        return shares


def rater_consistency(
    raters: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, *, n_raters: int
) -> RaterConsistency:
    """Count the equal answers of each rater to items that they rated twice.

    The share of equal answers is not corrected for chance: a rater who always gives one answer is fully consistent.

    Parameters
    ----------
    raters, first, second
        Rater and both answers of each repeated item as codes from 0, shape (N,); a negative answer is missing.
    n_raters
        Number R of raters.

    Raises
    ------
    InvalidInput
        The arrays differ in shape, or a rater is not below `n_raters`.

    Examples
    --------
    >>> result = rater_consistency([0, 0, 1], [2, 1, 0], [2, 0, -1], n_raters=2)
    >>> result.n_repeats.tolist(), result.n_equal.tolist(), result.share.tolist()
    ([2, 0], [1, 0], [0.5, nan])
    """
    rater, a, b = (np.asarray(values, dtype=np.int64) for values in (raters, first, second))
    if not rater.shape == a.shape == b.shape or rater.ndim != 1:
        raise InvalidInput(
            f"raters, first and second have shapes {rater.shape}, {a.shape} and {b.shape}; give one value per item."
        )
    if rater.size and not 0 <= rater.min() <= rater.max() < n_raters:
        raise InvalidInput(f"raters are {rater.min()} to {rater.max()}; allowed are 0 to {n_raters - 1}.")
    answered = (a >= 0) & (b >= 0)
    return RaterConsistency(
        n_repeats=np.bincount(rater[answered], minlength=n_raters),
        n_equal=np.bincount(rater[answered & (a == b)], minlength=n_raters),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RepeatedAnswers:
    """Both answers of raters to items that they saw twice; an entry for each such rater and item.

    Parameters
    ----------
    items, raters
        Item and rater, shape (N,).
    first, second
        Answers on both showings, shape (N,).
    n_single
        Ratings without a counterpart, which are left out.
    """

    items: IntArray
    raters: IntArray
    first: IntArray
    second: IntArray
    n_single: int

    def select(self, rows: npt.NDArray[np.bool_]) -> "RepeatedAnswers":
        """Return some of the entries."""
        return RepeatedAnswers(
            items=self.items[rows],
            raters=self.raters[rows],
            first=self.first[rows],
            second=self.second[rows],
            n_single=self.n_single,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """Consistency of a rater or a group.

    Parameters
    ----------
    estimate
        Share of equal answers on both showings.
    ci_low, ci_high
        Its interval.
    corrected
        The share beyond that of the same rater's answers to different items; None if each rater gave one answer to
        everything.
    n_repeats
        Items answered twice, counted for each rater.
    n_raters, n_items
        Raters and items among them.
    """

    estimate: float
    ci_low: float
    ci_high: float
    corrected: float | None
    n_repeats: int
    n_raters: int
    n_items: int


def match_repeats(
    items: npt.ArrayLike, raters: npt.ArrayLike, answers: npt.ArrayLike, showings: npt.ArrayLike
) -> RepeatedAnswers:
    """Match the answers of each rater to the first and to the second showing of an item.

    Parameters
    ----------
    items, raters, answers
        Item, rater and answer of each rating as codes from 0, shape (N,); a negative answer is missing.
    showings
        1 for the first showing of the item to this rater, 2 for the second, shape (N,).

    Returns
    -------
    RepeatedAnswers
        In the order of raters and items.

    Raises
    ------
    InvalidInput
        Arrays of different length, a showing that is not 1 or 2, or two ratings of one showing.

    Examples
    --------
    Rater 0 saw item 0 twice, and item 1 once:

    >>> repeated = match_repeats([0, 1, 0], [0, 0, 0], [2, 1, 2], [1, 1, 2])
    >>> repeated.first, repeated.second, repeated.n_single
    (array([2]), array([2]), 1)
    """
    item, rater, answer, showing = (np.asarray(array) for array in (items, raters, answers, showings))
    if not item.ndim == 1 or not item.shape == rater.shape == answer.shape == showing.shape:
        raise InvalidInput("Items, raters, answers and showings have to be one-dimensional and of one length.")
    if unknown := sorted({*np.unique(showing).tolist()} - {*SHOWINGS}):
        raise InvalidInput(f"A showing is {unknown[0]}; 1 is the first of an item to a rater, and 2 the second.")
    known = answer >= 0
    item, rater, answer, showing = (array[known].astype(np.int64) for array in (item, rater, answer, showing))
    keys, entry = np.unique(np.stack([rater, item]), axis=1, return_inverse=True)
    both = np.full((len(SHOWINGS), keys.shape[1]), -1)
    entry = entry.reshape(-1)
    if np.unique(2 * entry + showing).size < entry.size:
        raise InvalidInput("A rater rated one showing of an item more than once. Keep one rating of each showing.")
    both[showing - 1, entry] = answer
    twice = (both >= 0).all(axis=0)
    return RepeatedAnswers(
        items=keys[1, twice],
        raters=keys[0, twice],
        first=both[0, twice],
        second=both[1, twice],
        n_single=int((~twice).sum()),
    )


def estimate_consistency(repeated: RepeatedAnswers, *, confidence: float = 0.95) -> Consistency:
    r"""Estimate how often raters repeat their answer to an item.

    .. math::

        c = \frac{1}{N} \sum_r \sum_{i \in I_r} [x_{ri1} = x_{ri2}], \qquad
        c' = 1 - \frac{N (1 - c)}{\sum_r m_r D_r}, \quad
        D_r = 1 - \sum_k \frac{n_{rk} (n_{rk} - 1)}{2 m_r (2 m_r - 1)}

    with :math:`I_r` the :math:`m_r` items that rater r saw twice, N their sum over raters, :math:`n_{rk}` the
    rater's number of answers k on both showings, and :math:`D_r` the disagreement of two answers of one rater at
    random. For a single rater :math:`c'` is Krippendorff's alpha with both showings in place of raters (Krippendorff
    2011). For a group chance is computed within each rater: raters who always give the same answer are consistent and
    say nothing about items, and differences between raters do not count as consistency.

    The interval of :math:`c` is for other raters and other items, clustered by both (`clustered_share`); for one rater
    it is for other items alone.

    Parameters
    ----------
    repeated
        Both answers of one rater, or of the raters of a group.
    confidence
        Confidence level.

    Returns
    -------
    Consistency
        The share is from 0 to 1. The corrected one is at most 1, 0 where answers repeat as often as by chance, and
        below 0 where they repeat less often.

    Raises
    ------
    UndefinedEstimate
        No item was answered twice.

    Notes
    -----
    Answers are equal or not, whatever their level of measurement, and missing ones are left out. Consistency is an
    upper bound of what a rater thinks of single items: people also remember their first answer.

    Examples
    --------
    Two raters repeat three answers of four each; the second one says the same to nearly everything:

    >>> items, raters = np.tile([0, 1, 2, 3], 2), np.repeat([0, 1], 4)
    >>> first, second = [0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 1]
    >>> both = match_repeats([*items, *items], [*raters, *raters], [*first, *second], [1] * 8 + [2] * 8)
    >>> of_each = [estimate_consistency(both.select(both.raters == rater)) for rater in (0, 1)]
    >>> [(one.estimate, round(one.corrected, 2)) for one in of_each]
    [(0.75, 0.53), (0.75, 0.0)]
    """
    n = len(repeated.first)
    if not n:
        raise UndefinedEstimate("Consistency is undefined: no item was answered twice by one rater.")
    equal = repeated.first == repeated.second
    share = clustered_share(equal, np.stack([repeated.raters, repeated.items]), confidence=confidence)
    expected = _expect_disagreement(repeated)
    return Consistency(
        estimate=share.estimate,
        ci_low=share.ci_low,
        ci_high=share.ci_high,
        corrected=1 - float((~equal).sum()) / expected if expected > 0 else None,
        n_repeats=n,
        n_raters=np.unique(repeated.raters).size,
        n_items=np.unique(repeated.items).size,
    )


def _expect_disagreement(repeated: RepeatedAnswers) -> float:
    """Return the number of unequal pairs if each rater's answers were paired at random."""
    rater = np.unique(repeated.raters, return_inverse=True)[1]
    counts = np.zeros((int(rater.max()) + 1, int(max(repeated.first.max(), repeated.second.max())) + 1), dtype=np.int64)
    for answers in (repeated.first, repeated.second):
        np.add.at(counts, (rater, answers), 1)
    n = counts.sum(axis=1)
    return float((n / 2 * (1 - (counts * (counts - 1)).sum(axis=1) / (n * (n - 1)))).sum())
