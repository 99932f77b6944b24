"""Agreement with an interval for other items of the same kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.bootstrap import interval
from dissensus.stats.counts import checked_counts
from dissensus.stats.distance import Level, squared_distances
from dissensus.stats.result import Estimate, FloatArray, check_level

Coefficient: TypeAlias = Literal["krippendorff_alpha", "fleiss_kappa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementInterval:
    """A coefficient of agreement and its interval; no ends where it is undefined in every replicate.

    Parameters
    ----------
    estimate
        The coefficient.
    low, high
        Ends of the interval for other items; None where there is none.
    """

    estimate: Estimate
    low: float | None
    high: float | None


def agreement_interval(
    counts: npt.ArrayLike,
    coefficient: Coefficient = "krippendorff_alpha",
    *,
    level: Level = "nominal",
    replicates: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> AgreementInterval:
    r"""Estimate agreement, with the interval that items drawn anew give.

    Items are drawn with replacement, as many as there are, each with all its ratings; the ends are recentred
    percentiles (Gwet 2014, chapter 5, of subjects as a sample; `dissensus.stats.bootstrap.interval`). It is for who
    rated each item as others were assigned to it, three of many: it says nothing of other raters who rate everything.

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K); categories in order.
    coefficient
        ``krippendorff_alpha``, or ``fleiss_kappa`` where every item has as many ratings.
    level
        Of alpha: nominal, ordinal, interval or ratio, the categories counted from 0; kappa is nominal.
    replicates
        How often items are drawn; 0 for no interval.
    seed
        Of the draws: the same one gives the same ends.
    confidence
        Between 0 and 1.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings, or all answers are the same.
    InvalidInput
        Counts that cannot be, or different numbers of ratings with kappa.

    Notes
    -----
    Items with fewer than two ratings are left out before any is drawn. A replicate in which all answers are the same
    is left out of the percentiles.

    Examples
    --------
    >>> found = agreement_interval([[3, 0, 0], [2, 1, 0], [0, 3, 0], [0, 1, 2]] * 10, level="ordinal", seed=1)
    >>> round(found.estimate.estimate, 2), round(found.low, 2), round(found.high, 2)
    (0.7, 0.58, 0.8)
    """
    check_level(confidence)
    if coefficient not in _REPLICATED:
        raise InvalidInput(f"There is no coefficient {coefficient!r}. Choose one of {', '.join(_REPLICATED)}.")
    table = checked_counts(counts)
    alpha = coefficient == "krippendorff_alpha"
    estimate = krippendorff_alpha(table, level=level) if alpha else fleiss_kappa(table)
    # Items that were rated alike are drawn together: as exact, and by far fewer of them.
    rows, times = np.unique(table[table.sum(axis=1) >= 2], axis=0, return_counts=True)
    if not replicates:
        return AgreementInterval(estimate=estimate, low=None, high=None)
    drawn = np.random.default_rng(seed).multinomial(times.sum(), times / times.sum(), size=replicates)
    low, high = interval(
        np.array(estimate.estimate), _REPLICATED[coefficient](rows, drawn.astype(np.float64), level), level=confidence
    )
    known = np.isfinite([low, high]).all()
    return AgreementInterval(estimate=estimate, low=float(low) if known else None, high=float(high) if known else None)


def halves(counts: npt.ArrayLike, first: int) -> npt.NDArray[np.int64]:
    """Return the counts of answers below a category, and of those from it on, shape (I, 2)."""
    table = checked_counts(counts)
    return np.column_stack([table[:, :first].sum(axis=1), table[:, first:].sum(axis=1)])


def evenly_rated(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the items that have as many ratings as most items do, of several such numbers the largest.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings.
    """
    table = checked_counts(counts)
    numbers, times = np.unique(table.sum(axis=1), return_counts=True)
    several = numbers >= 2
    if not several.any():
        raise UndefinedEstimate("No item has two ratings.")
    numbers, times = numbers[several], times[several]
    return np.asarray(table[table.sum(axis=1) == numbers[times == times.max()].max()])


def _alphas(rows: npt.NDArray[np.int64], drawn: FloatArray, level: Level) -> FloatArray:
    """Return Krippendorff's alpha of each replicate, NaN where it is undefined."""
    m = rows.sum(axis=1)
    pairs = rows[:, :, None] * rows[:, None, :] - rows[:, :, None] * np.eye(rows.shape[1], dtype=np.int64)
    coincidences = np.tensordot(drawn, pairs / (m - 1)[:, None, None], 1)
    marginals = drawn @ rows
    return np.array([_alpha(*both, level) for both in zip(coincidences, marginals, strict=True)])


def _alpha(coincidences: FloatArray, marginals: FloatArray, level: Level) -> float:
    squared, n = squared_distances(level, None, marginals.astype(np.int64)), marginals.sum()
    expected = float(marginals @ squared @ marginals) / (n - 1)
    return 1 - float((coincidences * squared).sum()) / expected if expected else float("nan")


def _kappas(rows: npt.NDArray[np.int64], drawn: FloatArray, _: Level) -> FloatArray:
    """Return Fleiss' kappa of each replicate, NaN where it is undefined."""
    m = rows.sum(axis=1)
    agreeing = (np.square(rows).sum(axis=1) - m) / (m * (m - 1))
    marginals = drawn @ rows
    expected = np.square(marginals / marginals.sum(axis=1, keepdims=True)).sum(axis=1)
    observed = drawn @ agreeing / drawn.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


_REPLICATED: Final[Mapping[str, Callable[[npt.NDArray[np.int64], FloatArray, Level], FloatArray]]] = {
    "krippendorff_alpha": _alphas,
    "fleiss_kappa": _kappas,
}
