"""Agreement within one group: Krippendorff's alpha, Fleiss' kappa, Gwet's AC1."""

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.counts import as_floats, check_counts, count_ratings
from dissensus.stats.distance import Distance, Level, level_name, pairwise, squared_distances
from dissensus.stats.result import Estimate, FloatArray

ONE_CATEGORY = "all pairable ratings gave the same answer, so agreement cannot be told from chance"
NO_PAIR = "no item has two or more ratings"
_BLOCK = 1 << 22


def krippendorff_alpha(
    counts: npt.ArrayLike, *, level: Level | Distance = "nominal", values: npt.ArrayLike | None = None
) -> Estimate:
    r"""Estimate Krippendorff's alpha, agreement corrected for chance with missing data.

    .. math::

        \alpha = 1 - \frac{D_o}{D_e}, \qquad
        D_o = \frac{1}{n}\sum_i \frac{1}{m_i - 1} \sum_{c,k} n_{ic}(n_{ik} - [c = k])\,\delta^2_{ck}, \qquad
        D_e = \frac{1}{n(n-1)} \sum_{c,k} n_c n_k \delta^2_{ck}

    over the pairable items, those with :math:`m_i \ge 2` ratings (Krippendorff 2011, sections C to E).

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).
    level
        Level of measurement: nominal, ordinal, interval or ratio; or a function of two arrays of `values` that
        returns their squared distance elementwise: finite, symmetric, 0 or more, and zero between equal values.
    values
        The number each category stands for, shape (K,); 0 … K-1 by default. Ordinal answers use only their
        order; ratio answers must not be negative.

    Returns
    -------
    Estimate
        `observed` and `expected` are the disagreements :math:`D_o` and :math:`D_e`. Range: 1 for perfect
        agreement, 0 for chance, down to -1 and below for systematic disagreement.

    Raises
    ------
    UndefinedEstimate
        No pairable item, or only one answer used (:math:`D_e = 0`).
    InvalidInput
        Counts, level or values that cannot be used.

    See Also
    --------
    krippendorff_alpha_long : The same for answers on a fine numeric scale.

    Notes
    -----
    Missing answers are absent from the counts; items with fewer than two ratings are dropped and counted in
    `n_dropped`. Ties do not matter.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.

    Examples
    --------
    The first group of the toy example that comes with the GRASP metrics:

    >>> alpha = krippendorff_alpha([[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]])
    >>> round(alpha.estimate, 10), alpha.n_items, alpha.n_dropped
    (0.3636363636, 5, 0)
    """
    table = check_counts(counts)
    pairable = table[count_ratings(table) >= 2]
    marginals = pairable.sum(axis=0)
    n = int(marginals.sum())
    if n == 0:
        raise UndefinedEstimate(f"Krippendorff's alpha is undefined: {NO_PAIR}.")
    if level == "nominal" and values is None:
        observed, expected = _nominal_disagreement(pairable, marginals)
    else:
        squared = squared_distances(level, values, marginals)
        observed = float((_coincidences(pairable) * squared).sum() / n)
        expected = float(marginals @ squared @ marginals / (n * (n - 1)))
    return _alpha(observed, expected, len(pairable), len(table) - len(pairable), n, level)


def krippendorff_alpha_long(
    items: npt.ArrayLike, values: npt.ArrayLike, *, level: Level | Distance = "interval"
) -> Estimate:
    r"""Estimate Krippendorff's alpha from ratings on a fine numeric scale.

    Same estimand and formula as :func:`krippendorff_alpha`. Nominal, ordinal and interval levels take
    :math:`O(N \log N)` time and :math:`O(N)` memory for N ratings however many values are distinct, since the
    interval disagreement is a variance, and the ordinal one the variance of mid-ranks. The ratio level and functions
    compare every pair of distinct values, in blocks of bounded memory, and every pair of ratings of an item.

    Parameters
    ----------
    items
        Item of each rating, shape (N,); any values that sort.
    values
        Number given by each rating, shape (N,); NaN is a missing answer.
    level
        As for :func:`krippendorff_alpha`.

    Returns
    -------
    Estimate
        `observed` and `expected` are disagreements.

    Raises
    ------
    UndefinedEstimate
        No pairable item, or only one value used.
    InvalidInput
        Arrays of different length, values that are infinite, too large to be squared, or negative at the ratio level,
        or a level that cannot be used.

    Notes
    -----
    Missing answers are left out. Items with fewer than two ratings are dropped and counted.

    Examples
    --------
    >>> alpha = krippendorff_alpha_long(["a", "a", "b", "b"], [1.0, 1.5, 8.0, 8.25])
    >>> round(alpha.estimate, 6)
    0.995058
    """
    item, value = _drop_missing(items, values)
    _, code, sizes = np.unique(item, return_inverse=True, return_counts=True)
    value = value[np.argsort(code, kind="stable")][np.repeat(sizes >= 2, sizes)]
    m = sizes[sizes >= 2]
    if m.size == 0:
        raise UndefinedEstimate(f"Krippendorff's alpha is undefined: {NO_PAIR}.")
    if level == "ordinal":
        value = _mid_ranks(value)
    if level in ("ordinal", "interval"):
        observed, expected = _variance_disagreement(value, m)
    elif level == "nominal":
        observed, expected = _nominal_disagreement_long(value, m)
    else:
        observed, expected = _pairwise_disagreement(value, m, level)
    return _alpha(observed, expected, len(m), len(sizes) - len(m), value.size, level)


def fleiss_kappa(counts: npt.ArrayLike) -> Estimate:
    r"""Estimate Fleiss' kappa, nominal agreement when every item has the same number of ratings.

    .. math::

        \kappa = \frac{\bar P - \bar P_e}{1 - \bar P_e}, \qquad
        \bar P = \frac{1}{I}\sum_i \frac{\sum_k n_{ik}^2 - m}{m(m-1)}, \qquad
        \bar P_e = \sum_k p_k^2

    (Fleiss 1971, equations 2 to 7).

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K); all rows with the same sum.

    Returns
    -------
    Estimate
        `observed` and `expected` are the agreements :math:`\bar P` and :math:`\bar P_e`.

    Raises
    ------
    InvalidInput
        Items with different numbers of ratings: use :func:`krippendorff_alpha` or :func:`gwet_ac1`.
    UndefinedEstimate
        Fewer than two ratings an item, or only one answer used.

    Notes
    -----
    Missing ratings are not supported.

    Examples
    --------
    >>> round(float(fleiss_kappa([[3, 0], [1, 2], [0, 3]])), 4)
    0.55
    """
    table = check_counts(counts)
    m = count_ratings(table)
    if np.any(m != m[:1]):
        odd = int(np.flatnonzero(m != m[0])[0])
        raise InvalidInput(
            f"Fleiss' kappa needs the same number of ratings for every item; item 0 has {m[0]} and item {odd} has "
            f"{m[odd]}. krippendorff_alpha and gwet_ac1 allow missing ratings."
        )
    if len(m) == 0 or m[0] < 2:
        raise UndefinedEstimate(f"Fleiss' kappa is undefined: {NO_PAIR}.")
    agreements = (np.einsum("ik,ik->i", table, table) - m) / (m * (m - 1))
    shares = table.sum(axis=0) / m.sum()
    return _kappa("fleiss_kappa", float(agreements.mean()), float(np.square(shares).sum()), len(m), 0, int(m.sum()))


def gwet_ac1(counts: npt.ArrayLike) -> Estimate:
    r"""Estimate Gwet's AC1, nominal agreement that stays stable when one answer is rare.

    .. math::

        \gamma_1 = \frac{p_a - p_e}{1 - p_e}, \qquad
        p_a = \frac{1}{I_2}\sum_{i: m_i \ge 2} \frac{\sum_k n_{ik}(n_{ik}-1)}{m_i(m_i-1)}, \qquad
        p_e = \frac{1}{K-1}\sum_k \pi_k(1-\pi_k), \quad \pi_k = \frac{1}{I_1}\sum_{i: m_i \ge 1}\frac{n_{ik}}{m_i}

    (Gwet 2008, equations 8 and 9, with his treatment of missing ratings).

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K). K is the number of answers that were possible,
        used or not.

    Returns
    -------
    Estimate
        `observed` and `expected` are the agreements :math:`p_a` and :math:`p_e`.

    Raises
    ------
    UndefinedEstimate
        No item with two ratings, or fewer than two possible answers.

    Notes
    -----
    Items with one rating count towards :math:`\pi_k` alone; `n_dropped` counts the items with fewer than two.

    References
    ----------
    Gwet, K. L. (2008). Computing inter-rater reliability and its variance in the presence of high agreement.
    British Journal of Mathematical and Statistical Psychology 61, 29–48.

    Examples
    --------
    >>> round(float(gwet_ac1([[3, 0], [2, 1], [3, 0]])), 4)
    0.7231
    """
    table = check_counts(counts)
    m = count_ratings(table)
    pairable, rated = m >= 2, m >= 1
    if not pairable.any():
        raise UndefinedEstimate(f"AC1 is undefined: {NO_PAIR}.")
    if table.shape[1] < 2:
        raise UndefinedEstimate("AC1 is undefined: it needs at least two possible answers.")
    n, size = table[pairable], m[pairable]
    agreements = (n * (n - 1)).sum(axis=1) / (size * (size - 1))
    shares = (table[rated] / m[rated, None]).mean(axis=0)
    expected = float((shares * (1 - shares)).sum() / (table.shape[1] - 1))
    dropped = int((~pairable).sum())
    return _kappa("gwet_ac1", float(agreements.mean()), expected, len(n), dropped, int(m.sum()))


def _nominal_disagreement(pairable: npt.NDArray[np.int64], marginals: npt.NDArray[np.int64]) -> tuple[float, float]:
    m = count_ratings(pairable)
    n = int(marginals.sum())
    disagreeing = m * m - np.einsum("ik,ik->i", pairable, pairable)
    return float((disagreeing / (m - 1)).sum() / n), _expected_nominal(marginals, n)


def _expected_nominal(marginals: npt.NDArray[np.int64], n: int) -> float:
    # Python integers: the square of the number of ratings overflows 64 bits for billions of them.
    return (n * n - sum(int(c) ** 2 for c in marginals)) / (n * (n - 1))


def _coincidences(pairable: npt.NDArray[np.int64]) -> FloatArray:
    weights = 1.0 / (count_ratings(pairable) - 1)
    weighted = pairable * weights[:, None]
    return np.asarray(weighted.T @ pairable - np.diag(weighted.sum(axis=0)))


def _drop_missing(items: npt.ArrayLike, values: npt.ArrayLike) -> tuple[npt.NDArray[np.generic], FloatArray]:
    item, value = np.asarray(items), as_floats(values, "values")
    if item.ndim != 1 or item.shape != value.shape:
        raise InvalidInput(f"items has shape {item.shape} and values {value.shape}; each rating needs one of each.")
    rated = ~np.isnan(value)
    if np.isinf(value).any():
        raise InvalidInput("values must be finite; a missing answer is NaN.")
    return item[rated], value[rated]


def _mid_ranks(value: FloatArray) -> FloatArray:
    _, code, sizes = np.unique(value, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(sizes) - sizes / 2)[code])


def _variance_disagreement(value: FloatArray, m: npt.NDArray[np.intp]) -> tuple[float, float]:
    # Deviations from item means, not sums of squares: no cancellation when values are large, and 0 when constant.
    n, value = value.size, value - value[0]
    starts = np.cumsum(m) - m
    means = np.add.reduceat(value, starts) / m
    within = np.add.reduceat(np.square(value - np.repeat(means, m)), starts)
    observed = float((2 * m / (m - 1) * within).sum() / n)
    return observed, float(2 * np.square(value - value.mean()).sum() / (n - 1))


def _nominal_disagreement_long(value: FloatArray, m: npt.NDArray[np.intp]) -> tuple[float, float]:
    _, code, marginals = np.unique(value, return_inverse=True, return_counts=True)
    item = np.repeat(np.arange(m.size), m)
    cells, sizes = np.unique(item * len(marginals) + code, return_counts=True)
    agreeing = np.bincount(cells // len(marginals), weights=np.square(sizes))
    return float(((m * m - agreeing) / (m - 1)).sum() / value.size), _expected_nominal(marginals, value.size)


def _pairwise_disagreement(value: FloatArray, m: npt.NDArray[np.intp], level: Level | Distance) -> tuple[float, float]:
    n = value.size
    item, weight = np.repeat(np.arange(m.size), m), np.repeat(1.0 / (m - 1), m)
    observed = 0.0
    for lag in range(1, int(m.max())):
        same = item[lag:] == item[:-lag]
        observed += 2 * float((pairwise(level, value[lag:], value[:-lag]) * weight[lag:] * same).sum())
    points, sizes = np.unique(value, return_counts=True)
    step = max(1, _BLOCK // points.size)
    expected = 0.0
    for low in range(0, points.size, step):
        block = pairwise(level, points[low : low + step, None], points[None, :])
        expected += float(sizes[low : low + step] @ block @ sizes)
    return observed / n, expected / (n * (n - 1))


def _alpha(
    observed: float, expected: float, n_items: int, n_dropped: int, n_ratings: int, level: Level | Distance
) -> Estimate:
    if not np.isfinite(expected):
        raise InvalidInput("The values are too large to be squared; give them in a larger unit.")
    if expected == 0:
        raise UndefinedEstimate(f"Krippendorff's alpha is undefined: {ONE_CATEGORY}.")
    return Estimate(
        estimate=1 - observed / expected,
        method="krippendorff_alpha",
        observed=observed,
        expected=expected,
        level=level_name(level),
        n_items=n_items,
        n_dropped=n_dropped,
        n_ratings=n_ratings,
    )


def _kappa(method: str, observed: float, expected: float, n_items: int, n_dropped: int, n_ratings: int) -> Estimate:
    if expected == 1:
        raise UndefinedEstimate(f"{method} is undefined: {ONE_CATEGORY}.")
    return Estimate(
        estimate=(observed - expected) / (1 - expected),
        method=method,
        observed=observed,
        expected=expected,
        level="nominal",
        n_items=n_items,
        n_dropped=n_dropped,
        n_ratings=n_ratings,
    )
