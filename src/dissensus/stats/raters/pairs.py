"""Agreement of each pair of raters on the items that both rated."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.result import FloatArray, IntArray

MIN_SHARED = 5
MAX_RATERS = 5_000
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RaterPairAgreement:
    """Agreement of each pair of raters; both arrays are symmetric.

    Parameters
    ----------
    agreement
        Share of the shared items on which two raters gave the same answer, shape (R, R). NaN for pairs with fewer
        than `min_shared` shared items, and on the diagonal.
    n_shared
        Items that both raters of a pair rated, shape (R, R); on the diagonal those of one rater.
    min_shared
        Fewest shared items of a pair whose agreement is given.
    """

    agreement: FloatArray
    n_shared: IntArray
    min_shared: int

    @property
    def n_pairs(self) -> int:
        """Pairs of raters whose agreement is given, each counted once."""
        return int(np.isfinite(self.agreement).sum()) // 2


def rater_pair_agreement(
    items: npt.ArrayLike,
    raters: npt.ArrayLike,
    answers: npt.ArrayLike,
    *,
    min_shared: int = MIN_SHARED,
    n_raters: int | None = None,
) -> RaterPairAgreement:
    r"""Compute the agreement of each pair of raters on the items that both rated.

    .. math::

        a_{rs} = \frac{1}{|I_r \cap I_s|} \sum_{i \in I_r \cap I_s} [x_{ir} = x_{is}]

    with :math:`I_r` the items of rater r. It is not corrected for chance: raters who mostly give one answer agree
    often. Krippendorff's alpha is corrected, and states the agreement of all raters.

    Parameters
    ----------
    items, raters, answers
        Item, rater and answer of each rating as codes from 0, shape (N,); a negative answer is missing. A rater
        rates an item at most once.
    min_shared
        Fewest shared items of a pair; the agreement of others is NaN.
    n_raters
        Number of raters, R; by default the largest code plus one.

    Returns
    -------
    RaterPairAgreement
        Shares from 0 to 1, with a row for each rater, also those without an answer.

    Raises
    ------
    UndefinedEstimate
        No two raters share as many items.
    InvalidInput
        Arrays of different length, codes that are not whole numbers from 0 or not below `n_raters`, two ratings of an
        item by one rater, or more than 5,000 raters.

    Notes
    -----
    Answers are equal or not, whatever their level of measurement. Missing answers are left out, and ties do not
    matter. It takes memory for R² numbers.

    Examples
    --------
    Two raters agree on two of three shared items, and the third shares too few with them:

    >>> pairs = rater_pair_agreement([0, 1, 2, 0, 1, 2, 0], [0, 0, 0, 1, 1, 1, 2], [0, 1, 1, 0, 1, 0, 0], min_shared=2)
    >>> round(float(pairs.agreement[0, 1]), 3), int(pairs.n_shared[0, 1]), pairs.n_pairs
    (0.667, 3, 1)
    """
    if min_shared < 1:
        raise InvalidInput(f"min_shared is {min_shared}, and has to be 1 or more.")
    item, rater, answer = _check_codes(items, raters, answers)
    largest = int(np.max(raters, initial=-1)) + 1
    n_raters = largest if n_raters is None else n_raters
    if largest > n_raters:
        raise InvalidInput(f"The rater code {largest - 1} is outside 0 … {n_raters - 1}.")
    if n_raters > MAX_RATERS:
        raise InvalidInput(f"There are {n_raters:,} raters, and at most {MAX_RATERS:,} can be compared two by two.")
    shared, same = _count_pairs(item, rater, answer, n_raters)
    agreement = np.full((n_raters, n_raters), np.nan)
    np.divide(same, shared, out=agreement, where=shared >= min_shared)
    np.fill_diagonal(agreement, np.nan)
    if not np.isfinite(agreement).any():
        raise UndefinedEstimate(
            f"The agreement of pairs of raters is undefined: no two raters share {min_shared:,} items or more."
        )
    return RaterPairAgreement(agreement=agreement, n_shared=shared, min_shared=min_shared)


def _check_codes(*arrays: npt.ArrayLike) -> tuple[IntArray, IntArray, IntArray]:
    item, rater, answer = (np.asarray(array) for array in arrays)
    if not item.ndim == rater.ndim == answer.ndim == 1 or not item.size == rater.size == answer.size:
        raise InvalidInput("Items, raters and answers have to be one-dimensional and of one length.")
    if item.size and any(array.dtype.kind not in "iu" for array in (item, rater, answer)):
        raise InvalidInput("Items, raters and answers have to be whole numbers, which are codes from 0.")
    item, rater, answer = (array[answer >= 0].astype(np.int64) for array in (item, rater, answer))
    if (item < 0).any() or (rater < 0).any():
        raise InvalidInput("Codes of items and raters have to be 0 or more.")
    item = np.unique(item, return_inverse=True)[1]
    if np.unique(item * (rater.max(initial=0) + 1) + rater).size < item.size:
        raise InvalidInput("A rater rated an item more than once. Keep one rating of each rater and item.")
    return item, rater, answer


def _count_pairs(item: IntArray, rater: IntArray, answer: IntArray, n_raters: int) -> tuple[IntArray, IntArray]:
    """Return the shared items of each two raters, and those with the same answer, in blocks of items."""
    shared = np.zeros((n_raters, n_raters), dtype=np.int64)
    same = np.zeros_like(shared)
    n_items, height = int(item.max(initial=-1)) + 1, max(1, _BLOCK // max(1, n_raters))
    for start in range(0, n_items, height):
        inside = (item >= start) & (item < start + height)
        block = np.full((min(height, n_items - start), n_raters), -1, dtype=np.int64)
        block[item[inside] - start, rater[inside]] = answer[inside]
        shared += _multiply(block >= 0)
        for code in np.unique(answer[inside]):
            same += _multiply(block == code)
    return shared, same


def _multiply(indicator: npt.NDArray[np.bool_]) -> IntArray:
    """Return the number of rows in which both columns of a pair are true; exact, since counts are small integers."""
    numbers = indicator.astype(np.float64)
    return (numbers.T @ numbers).astype(np.int64)
