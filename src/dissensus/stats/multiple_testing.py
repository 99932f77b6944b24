"""Adjustment of p-values for multiple testing."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.result import FloatArray, none_if_nan


def benjamini_hochberg(p: npt.ArrayLike) -> FloatArray:
    r"""Adjust the p-values of one family for the false discovery rate (Benjamini and Hochberg 1995).

    .. math:: \tilde p_{(i)} = \min_{j \ge i} \min\bigl(1, \tfrac{M}{j}\, p_{(j)}\bigr)

    Parameters
    ----------
    p
        P-values of the family, shape (M,). NaN means no test; it stays NaN and does not count towards M.

    Returns
    -------
    ndarray, shape (M,)
        Adjusted p-values.

    Raises
    ------
    InvalidInput
        Not one-dimensional, or a value outside 0 … 1.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.03, 0.03, nan]
    """

    def correct(ordered: FloatArray) -> FloatArray:
        scaled = ordered * ordered.size / np.arange(1, ordered.size + 1)
        return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])

    return _adjust_known(p, correct)


def holm(p: npt.ArrayLike) -> FloatArray:
    r"""Adjust the p-values of one family for the family-wise error rate, under any dependence (Holm 1979).

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl(1, (M - j + 1)\, p_{(j)}\bigr)

    Parameters
    ----------
    p
        P-values of the family, shape (M,). NaN means no test; it stays NaN and does not count towards M.

    Returns
    -------
    ndarray, shape (M,)
        Adjusted p-values.

    Raises
    ------
    InvalidInput
        Not one-dimensional, or a value outside 0 … 1.

    Examples
    --------
    >>> holm([0.01, 0.02, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    return _adjust_known(p, lambda ordered: np.maximum.accumulate(ordered * np.arange(ordered.size, 0, -1)))


def _adjust_known(p: npt.ArrayLike, correct: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return p-values corrected in ascending order, with those that are NaN left out."""
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1 or (values < 0).any() or (values > 1).any():
        raise InvalidInput("p must be one-dimensional, with numbers from 0 to 1 or NaN.")
    tested = np.flatnonzero(~np.isnan(values))
    order = tested[np.argsort(values[tested], kind="stable")]
    adjusted = np.full(values.shape, np.nan)
    adjusted[order] = np.minimum(1, correct(values[order]))
    return adjusted


def adjust_tests(p: Iterable[float | None], adjust: Callable[[npt.ArrayLike], FloatArray]) -> list[float | None]:
    """Adjust the p-values of one family by `holm` or `benjamini_hochberg`; None means no test.

    Examples
    --------
    >>> adjust_tests([0.01, None, 0.02], holm)
    [0.02, None, 0.02]
    """
    return [none_if_nan(value) for value in adjust(np.array(list(p), dtype=np.float64))]
