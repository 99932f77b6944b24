"""Item labels at lower replication."""

from dataclasses import dataclass
from math import ceil
from numbers import Integral

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats.counts import check_counts
from dissensus.stats.exact import ln_factorials
from dissensus.stats.result import FloatArray, Int64Array, check_confidence

# Size of the table of probabilities, items × categories × raters, of one block of items.
BLOCK = 1 << 21
# Tolerance for rounding in sums of probabilities.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubsampledLabels:
    """Distribution of the labels of items over all subsamples of their raters.

    Parameters
    ----------
    sd
        Standard deviation of the share of each answer, shape (I, K).
    low, high
        Central interval of the share of each answer, shape (I, K).
    unique_mode
        Probability that an answer is the only most frequent one, shape (I, K).
    tied_mode
        Probability that several answers are tied as the most frequent, shape (I,).
    same_modes
        Probability that the set of most frequent answers is that of all raters, shape (I,).
    distance
        Expected total variation distance between the soft label and that of all raters, shape (I,).
    """

    sd: FloatArray
    low: FloatArray
    high: FloatArray
    unique_mode: FloatArray
    tied_mode: FloatArray
    same_modes: FloatArray
    distance: FloatArray


def subsample_labels(counts: npt.ArrayLike, n_drawn: int, *, confidence: float = 0.95) -> SubsampledLabels:
    r"""Compute the exact distribution of labels over all subsamples of a given number of raters per item.

    Of the :math:`m_i` raters of an item, :math:`d` are drawn without replacement, with the same probability for each
    set of :math:`d` raters. Their answers :math:`x_{i1}, \dots, x_{iK}` are multivariate hypergeometric,

    .. math:: \Pr(x_i) = \prod_k \binom{n_{ik}}{x_{ik}} \Big/ \binom{m_i}{d}

    and their shares :math:`x_{ik} / d` have the mean :math:`p_{ik}` and the variance

    .. math:: \frac{p_{ik} (1 - p_{ik})}{d} \cdot \frac{m_i - d}{m_i - 1}

    (Johnson, Kotz and Balakrishnan 1997, chapter 39).

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).
    n_drawn
        Number of raters drawn for each item, d.
    confidence
        Probability of the interval of a share.

    Returns
    -------
    SubsampledLabels

    Raises
    ------
    InvalidInput
        An item has fewer than `n_drawn` raters, `n_drawn` is below 1, or `confidence` is not between 0 and 1.

    Notes
    -----
    All results are exact; there is no simulation. An interval runs from the smallest share whose cumulative probability
    is at least (1 - confidence) / 2 to the smallest whose cumulative probability is at least (1 + confidence) / 2.
    Answer k is the only most frequent one if it is given t times and each other answer less often,

    .. math:: \Pr = \sum_t \Pr(x_{ik} = t) \Pr(x_{ij} < t \text{ for all } j \ne k \mid x_{ik} = t)

    where the second factor is a coefficient of a product of polynomials, one for each other answer.

    References
    ----------
    Johnson, N. L., Kotz, S. and Balakrishnan, N. (1997). Discrete multivariate distributions. Wiley.

    Examples
    --------
    Two of four raters, three of whom gave the first answer: half of the pairs include the fourth rater.

    >>> labels = subsample_labels([[3, 1]], 2)
    >>> labels.unique_mode, labels.tied_mode, labels.same_modes, labels.distance
    (array([[0.5, 0. ]]), array([0.5]), array([0.5]), array([0.25]))
    """
    table = check_counts(counts)
    _check_arguments(table, n_drawn, confidence)
    # Items with equal counts have the same result, and with few raters most items have equal counts.
    rows, row_number = np.unique(table, axis=0, return_inverse=True)
    blocks = np.array_split(rows, max(1, ceil(table.size * (n_drawn + 1) / BLOCK)))
    parts = [_subsample_block(block, n_drawn, confidence) for block in blocks if len(block)]
    names = SubsampledLabels.__dataclass_fields__
    columns = {name: np.concatenate([getattr(part, name) for part in parts])[row_number.ravel()] for name in names}
    return SubsampledLabels(**columns)


def _check_arguments(table: Int64Array, n_drawn: object, confidence: object) -> None:
    if not isinstance(n_drawn, Integral) or n_drawn < 1:
        raise InvalidInput(f"n_drawn is {n_drawn!r}; draw a whole number of raters, 1 or more.")
    check_confidence(confidence)
    if not len(table):
        raise InvalidInput("counts has no items.")
    short = np.flatnonzero(table.sum(axis=1) < n_drawn)
    if short.size:
        raise InvalidInput(
            f"Item {short[0]} has {table[short[0]].sum()} ratings, so {n_drawn} cannot be drawn without replacement. "
            "Leave such items out."
        )


def _subsample_block(counts: Int64Array, n_drawn: int, confidence: float) -> SubsampledLabels:
    m = counts.sum(axis=1, keepdims=True)
    probability = n_drawn / m
    # Independent binomials given their sum d are multivariate hypergeometric, for any probability; with d/m no factor
    # underflows.
    weight = _binomial_probabilities(counts, probability, n_drawn)
    marginal = weight * _binomial_probabilities(m - counts, probability, n_drawn)[..., ::-1]
    total = marginal.sum(axis=-1)
    marginal /= total[..., None]
    share, drawn_share = counts / m, np.arange(n_drawn + 1) / n_drawn
    low, high = (_marginal_quantile(marginal, tail) / n_drawn for tail in ((1 - confidence) / 2, (1 + confidence) / 2))
    unique_mode = np.stack([_mode_set_weight(weight, [k], n_drawn) for k in range(counts.shape[1])], axis=1) / total
    tied = 1 - unique_mode.sum(axis=1)
    return SubsampledLabels(
        sd=np.sqrt(share * (1 - share) / n_drawn * (m - n_drawn) / np.maximum(m - 1, 1)),
        low=low,
        high=high,
        unique_mode=unique_mode,
        tied_mode=np.where(tied > ROUNDING, tied, 0.0),
        same_modes=_same_modes_weight(counts, weight, n_drawn) / total[:, 0],
        distance=(marginal * np.abs(drawn_share - share[..., None])).sum(axis=(1, 2)) / 2,
    )


def _binomial_probabilities(counts: Int64Array, probability: FloatArray, n_drawn: int) -> FloatArray:
    """Return the probabilities of 0 … d successes in as many trials as the counts, shape (I, K, d + 1)."""
    ln_factorial = ln_factorials(int(counts.max()))
    n, x, p = counts[..., None], np.arange(n_drawn + 1), probability[..., None]
    n_failures = np.maximum(n - x, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ln_failures = np.where(n_failures > 0, n_failures * np.log1p(-p), 0.0)
    ln_choose = ln_factorial[n] - ln_factorial[np.minimum(x, n)] - ln_factorial[n_failures]
    return np.asarray(np.where(x <= n, np.exp(ln_choose + x * np.log(p) + ln_failures), 0.0))


def _marginal_quantile(marginal: FloatArray, tail: float) -> Int64Array:
    return np.asarray((marginal.cumsum(axis=-1) >= tail - ROUNDING).argmax(axis=-1))


def _same_modes_weight(counts: Int64Array, weight: FloatArray, n_drawn: int) -> FloatArray:
    """Return the weight of the draws whose most frequent answers are those of all raters, shape (I,)."""
    same = np.empty(len(counts))
    sets, set_number = np.unique(counts == counts.max(axis=1, keepdims=True), axis=0, return_inverse=True)
    for s, members in enumerate(sets):
        items = set_number.ravel() == s
        same[items] = _mode_set_weight(weight[items], np.flatnonzero(members).tolist(), n_drawn)
    return same


def _mode_set_weight(weight: FloatArray, top: list[int], n_drawn: int) -> FloatArray:
    """Return the weight of the draws whose set of most frequent answers is `top`, shape (I,)."""
    other_answers = [k for k in range(weight.shape[1]) if k not in top]
    result = np.zeros(len(weight))
    for t in range(1, n_drawn // len(top) + 1):
        fewer = [weight[:, k, :t] for k in other_answers]
        result += weight[:, top, t].prod(axis=1) * _extract_coefficient(fewer, n_drawn - t * len(top))
    return result


def _extract_coefficient(polynomials: list[FloatArray], power: int) -> FloatArray | float:
    """Return one coefficient of a product of polynomials, given by columns of coefficients."""
    if not polynomials:
        return float(power == 0)
    *factors, last = polynomials
    product = np.ones((len(last), 1))
    for factor in factors:
        product = _multiply_polynomials(product, factor, power)
    powers = range(max(0, power - product.shape[1] + 1), min(power, last.shape[1] - 1) + 1)
    return sum((last[:, c] * product[:, power - c] for c in powers), np.zeros(len(last)))


def _multiply_polynomials(a: FloatArray, b: FloatArray, power: int) -> FloatArray:
    """Return the coefficients of a product of polynomials, up to a power."""
    product = np.zeros((len(a), min(a.shape[1] + b.shape[1] - 1, power + 1)))
    for c in range(min(b.shape[1], product.shape[1])):
        target = product[:, c : c + a.shape[1]]
        target += a[:, : target.shape[1]] * b[:, c : c + 1]
    return product
