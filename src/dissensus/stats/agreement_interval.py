"""Bootstrap intervals of agreement: over raters and items, or over items where counts carry no raters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.bootstrap import draw_resamples, interval, two_way_interval
from dissensus.stats.counts import check_counts, count_ratings
from dissensus.stats.design import METRICS, Design, chunks
from dissensus.stats.distance import Level, squared_distances
from dissensus.stats.groups.coverage import warn_of_few_items
from dissensus.stats.groups.statistics import published_statistics
from dissensus.stats.result import Estimate, FloatArray, Int64Array, IntArray, check_confidence

IRR: Final = METRICS.index("irr")
Coefficient: TypeAlias = Literal["krippendorff_alpha", "fleiss_kappa"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementInterval:
    """A coefficient of agreement with its interval.

    Parameters
    ----------
    estimate
        The coefficient.
    low, high
        Ends of the interval; None without replicates, with fewer than two items, or if the coefficient is undefined, or
        the same, in every replicate.
    warning
        Reason why the interval may not cover as often as it claims.
    """

    estimate: Estimate
    low: float | None
    high: float | None
    warning: str | None = None


def agreement_interval(
    counts: npt.ArrayLike,
    coefficient: Coefficient = "krippendorff_alpha",
    *,
    level: Level = "nominal",
    replicates: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> AgreementInterval:
    r"""Estimate agreement with a bootstrap interval over items.

    Items are resampled with replacement, each with all its ratings; the ends are recentred percentiles (Gwet 2014,
    chapter 5, of subjects as a sample; `dissensus.stats.bootstrap.interval`). Counts carry no raters, so the interval
    does not generalise to other raters: it is meant for designs that assign each item a few of many raters. Where
    raters are known, take `alpha_intervals`.

    Parameters
    ----------
    counts
        Raters who gave each answer to each item, shape (I, K); categories in order.
    coefficient
        ``krippendorff_alpha``, or ``fleiss_kappa`` if all items have the same number of ratings.
    level
        Level of measurement of alpha: nominal, ordinal, interval or ratio, with categories numbered from 0. Kappa is
        nominal.
    replicates
        Number of bootstrap replicates; 0 for no interval.
    seed
        Seed of the resampling.
    confidence
        Confidence level, between 0 and 1.

    Returns
    -------
    AgreementInterval

    Raises
    ------
    UndefinedEstimate
        No item has two ratings, or all answers are the same.
    InvalidInput
        Invalid counts, kappa with different numbers of ratings, or an option out of range.

    Notes
    -----
    Items with fewer than two ratings are left out before resampling. A replicate in which all answers are the same
    is left out of the percentiles.

    Examples
    --------
    >>> alpha = agreement_interval([[3, 0, 0], [2, 1, 0], [0, 3, 0], [0, 1, 2]] * 10, level="ordinal", seed=1)
    >>> round(alpha.estimate.estimate, 2), round(alpha.low, 2), round(alpha.high, 2)
    (0.7, 0.58, 0.81)
    """
    check_confidence(confidence)
    if coefficient not in _REPLICATED:
        raise InvalidInput(f"There is no coefficient {coefficient!r}. Choose one of {', '.join(_REPLICATED)}.")
    if replicates < 0:
        raise InvalidInput(f"replicates is {replicates}; give 0 for no interval, or a number such as 1000.")
    table = check_counts(counts)
    is_alpha = coefficient == "krippendorff_alpha"
    estimate = krippendorff_alpha(table, level=level) if is_alpha else fleiss_kappa(table)
    # Resampling distinct rows of counts by their frequency is exact, and far fewer rows are drawn.
    rows, times = np.unique(table[count_ratings(table) >= 2], axis=0, return_counts=True)
    n_items = int(times.sum())
    if not replicates or n_items < 2:
        return AgreementInterval(estimate=estimate, low=None, high=None)
    drawn = np.random.default_rng(seed).multinomial(n_items, times / n_items, size=replicates)
    low, high = interval(
        np.array(estimate.estimate),
        _REPLICATED[coefficient](rows, drawn.astype(np.float64), level),
        confidence=confidence,
    )
    if not np.isfinite([low, high]).all():
        return AgreementInterval(estimate=estimate, low=None, high=None)
    warning = warn_of_few_items("irr", n_items)
    return AgreementInterval(estimate=estimate, low=float(low), high=float(high), warning=warning)


def alpha_intervals(
    design: Design, group: IntArray, seeds: list[np.random.SeedSequence], *, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    r"""Return the two-way bootstrap interval of Krippendorff's alpha of each group of raters.

    Raters are drawn within their group and items from all, with replacement; see
    `dissensus.stats.bootstrap.two_way_interval`. Two copies of one rater do not form a pair.

    Parameters
    ----------
    design
        The ratings; alpha is at the level of `Design.scale`.
    group
        Group of each rater, shape (R,); negative for raters who are left out.
    seeds
        One seed per replicate.
    confidence
        Confidence level, between 0 and 1.

    Returns
    -------
    low, high : ndarray, shape (G,)
        NaN where alpha, or every replicate, is undefined, or all replicates are equal.

    Examples
    --------
    Two raters who agree on two items of three:

    >>> design = Design(np.tile(np.arange(3), 2), np.repeat([0, 1], 3), np.array([0, 1, 1, 0, 1, 0]), 3, 2, 2)
    >>> low, high = alpha_intervals(design, np.array([0, 0]), np.random.SeedSequence(1).spawn(200))
    >>> low.shape, bool(low[0] < high[0])
    ((1,), True)
    """
    inside = np.arange(int(group.max()) + 1)
    outside = np.full_like(inside, -1)
    parts: list[list[FloatArray]] = [[], [], []]
    for chunk in chunks(
        len(seeds), 4 * (design.n_raters + design.n_items) + design.row_bytes(len(inside)), design.chunk_bytes
    ):
        raters, items = draw_resamples([seeds[b] for b in chunk], group, design.n_items)
        for part, (rater_weight, item_weight) in zip(
            parts, ((raters, items), (raters, None), (None, items)), strict=True
        ):
            drawn = published_statistics(
                design, group[None], inside, outside, rater_weight=rater_weight, item_weight=item_weight
            )
            part.append(drawn[..., IRR])
    observed = published_statistics(design, group[None], inside, outside)[0, :, IRR]
    return two_way_interval(observed, *(np.concatenate(part) for part in parts), confidence=confidence)


def dichotomise(counts: npt.ArrayLike, first: int) -> Int64Array:
    """Return the number of answers below a category, and from that category on, shape (I, 2)."""
    table = check_counts(counts)
    return np.column_stack([table[:, :first].sum(axis=1), table[:, first:].sum(axis=1)])


def select_equally_rated(counts: npt.ArrayLike) -> Int64Array:
    """Return the items with the most common number of ratings, at least two; the larger number if two are tied.

    Raises
    ------
    UndefinedEstimate
        No item has two ratings.
    """
    table = check_counts(counts)
    n_ratings = count_ratings(table)
    pairable = n_ratings[n_ratings >= 2]
    if not pairable.size:
        raise UndefinedEstimate("No item has two ratings.")
    sizes, frequencies = np.unique(pairable, return_counts=True)
    return np.asarray(table[n_ratings == sizes[frequencies == frequencies.max()].max()])


def _alphas(rows: Int64Array, drawn: FloatArray, level: Level) -> FloatArray:
    """Return Krippendorff's alpha of each replicate, NaN where it is undefined."""
    m = rows.sum(axis=1)
    pairs = rows[:, :, None] * rows[:, None, :] - rows[:, :, None] * np.eye(rows.shape[1], dtype=np.int64)
    coincidences = np.tensordot(drawn, pairs / (m - 1)[:, None, None], 1)
    marginals = drawn @ rows
    return np.array([_alpha(*sums, level) for sums in zip(coincidences, marginals, strict=True)])


def _alpha(coincidences: FloatArray, marginals: FloatArray, level: Level) -> float:
    squared, n = squared_distances(level, None, marginals.astype(np.int64)), marginals.sum()
    expected = float(marginals @ squared @ marginals) / (n - 1)
    return 1 - float((coincidences * squared).sum()) / expected if expected else float("nan")


def _kappas(rows: Int64Array, drawn: FloatArray, _: Level) -> FloatArray:
    """Return Fleiss' kappa of each replicate, NaN where it is undefined."""
    m = rows.sum(axis=1)
    agreeing = (np.square(rows).sum(axis=1) - m) / (m * (m - 1))
    marginals = drawn @ rows
    expected = np.square(marginals / marginals.sum(axis=1, keepdims=True)).sum(axis=1)
    observed = drawn @ agreeing / drawn.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


_REPLICATED: Final[Mapping[str, Callable[[Int64Array, FloatArray, Level], FloatArray]]] = {
    "krippendorff_alpha": _alphas,
    "fleiss_kappa": _kappas,
}
