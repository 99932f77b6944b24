"""Concentration of answers within one group: negentropy and plurality size."""

from numbers import Integral
from typing import Literal

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.counts import check_counts, count_ratings
from dissensus.stats.exact import ln_factorials
from dissensus.stats.result import Estimate, FloatArray


def negentropy(
    counts: npt.ArrayLike,
    *,
    correction: Literal["miller-madow"] | None = None,
    rarefy_to: int | None = None,
) -> Estimate:
    r"""Estimate the mean negentropy of the answers to an item.

    .. math:: \frac{1}{I}\sum_i \Bigl[\ln K + \sum_k p_{ik} \ln p_{ik}\Bigr], \qquad p_{ik} = n_{ik} / m_i

    in nats (Prabhakaran et al. 2024, section 3.2).

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K). K is the number of answers that were possible,
        used or not.
    correction
        "miller-madow" subtracts :math:`(\hat K_i - 1) / 2 m_i`, the first-order bias of the plug-in entropy, with
        :math:`\hat K_i` the answers used for the item.
    rarefy_to
        Return the expected negentropy of this many raters, drawn from each item without replacement (exact, by the
        hypergeometric distribution), which makes groups of different size comparable. Items with fewer ratings are
        dropped.

    Returns
    -------
    Estimate
        Range 0 (all answers equally often) to :math:`\ln K` (unanimous); a corrected value may fall below 0.

    Raises
    ------
    UndefinedEstimate
        No item has enough ratings.
    InvalidInput
        Both a correction and a rarefaction, or an unknown correction.

    Notes
    -----
    The estimand of the plug-in value is the negentropy of *this many raters*: it falls as a group grows, because
    few raters look more unanimous than they are. Compare groups of different size with `rarefy_to`. Items without
    ratings are dropped and counted.

    References
    ----------
    Prabhakaran, V. et al. (2024). GRASP: A disagreement analysis framework to assess group associations in
    perspectives. NAACL.
    Miller, G. A. (1955). Note on the bias of information estimates.

    Examples
    --------
    >>> toy = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> round(float(negentropy(toy)), 10)
    0.7167037877
    """
    table = check_counts(counts)
    if correction is not None and rarefy_to is not None:
        raise InvalidInput("Give either a correction or rarefy_to, not both.")
    if correction not in (None, "miller-madow"):
        raise InvalidInput(f"correction is {correction!r}; give 'miller-madow' or None.")
    size: object = rarefy_to
    if size is not None and (not isinstance(size, Integral) or size < 1):
        raise InvalidInput(f"rarefy_to is {rarefy_to}; give a whole number of raters, at least 1.")
    m = count_ratings(table)
    enough = m >= (rarefy_to or 1)
    if not enough.any():
        raise UndefinedEstimate(f"Negentropy is undefined: no item has {rarefy_to or 1} or more ratings.")
    n, m = table[enough], m[enough]
    method = "negentropy"
    if rarefy_to is None:
        entropy = compute_entropies(n / m[:, None])
    else:
        entropy, method = _rarefied_entropy(n, m, rarefy_to), f"negentropy rarefied to {rarefy_to}"
    if correction == "miller-madow":
        entropy, method = entropy + ((n > 0).sum(axis=1) - 1) / (2 * m), "negentropy miller-madow"
    return Estimate(
        estimate=float(np.log(table.shape[1]) - entropy.mean()),
        method=method,
        n_items=len(n),
        n_dropped=int((~enough).sum()),
        n_ratings=int(m.sum()),
    )


def plurality_size(counts: npt.ArrayLike) -> Estimate:
    r"""Estimate the mean share of raters who gave the most frequent answer.

    .. math:: \frac{1}{I}\sum_i \max_k n_{ik} / m_i

    (Prabhakaran et al. 2024, section 3.2).

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K).

    Returns
    -------
    Estimate
        Range 1/K to 1. `ties` counts the items whose most frequent answer is not unique; a tie does not change
        the size.

    Raises
    ------
    UndefinedEstimate
        No item has a rating.

    Notes
    -----
    Like negentropy it depends on the number of raters: small groups look more cohesive. Items without ratings are
    dropped and counted.

    Examples
    --------
    >>> toy = [[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 2, 0], [3, 0, 0]]
    >>> round(plurality_size(toy).estimate, 10), plurality_size(toy).ties
    (0.8, 0)
    """
    table = check_counts(counts)
    m = count_ratings(table)
    rated = m > 0
    if not rated.any():
        raise UndefinedEstimate("Plurality size is undefined: no item has a rating.")
    n, m = table[rated], m[rated]
    top = n.max(axis=1)
    return Estimate(
        estimate=float((top / m).mean()),
        method="plurality_size",
        ties=int(((n == top[:, None]).sum(axis=1) > 1).sum()),
        n_items=len(n),
        n_dropped=int((~rated).sum()),
        n_ratings=int(m.sum()),
    )


def compute_entropies(shares: FloatArray) -> FloatArray:
    """Return the entropy of each soft label in nats, shape (I,)."""
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.abs((shares * logs).sum(axis=1)))


def _rarefied_entropy(n: npt.NDArray[np.int64], m: npt.NDArray[np.int64], size: int) -> FloatArray:
    """Return the expected entropy of `size` ratings drawn without replacement."""
    ln_factorial = ln_factorials(int(m.max()))
    entropy = np.zeros(len(n))
    for x in range(1, size):
        possible = (x <= n) & (size - x <= m[:, None] - n)
        hits, misses = np.where(possible, n, x), np.where(possible, m[:, None] - n, size - x)
        ln_chance = (
            ln_factorial[hits] - ln_factorial[x] - ln_factorial[hits - x]
            + ln_factorial[misses] - ln_factorial[size - x] - ln_factorial[misses - size + x]
            - (ln_factorial[m] - ln_factorial[size] - ln_factorial[m - size])[:, None]
        )  # fmt: skip
        share = x / size
        entropy -= share * np.log(share) * np.where(possible, np.exp(ln_chance), 0).sum(axis=1)
    return entropy
