"""Exact inference on tables of groups × two outcomes, all margins fixed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.counts import checked_counts
from dissensus.stats.result import FloatArray, IntArray, check_level

# Tables whose probabilities differ by less than this, relatively, are equally likely: rounding must not part ties.
TIE = 1e-7
# Paths through the network that are followed at once; where there are more, tables are drawn.
MOST_PATHS = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactTest:
    """A test of independence.

    Parameters
    ----------
    p
        P-value, at most 1; 0 alone where it is too small for a number of the machine, below 1e-308.
    method
        Which test, and how it was computed.
    draws
        Tables drawn; None where p is exact.
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
        Ends of the interval; 0 and infinity are ends where the table has an empty cell.
    level
        Confidence level.
    sample
        The cross-product ratio ad/bc of the table, for comparison.
    """

    estimate: float
    ci_low: float
    ci_high: float
    level: float
    sample: float

    def __float__(self) -> float:
        return self.estimate


def freeman_halton(table: npt.ArrayLike, *, draws: int = 99_999, seed: int = 0) -> ExactTest:
    r"""Test whether two outcomes are independent of the group; Fisher's exact test where there are two groups.

    .. math::

        p = \sum_{x:\, P(x) \le P(x_{\mathrm{obs}})} P(x), \qquad
        P(x) = \prod_g \binom{n_g}{x_g} \Big/ \binom{n}{\sum_g x_g}

    over all tables with the margins of the observed one (Freeman and Halton 1951).

    Parameters
    ----------
    table
        Raters of each group with the first and with the second outcome, shape (G, 2).
    draws, seed
        Tables to draw, and their seed, where there are too many to go through.

    Raises
    ------
    UndefinedEstimate
        Fewer than two groups have raters, or everybody has the same outcome: one table alone is possible.
    InvalidInput
        The table is not one of counts in two columns.

    Notes
    -----
    Tables are not listed one by one: they are the paths of a network whose stages are the groups, paths that have come
    to the same point with the same probability are one, and a path is left as soon as all tables that it leads to are
    as unlikely as the observed one, or none is (Mehta and Patel 1983). Probabilities within a relative 1e-7 are ties,
    and count. Where the paths are still too many, tables are drawn at random with these margins, and
    :math:`p = (b + 1)/(N + 1)` with b of N as unlikely as the observed one (Phipson and Smyth 2010); `method` and
    `draws` say so.

    References
    ----------
    Freeman, G. H. and Halton, J. H. (1951). Note on an exact treatment of contingency. Biometrika 38.
    Mehta, C. R. and Patel, N. R. (1983). A network algorithm for performing Fisher's exact test. JASA 78.

    Examples
    --------
    Raters of DICES-350 whom its authors removed and kept, men and women:

    >>> freeman_halton([[14, 47], [5, 57]])
    ExactTest(p=0.02616449..., method="Fisher's exact test", draws=None)
    """
    counts = _groups_with_raters(table)
    sizes, removed = counts.sum(axis=1), counts[:, 0]
    if removed.sum() * 2 > sizes.sum():  # the same table with its columns exchanged: fewer ways to go
        removed = sizes - removed
    # Equal groups side by side make equal paths; the order of the groups does not matter to p.
    order = np.lexsort((removed, -sizes))
    sizes, removed = sizes[order], removed[order]
    if len(sizes) == 2:
        return ExactTest(p=_pair_p(sizes, removed), method="Fisher's exact test")
    p = _network_p(sizes, removed)
    if p is not None:
        return ExactTest(p=min(p, 1.0), method="Freeman–Halton exact test")
    if draws < 1:
        raise InvalidInput(f"draws is {draws}; there are too many tables to go through, so draw at least one.")
    drawn_p = _drawn_p(sizes, removed, draws, seed)
    return ExactTest(p=drawn_p, method=f"Freeman–Halton test on {draws:,} drawn tables", draws=draws)


def odds_ratio(table: npt.ArrayLike, *, level: float = 0.95) -> OddsRatio:
    r"""Estimate the odds ratio of a 2 × 2 table given its margins.

    With margins fixed, the first cell has Fisher's noncentral hypergeometric distribution,

    .. math:: P_\psi(x) \propto \binom{n_1}{x} \binom{n_2}{k - x} \psi^x .

    The estimate solves :math:`E_\psi[X] = a` for the observed first cell a. The ends of the interval solve
    :math:`P_\psi(X \ge a) = \alpha/2` and :math:`P_\psi(X \le a) = \alpha/2` with :math:`\alpha` = 1 − level
    (Cornfield 1956).

    Parameters
    ----------
    table
        Raters of the first group with the first and with the second outcome, then those of the second, shape (2, 2).
    level
        Confidence level.

    Returns
    -------
    OddsRatio
        Above 1 where the first group has the first outcome more often. The estimate is 0 or infinite where the first
        cell is the smallest or largest that the margins allow; the interval then has one finite end.

    Raises
    ------
    UndefinedEstimate
        A row or a column is empty: the margins allow one table alone.
    InvalidInput
        The table is not one of counts, 2 × 2, or the level is not between 0 and 1.

    Notes
    -----
    The interval covers with *at least* its level, and is no inversion of the test of :func:`freeman_halton`: near the
    border of significance the two may disagree. The conditional estimate lies closer to 1 than the cross-product
    ratio, which is `sample`.

    Examples
    --------
    >>> found = odds_ratio([[14, 47], [5, 57]])
    >>> round(found.estimate, 3), round(found.ci_low, 3), round(found.ci_high, 3), round(found.sample, 3)
    (3.363, 1.048, 12.826, 3.396)
    """
    check_level(level)
    counts = _groups_with_raters(table)
    if len(counts) != 2:
        raise InvalidInput(f"An odds ratio compares two groups; the table has {len(counts)}.")
    (a, b), (c, d) = counts.tolist()
    cells, weights = _first_cells(a + b, c + d, a + c)
    tail = (1 - level) / 2

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
        level=level,
        sample=a * d / (b * c) if b * c else float("inf"),
    )


def _groups_with_raters(table: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the groups that have raters, or say why nothing can be tested."""
    if np.ndim(table) != 2 or np.shape(table)[1] != 2:
        raise InvalidInput(f"table has the shape {np.shape(table)}; give groups × two outcomes.")
    counts = checked_counts(table, "table")
    counts = counts[counts.sum(axis=1) > 0]
    if len(counts) < 2:
        raise UndefinedEstimate("fewer than two groups have raters")
    if not counts.sum(axis=0).all():
        raise UndefinedEstimate("everybody has the same outcome")
    return np.asarray(counts)


def _ln_factorials(n: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])


def _ln_choose(ln: FloatArray, n: int, k: IntArray) -> FloatArray:
    return np.asarray(ln[n] - ln[k] - ln[n - k])


def _first_cells(first: int, second: int, total: int) -> tuple[IntArray, FloatArray]:
    """Return what the first cell of a 2 × 2 table with these margins may be, and the log of how many ways to each."""
    cells = np.arange(max(0, total - second), min(first, total) + 1)
    ln = _ln_factorials(first + second)
    return cells, _ln_choose(ln, first, cells) + _ln_choose(ln, second, total - cells)


def _pair_p(sizes: IntArray, removed: IntArray) -> float:
    cells, weights = _first_cells(int(sizes[0]), int(sizes[1]), int(removed.sum()))
    odds = np.exp(weights - weights.max())
    return float(odds[weights <= weights[cells == removed[0]] + TIE].sum() / odds.sum())


def _network_p(sizes: IntArray, removed: IntArray) -> float | None:
    """Sum the probabilities of all tables as unlikely as the observed one; None where the paths are too many."""
    ln, total = _ln_factorials(int(sizes.sum())), int(removed.sum())
    steps = [_ln_choose(ln, int(n), np.arange(min(int(n), total) + 1)) for n in sizes]
    if (total + 1) * max(map(len, steps)) > MOST_PATHS:  # what lies ahead would not fit in memory
        return None
    likely, unlikely, ahead = _bounds(steps, sizes, total, ln)
    bound = sum(float(step[x]) for step, x in zip(steps, removed, strict=True)) + TIE
    everything = float(ahead[0][total])
    left, past, ways, p = np.array([total]), np.zeros(1), np.ones(1), 0.0
    for stage, step in enumerate(steps, start=1):
        if left.size * step.size > MOST_PATHS:
            return None
        left, past, ways = _expanded(left, past, ways, step)
        # Where no way leads on, all three bounds are minus infinity, and the path adds exp(-inf) = 0.
        all_count = past + likely[stage][left] <= bound
        p += float(np.exp(past + ahead[stage][left] - everything)[all_count] @ ways[all_count])
        open_ = ~all_count & (past + unlikely[stage][left] <= bound)
        left, past, ways = _merged(left[open_], past[open_], ways[open_])
    return p


def _bounds(
    steps: list[FloatArray], sizes: IntArray, total: int, ln: FloatArray
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray]]:
    """Return what lies ahead of each stage by the number left: log weight of the likeliest, unlikeliest, and all."""
    end = np.full(total + 1, -np.inf)
    end[0] = 0.0
    likely, unlikely, ahead = [end], [end], [end]
    for stage in range(len(steps) - 1, -1, -1):
        reach = np.arange(total + 1)[:, None] - np.arange(len(steps[stage]))
        before = np.maximum(reach, 0)
        on = (reach >= 0) & (likely[0][before] > -np.inf)
        best = np.where(on, steps[stage] + likely[0][before], -np.inf).max(axis=1)
        worst = np.where(on, steps[stage] + np.where(on, unlikely[0][before], 0), np.inf).min(axis=1)
        rest = int(sizes[stage:].sum())
        left = np.minimum(np.arange(total + 1), rest)
        everything = np.where(np.arange(total + 1) <= rest, _ln_choose(ln, rest, left), -np.inf)
        likely, ahead = [best, *likely], [everything, *ahead]
        unlikely = [np.where(np.isinf(best), -np.inf, worst), *unlikely]
    return likely, unlikely, ahead


def _expanded(
    left: IntArray, past: FloatArray, ways: FloatArray, step: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the paths one stage on: each takes every number of removed raters that it has left."""
    path, taken = np.nonzero(left[:, None] >= np.arange(len(step)))
    return left[path] - taken, past[path] + step[taken], ways[path]


def _merged(left: IntArray, past: FloatArray, ways: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Make one path of those that came to the same point with the same probability, and count them."""
    rounded = np.rint(past / (TIE / 100))
    order = np.lexsort((rounded, left))
    left, rounded = left[order], rounded[order]
    first = np.ones(left.size, dtype=bool)
    first[1:] = (left[1:] != left[:-1]) | (rounded[1:] != rounded[:-1])
    starts = np.flatnonzero(first)
    return left[starts], past[order][starts], np.add.reduceat(ways[order], starts) if starts.size else ways


def _drawn_p(sizes: IntArray, removed: IntArray, draws: int, seed: int) -> float:
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    drawn = rng.multivariate_hypergeometric(sizes, int(removed.sum()), size=draws, method="marginals")
    ln = _ln_factorials(int(sizes.max()))

    def weight(x: IntArray) -> FloatArray:
        return np.asarray((ln[sizes] - ln[x] - ln[sizes - x]).sum(axis=-1))

    return float((1 + (weight(drawn) <= weight(removed) + TIE).sum()) / (draws + 1))


def _root(increasing: Callable[[float], float]) -> float:
    """Return where an increasing function of the log odds ratio is 0, by bisection to the last bits."""
    low, high = -1.0, 1.0
    while increasing(low) > 0:
        low *= 2
    while increasing(high) < 0:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-14 * max(abs(low), abs(high)):
        low, high = (low, middle) if increasing(middle) > 0 else (middle, high)
    return (low + high) / 2
