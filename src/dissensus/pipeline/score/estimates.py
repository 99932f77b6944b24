"""Rows of a scorecard from pseudo-values: estimates with intervals and caveats, and gaps with adjusted tests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dissensus.errors import UndefinedEstimate
from dissensus.pipeline.score.groups import RatedGroup
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.settings import ScoreSettings
from dissensus.stats.multiple_testing import adjust_tests, benjamini_hochberg, holm
from dissensus.stats.result import ZERO, none_if_nan
from dissensus.stats.score.gap import estimate_gap
from dissensus.stats.score.pseudo_values import Statistic, estimate_interval

FEWEST_RATERS: Final = 8
"""Fewest raters with which 95 % intervals covered about 93 % or more."""
FEWEST_ITEMS: Final = 30
"""Fewest items with which an interval has no warning."""
RARE: Final = 0.05
"""Share of unsafe or of safe answers below which 95 % intervals of the area under the curve covered 92 %."""
HIGH_IS_GOOD: Final = ("auc",)
"""Statistics of which a larger value is better."""
NO_INTERVAL: Final = "no interval: chance alone makes the value larger"

Measure = Callable[[], Statistic]


def build_row(
    group: RatedGroup, metric: str, compute: Measure, keys: Mapping[str, Any], settings: ScoreSettings
) -> tuple[ScoreRow, Statistic | None]:
    """Return the row of a statistic, and the statistic if it is defined and not withheld."""
    row = _blank_row(group, metric, keys)
    withheld = f"withheld: fewer than {settings.suppress_below:,} raters, or others could be computed from them"
    if group.suppressed:
        return replace(row, reason=withheld), None
    try:
        statistic = compute()
    except UndefinedEstimate as error:
        return replace(row, reason=str(error)), None
    n_raters, n_items = statistic.n_raters, statistic.n_items
    if group.is_people and n_raters < settings.suppress_below:
        return replace(row, reason=withheld), None
    interval = estimate_interval(statistic, confidence=settings.confidence)
    few = " and ".join(_describe_few(metric, group, n_raters, n_items))
    reason = None
    if n_items < 2 or (n_raters < 2 and group.is_people):
        reason = "no interval: one rater or one item"
    elif interval.ci_low is None or interval.ci_high is None or interval.ci_high - interval.ci_low <= ZERO:
        reason = "no interval: the ratings do not vary"
    low, high = interval.ci_low, interval.ci_high
    if metric in HIGH_IS_GOOD and low is not None and high is not None:  # An area lies between 0 and 1
        low, high = max(low, 0.0), min(high, 1.0)
    return replace(
        row,
        estimate=interval.estimate,
        ci_low=None if reason else low,
        ci_high=None if reason else high,
        n_raters=n_raters,
        n_items=n_items,
        n_ratings=statistic.n_ratings,
        reason=reason,
        warning=f"interval approximate: {few}" if few and not reason else None,
    ), statistic


def build_value_row(
    group: RatedGroup, metric: str, value: float | None, keys: Mapping[str, Any], *, reason: str = NO_INTERVAL
) -> ScoreRow:
    """Return the row of a statistic that has no interval."""
    return replace(_blank_row(group, metric, keys), estimate=value, reason=reason)


def _blank_row(group: RatedGroup, metric: str, keys: Mapping[str, Any]) -> ScoreRow:
    return ScoreRow(
        **keys,
        axis=group.axis,
        group=group.group,
        metric=metric,
        estimate=None,
        n_raters=group.n_raters,
        n_items=group.n_items,
        n_ratings=group.n_ratings,
    )


def _describe_few(metric: str, group: RatedGroup, n_raters: int, n_items: int) -> Iterator[str]:
    """Yield what a statistic has too few of for an interval with the stated coverage."""
    if group.is_people and n_raters < FEWEST_RATERS:
        yield f"fewer than {FEWEST_RATERS} raters"
    if n_items < FEWEST_ITEMS:
        yield f"fewer than {FEWEST_ITEMS} items"
    if metric == "auc" and min(group.unsafe_share, 1 - group.unsafe_share) < RARE:
        yield f"fewer than {100 * RARE:g} % unsafe or safe answers"


def build_gaps(statistics: Sequence[tuple[ScoreRow, Statistic | None]], settings: ScoreSettings) -> Iterator[GapRow]:
    """Yield the gap of each statistic between the groups of each axis."""
    families: dict[GapRow, list[tuple[ScoreRow, Statistic]]] = {}
    for row, values in statistics:
        if row.axis is None:
            continue
        gap = GapRow(
            model=row.model,
            question=row.question,
            attribute=row.attribute,
            value=row.value,
            axis=row.axis,
            metric=row.metric,
            n_groups=0,
        )
        members = families.setdefault(gap, [])
        if values is not None and row.n_raters >= settings.min_raters:
            members.append((row, values))
    for gap, members in families.items():
        yield _build_gap(replace(gap, n_groups=len(members)), members, settings)


def _build_gap(row: GapRow, members: Sequence[tuple[ScoreRow, Statistic]], settings: ScoreSettings) -> GapRow:
    if len(members) < 2:
        return replace(row, reason=f"fewer than two groups have {settings.min_raters:,} raters or more")
    gap = estimate_gap([values for _, values in members])
    groups = [str(member.group) for member, _ in members]
    low, high = groups[gap.lowest], groups[gap.highest]
    worst, best = (low, high) if row.metric in HIGH_IS_GOOD else (high, low)
    p = none_if_nan(gap.p)
    return replace(
        row,
        worst=worst if gap.estimate > ZERO else None,
        best=best if gap.estimate > ZERO else None,
        estimate=gap.estimate,
        by_chance=none_if_nan(gap.by_chance),
        pair=None if p is None else (groups[gap.pair[0]], groups[gap.pair[1]]),
        p=p,
        reason=None if p is not None else "no test: too few raters or items, or ratings that do not vary",
    )


def adjust_gaps(gaps: Sequence[GapRow], settings: ScoreSettings) -> tuple[GapRow, ...]:
    """Return gaps with p-values adjusted over all of them."""
    adjusted = adjust_tests((gap.p for gap in gaps), benjamini_hochberg if settings.adjust == "bh" else holm)
    return tuple(replace(gap, p_adjusted=p) for gap, p in zip(gaps, adjusted, strict=True))
