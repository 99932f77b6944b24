"""Exact conditional inference on tables of groups × two outcomes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.counts import as_floats, check_counts
from dissensus.stats.result import FloatArray, IntArray, check_confidence

# Relative tolerance within which probabilities of tables are ties.
TIE = 1e-7
# Largest number of paths through the network at one stage; with more, tables are drawn.
MAX_PATHS = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTest:
    """A test of independence.

    Parameters
    ----------
    p
        P-value, at most 1; 0 only if it underflows, below 1e-308.
    method
        Name of the test, with the way it was computed.
    draws
        Number of tables drawn; None if p is exact.
    """

    p: float
    method: str
    draws: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsRatio:
    """A conditional odds ratio with its exact interval.

    Parameters
    ----------
    estimate
        Conditional maximum-likelihood estimate, from 0 to infinity.
    ci_low, ci_high
        Ends of the interval; 0 or infinity if the table has an empty cell.
    confidence
        Confidence level.
    sample
        The cross-product ratio ad/bc of the table, for comparison.
    """

    estimate: float
    ci_low: float
    ci_high: float
    confidence: float
    sample: float

    def __float__(self) -> float:
        return self.estimate


def freeman_halton(table: npt.ArrayLike, *, draws: int = 99_999, seed: int = 0) -> ExactTest:
    r"""Test the independence of two outcomes and the group; Fisher's exact test for two groups.

    .. math::

        p = \sum_{x:\, P(x) \le P(x_{\mathrm{obs}})} P(x), \qquad
        P(x) = \prod_g \binom{n_g}{x_g} \Big/ \binom{n}{\sum_g x_g}

    over all tables with the margins of the observed one (Freeman and Halton 1951).

    Parameters
    ----------
    table
        Raters of each group with the first and with the second outcome, shape (G, 2).
    draws, seed
        Number and seed of the tables drawn if there are too many to enumerate.

    Returns
    -------
    ExactTest

    Raises
    ------
    UndefinedEstimate
        Fewer than two groups have raters, or all raters have the same outcome: the margins allow only one table.
    InvalidInput
        The table does not hold counts in two columns.

    Notes
    -----
    Tables are the paths of a network whose stages are the groups. Paths that reach the same node with the same
    probability are merged, and a path is resolved as soon as either all or none of its tables are as unlikely as the
    observed one (Mehta and Patel 1983). Probabilities within a relative 1e-7 are ties and count. If there are still too
    many paths, tables are drawn at random with these margins, and :math:`p = (b + 1)/(N + 1)` with b of N tables as
    unlikely as the observed one (Phipson and Smyth 2010); `method` and `draws` report it.

    References
    ----------
    Freeman, G. H. and Halton, J. H. (1951). Note on an exact treatment of contingency. Biometrika 38.
    Mehta, C. R. and Patel, N. R. (1983). A network algorithm for performing Fisher's exact test. JASA 78.

    Examples
    --------
    Raters of DICES-350 removed and kept by its authors, men and women:

    >>> freeman_halton([[14, 47], [5, 57]])
    ExactTest(p=0.02616449..., method="Fisher's exact test", draws=None)
    """
    counts = _select_rated_groups(table)
    sizes, removed = counts.sum(axis=1), counts[:, 0]
    if removed.sum() * 2 > sizes.sum():  # exchange the columns: p is the same, with fewer paths
        removed = sizes - removed
    # Neighbouring groups of equal size give more paths to merge; p does not depend on the order.
    order = np.lexsort((removed, -sizes))
    sizes, removed = sizes[order], removed[order]
    if len(sizes) == 2:
        return ExactTest(p=_pair_p(sizes, removed), method="Fisher's exact test")
    p = _network_p(sizes, removed)
    if p is not None:
        return ExactTest(p=min(p, 1.0), method="Freeman–Halton exact test")
    if draws < 1:
        raise InvalidInput(f"draws is {draws}; there are too many tables to enumerate, so draw at least one.")
    drawn_p = _monte_carlo_p(sizes, removed, draws, seed)
    return ExactTest(p=drawn_p, method=f"Freeman–Halton test on {draws:,} drawn tables", draws=draws)


def odds_ratio(table: npt.ArrayLike, *, confidence: float = 0.95) -> OddsRatio:
    r"""Estimate the odds ratio of a 2 × 2 table given its margins.

    With margins fixed, the first cell has Fisher's noncentral hypergeometric distribution,

    .. math:: P_\psi(x) \propto \binom{n_1}{x} \binom{n_2}{k - x} \psi^x .

    The estimate solves :math:`E_\psi[X] = a` for the observed first cell a. The ends of the interval solve
    :math:`P_\psi(X \ge a) = \alpha/2` and :math:`P_\psi(X \le a) = \alpha/2` with :math:`\alpha` = 1 − confidence
    (Cornfield 1956).

    Parameters
    ----------
    table
        Raters of the first group with the first and with the second outcome, then those of the second, shape (2, 2).
    confidence
        Confidence level.

    Returns
    -------
    OddsRatio
        Above 1 if the first group has the first outcome more often. The estimate is 0 or infinite if the first cell is
        the smallest or largest that the margins allow; the interval then has one finite end.

    Raises
    ------
    UndefinedEstimate
        A row or a column is empty: the margins allow only one table.
    InvalidInput
        The table does not hold 2 × 2 counts, or the confidence is not between 0 and 1.

    Notes
    -----
    The coverage of the interval is *at least* its level. The interval does not invert the test of
    :func:`freeman_halton`, so the two may disagree near the border of significance. The conditional estimate lies
    closer to 1 than the cross-product ratio, `sample`.

    Examples
    --------
    >>> odds = odds_ratio([[14, 47], [5, 57]])
    >>> round(odds.estimate, 3), round(odds.ci_low, 3), round(odds.ci_high, 3), round(odds.sample, 3)
    (3.363, 1.048, 12.826, 3.396)
    """
    check_confidence(confidence)
    counts = _select_rated_groups(table)
    if len(counts) != 2:
        raise InvalidInput(f"An odds ratio compares two groups; the table has {len(counts)}.")
    (a, b), (c, d) = counts.tolist()
    cells, weights = _first_cells(a + b, c + d, a + c)
    tail = (1 - confidence) / 2

    def chance(theta: float) -> FloatArray:
        tilted = weights + theta * (cells - a)
        odds = np.exp(tilted - tilted.max())
        return np.asarray(odds / odds.sum())

    low = high = middle = None
    if a > cells[0]:
        low = _root(lambda theta: float(chance(theta)[cells >= a].sum()) - tail)
    if a < cells[-1]:
        high = _root(lambda theta: tail - float(chance(theta)[cells <= a].sum()))
    if low is not None and high is not None:
        middle = _root(lambda theta: float(chance(theta) @ (cells - a)))
    return OddsRatio(
        estimate=float(np.exp(middle)) if middle is not None else 0.0 if low is None else float("inf"),
        ci_low=0.0 if low is None else float(np.exp(low)),
        ci_high=float("inf") if high is None else float(np.exp(high)),
        confidence=confidence,
        sample=a * d / (b * c) if b * c else float("inf"),
    )


def _select_rated_groups(table: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Validate a table and return the groups that have raters."""
    table = as_floats(table, "table")
    if table.ndim != 2 or table.shape[1] != 2:
        raise InvalidInput(f"table has shape {table.shape}; give groups × two outcomes.")
    counts = check_counts(table, "table")
    counts = counts[counts.sum(axis=1) > 0]
    if len(counts) < 2:
        raise UndefinedEstimate("fewer than two groups have raters")
    if not counts.sum(axis=0).all():
        raise UndefinedEstimate("all raters have the same outcome")
    return np.asarray(counts)


def ln_factorials(n: int) -> FloatArray:
    """Return the logarithms of the factorials of 0 … n."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def ln_choose(ln: FloatArray, n: int | IntArray, k: IntArray) -> FloatArray:
    """Return the logarithms of the numbers of ways to choose k of n, by the result of `ln_factorials`."""
    return np.asarray(ln[n] - ln[k] - ln[n - k])


def _first_cells(first: int, second: int, total: int) -> tuple[IntArray, FloatArray]:
    """Return the possible first cells of a 2 × 2 table with these margins, and the log number of ways to each."""
    cells = np.arange(max(0, total - second), min(first, total) + 1)
    ln = ln_factorials(first + second)
    return cells, ln_choose(ln, first, cells) + ln_choose(ln, second, total - cells)


def _pair_p(sizes: IntArray, removed: IntArray) -> float:
    cells, weights = _first_cells(int(sizes[0]), int(sizes[1]), int(removed.sum()))
    odds = np.exp(weights - weights.max())
    return float(odds[weights <= weights[cells == removed[0]] + TIE].sum() / odds.sum())


def _network_p(sizes: IntArray, removed: IntArray) -> float | None:
    """Sum the probabilities of all tables as unlikely as the observed one; None if there are too many paths."""
    ln, total = ln_factorials(int(sizes.sum())), int(removed.sum())
    steps = [ln_choose(ln, int(n), np.arange(min(int(n), total) + 1)) for n in sizes]
    if (total + 1) * max(map(len, steps)) > MAX_PATHS:  # the bounds would not fit in memory
        return None
    longest, shortest, ahead = _bounds(steps, sizes, total, ln)
    bound = sum(float(step[x]) for step, x in zip(steps, removed, strict=True)) + TIE
    everything = float(ahead[0][total])
    remaining, past, n_paths, p = np.array([total]), np.zeros(1), np.ones(1), 0.0
    for stage, step in enumerate(steps, start=1):
        if remaining.size * step.size > MAX_PATHS:
            return None
        remaining, past, n_paths = _expand_paths(remaining, past, n_paths, step)
        # All three bounds of a dead end are minus infinity, so it adds exp(-inf) = 0.
        resolved = past + longest[stage][remaining] <= bound
        p += float(np.exp(past + ahead[stage][remaining] - everything)[resolved] @ n_paths[resolved])
        unresolved = ~resolved & (past + shortest[stage][remaining] <= bound)
        remaining, past, n_paths = _merge_paths(remaining[unresolved], past[unresolved], n_paths[unresolved])
    return p


def _bounds(
    steps: list[FloatArray], sizes: IntArray, total: int, ln: FloatArray
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray]]:
    """Return the log weights ahead of each stage by the number of raters remaining: largest, smallest, and sum."""
    end = np.full(total + 1, -np.inf)
    end[0] = 0.0
    longest, shortest, ahead = [end], [end], [end]
    for stage in range(len(steps) - 1, -1, -1):
        difference = np.arange(total + 1)[:, None] - np.arange(len(steps[stage]))
        node = np.maximum(difference, 0)
        reachable = (difference >= 0) & (longest[0][node] > -np.inf)
        largest = np.where(reachable, steps[stage] + longest[0][node], -np.inf).max(axis=1)
        smallest = np.where(reachable, steps[stage] + np.where(reachable, shortest[0][node], 0), np.inf).min(axis=1)
        n_ahead = int(sizes[stage:].sum())
        k = np.minimum(np.arange(total + 1), n_ahead)
        everything = np.where(np.arange(total + 1) <= n_ahead, ln_choose(ln, n_ahead, k), -np.inf)
        longest, ahead = [largest, *longest], [everything, *ahead]
        shortest = [np.where(np.isinf(largest), -np.inf, smallest), *shortest]
    return longest, shortest, ahead


def _expand_paths(
    remaining: IntArray, past: FloatArray, n_paths: FloatArray, step: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Extend each path by one stage, with every number of removed raters that it allows."""
    path, n_removed = np.nonzero(remaining[:, None] >= np.arange(len(step)))
    return remaining[path] - n_removed, past[path] + step[n_removed], n_paths[path]


def _merge_paths(remaining: IntArray, past: FloatArray, n_paths: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Merge paths that reach the same node with the same probability, and count them."""
    rounded = np.rint(past / (TIE / 100))
    order = np.lexsort((rounded, remaining))
    remaining, rounded = remaining[order], rounded[order]
    first = np.ones(remaining.size, dtype=bool)
    first[1:] = (remaining[1:] != remaining[:-1]) | (rounded[1:] != rounded[:-1])
    starts = np.flatnonzero(first)
    n_paths = np.add.reduceat(n_paths[order], starts) if starts.size else n_paths
    return remaining[starts], past[order][starts], n_paths


def _monte_carlo_p(sizes: IntArray, removed: IntArray, draws: int, seed: int) -> float:
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    drawn = rng.multivariate_hypergeometric(sizes, int(removed.sum()), size=draws, method="marginals")
    ln = ln_factorials(int(sizes.max()))

    def weight(x: IntArray) -> FloatArray:
        return np.asarray(ln_choose(ln, sizes, x).sum(axis=-1))

    return float((1 + (weight(drawn) <= weight(removed) + TIE).sum()) / (draws + 1))


def _root(increasing: Callable[[float], float]) -> float:
    """Return the root of an increasing function of the log odds ratio, by bisection to machine precision."""
    low, high = -1.0, 1.0
    while increasing(low) > 0:
        low *= 2
    while increasing(high) < 0:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-14 * max(abs(low), abs(high)):
        low, high = (low, middle) if increasing(middle) > 0 else (middle, high)
    return (low + high) / 2
