"""Consistency of raters: equal answers to items that they rated twice."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray, IntArray


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
