"""Rows of the audit of a judge, from statistics with their intervals."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dissensus.errors import UndefinedEstimate
from dissensus.stats.cluster_robust import ClusteredEstimate, Mean
from dissensus.stats.result import ZERO
from dissensus.stats.score.pseudo_values import PseudoValues, compare_groups, estimate_interval

FEWEST_RATERS: Final = 8
FEWEST_ITEMS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One statistic of the audit of a judge.

    Parameters
    ----------
    metric
        Name of the statistic.
    probe
        Change of presentation; None for other statistics.
    persona
        Persona of the judge, as axis=group; None without one.
    axis, group
        Group of raters; None for the whole pool, or without raters.
    estimate, ci_low, ci_high
        Value with its interval; None with a reason.
    p, p_adjusted
        P-value, and adjusted over all groups or all personas; None without a test.
    n_items, n_raters, n_answers
        Items, raters, and ratings of people or pairs of answers of the judge that entered.
    reason, warning
        Reason of a value that is None, and a caution.
    """

    metric: str
    probe: str | None = None
    persona: str | None = None
    axis: str | None = None
    group: str | None = None
    estimate: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    n_items: int = 0
    n_raters: int = 0
    n_answers: int = 0
    reason: str | None = None
    warning: str | None = None


def build_mean_row(row: AuditRow, compute: Callable[[], Mean | ClusteredEstimate]) -> AuditRow:
    """Return a row of a statistic over items."""
    try:
        mean = compute()
    except UndefinedEstimate as error:
        return replace(row, reason=str(error))
    return fill_mean_row(row, mean)


def fill_mean_row(row: AuditRow, mean: Mean | ClusteredEstimate) -> AuditRow:
    """Return a row with a statistic over items."""
    few = f"interval approximate: fewer than {FEWEST_ITEMS} items" if mean.clusters < FEWEST_ITEMS else None
    filled = replace(row, estimate=mean.estimate, n_items=mean.clusters, n_answers=mean.n)
    return _add_interval(filled, mean.ci_low, mean.ci_high, few)


def build_rating_row(row: AuditRow, compute: Callable[[], PseudoValues], confidence: float) -> AuditRow:
    """Return a row of a statistic over ratings, with an interval for other raters and other items."""
    try:
        statistic = compute()
    except UndefinedEstimate as error:
        return replace(row, reason=str(error))
    n_raters, n_items = (len(np.unique(codes)) for codes in (statistic.raters, statistic.items))
    filled = replace(
        row, estimate=statistic.estimate, n_items=n_items, n_raters=n_raters, n_answers=len(statistic.values)
    )
    if n_raters < 2 or n_items < 2:
        return replace(filled, reason="no interval: one rater or one item")
    interval = estimate_interval(statistic, confidence=confidence)
    return _add_interval(filled, interval.ci_low, interval.ci_high, _describe_few(n_raters, n_items))


def build_difference_row(row: AuditRow, first: PseudoValues, second: PseudoValues, confidence: float) -> AuditRow:
    """Return a row of the difference of a statistic between two sides without a common rater."""
    sides = (first, second)
    raters = [len(np.unique(side.raters)) for side in sides]
    n_items = len(np.unique(np.concatenate([side.items for side in sides])))
    filled = replace(
        row,
        estimate=first.estimate - second.estimate,
        n_items=n_items,
        n_raters=sum(raters),
        n_answers=sum(len(side.values) for side in sides),
    )
    try:
        difference = compare_groups(first, second, confidence=confidence)
    except UndefinedEstimate as error:
        return replace(filled, reason=str(error))
    built = _add_interval(filled, difference.ci_low, difference.ci_high, _describe_few(min(raters), n_items))
    return built if built.ci_low is None else replace(built, p=difference.p)


def _add_interval(row: AuditRow, low: float | None, high: float | None, warning: str | None) -> AuditRow:
    if low is None or high is None:
        return replace(row, reason="no interval: one item")
    if high - low <= ZERO:
        return replace(row, reason="no interval: the answers do not vary")
    return replace(row, ci_low=low, ci_high=high, warning=warning)


def _describe_few(n_raters: int, n_items: int) -> str | None:
    least = ((n_raters, FEWEST_RATERS, "raters"), (n_items, FEWEST_ITEMS, "items"))
    few = [f"{fewest} {noun}" for n, fewest, noun in least if n < fewest]
    return f"interval approximate: fewer than {' and '.join(few)}" if few else None
