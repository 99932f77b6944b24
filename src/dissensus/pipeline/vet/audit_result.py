"""Result of a filter audit, and its display."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from math import isinf
from typing import Any

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, Page, PagedResult, escape_unprintable, format_short
from dissensus.schema.advice import format_message
from dissensus.schema.tabular_result import JsonResult
from dissensus.stats.result import none_if_not_finite

# Largest number of reasons in a note.
MAX_REASONS = 8
# Name and displayed digits of each measure of label shifts.
MEASURES = {
    "mean_total_variation": ("mean total variation", 5),
    "mean_jensen_shannon": ("mean Jensen–Shannon, nats", 6),
    "changed": ("items whose most frequent answers change", 0),
    "disjoint": ("… to none of those before", 0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRemoval:
    """Removed raters of a group."""

    group: str
    n_removed: int
    n_raters: int
    # Reference group of the odds ratio, or "rest"; None without an odds ratio
    against: str | None = None
    # Conditional odds ratio of being removed, with its exact interval; see `odds_ratio`. It is 0 or infinite if none or
    # all raters of one side were removed.
    odds_ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    reason: str | None = None  # Reason for an odds ratio of None, 0 or infinity


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRemoval:
    """Test of independence between removal and the groups of an axis."""

    axis: str
    groups: tuple[GroupRemoval, ...]
    # P-value of the exact test, raw and adjusted over the axes by Benjamini and Hochberg; None if not tested
    p: float | None = None
    p_adjusted: float | None = None
    method: str | None = None  # Name of the test
    n_unknown: int  # Raters of unknown group, excluded from the test
    reason: str | None = None  # Reason for a missing test


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMove:
    """Label shift over all items, compared with random removals of as many raters with like numbers of ratings."""

    measure: str  # mean_total_variation, mean_jensen_shannon, changed or disjoint; see `label_shift`
    observed: float | None  # None if no item has a rating left
    p: float | None  # One-sided p-value for larger shifts than by chance; None without draws, or withheld
    # Median and central range, at the confidence level of the audit, of the random removals; None without draws, or
    # withheld
    null_median: float | None
    null_low: float | None
    null_high: float | None
    reason: str | None = None  # Reason for a withheld test


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilterAudit(JsonResult, PagedResult):
    """Effect of removing raters on the pool and on the labels; printed as tables, in a notebook too.

    Parameters
    ----------
    removed
        Ids of the raters removed.
    source
        Source of the flags: the file, the caller, or the criteria of vetting.
    axes
        Tests of the independence of removal and each demographic.
    moves
        Label shifts, compared with chance.
    items
        One row per item: ``item_id``, ``n_before`` and ``n_after`` ratings, ``total_variation``, ``jensen_shannon``
        (null without ratings after removal), ``before`` and ``after`` (the most frequent answers), ``changed``,
        ``disjoint``.
    question, n_raters, n_items
        Question, and size of the pool.
    draws, within, seed, confidence
        Number of random removals, the axis within whose groups they are drawn, their seed, and the confidence level.
    notes
        Notes on the ratings, and caveats.
    version
        Version of Dissensus.
    """

    removed: tuple[str, ...]
    source: str
    axes: tuple[AxisRemoval, ...]
    moves: tuple[LabelMove, ...]
    items: pl.DataFrame
    question: str
    n_raters: int
    n_items: int
    draws: int
    within: str | None
    seed: int
    confidence: float
    notes: tuple[str, ...] = field(repr=False)
    version: str

    @property
    def reason(self) -> str | None:
        """Reason if the comparison with random removals is withheld."""
        return self.moves[0].reason

    def largest(self, measure: str) -> tuple[str, float] | None:
        """Return the item with the largest total_variation or jensen_shannon, and its value; the first of ties."""
        items = self.items.drop_nulls(measure)
        if items.is_empty():
            return None
        row = items.row(int(items[measure].arg_max() or 0), named=True)
        return str(row["item_id"]), float(row[measure])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; infinite values are None, with a reason."""
        values = {name: getattr(self, name) for name in ("question", "source", "n_raters", "n_items")}
        settings = {name: getattr(self, name) for name in ("draws", "within", "seed", "confidence")}
        return {
            "schema_version": 1,
            "dissensus_version": self.version,
            **values,
            "settings": settings,
            "removed": list(self.removed),
            "axes": [_finite(asdict(axis)) for axis in self.axes],
            "moves": [asdict(move) for move in self.moves],
            "notes": list(self.notes),
            "items": self.items.to_dicts(),
        }

    def page(self) -> Page:
        """Return a page with a table for each axis, and one for the labels."""
        n = len(self.removed)
        summary = (
            f"Filter of {n:,} of {self.n_raters:,} raters, flagged by {self.source}; {self.question} of "
            f"{self.n_items:,} items"
        )
        interval = f"{100 * self.confidence:g} % interval"
        grids = [_removal(axis, interval) for axis in self.axes]
        return Page(summary, (*grids, _moves(self)), tuple(_audit_notes(self)))


def _finite(axis: dict[str, Any]) -> dict[str, Any]:
    ends = ("odds_ratio", "ci_low", "ci_high")
    groups = [group | {name: none_if_not_finite(group[name]) for name in ends} for group in axis["groups"]]
    return axis | {"groups": groups}


def _removal(axis: AxisRemoval, interval: str) -> Grid:
    head = (escape_unprintable(axis.axis), "removed", "of", "share", "odds ratio", interval, "against")
    lines = tuple(_group(group) for group in axis.groups)
    if axis.p is None:
        return Grid(head, lines, axis.reason or "")
    unknown = f" {axis.n_unknown:,} raters of unknown group are excluded." if axis.n_unknown else ""
    adjusted = f"{format_short(axis.p_adjusted, 4)} after Benjamini–Hochberg over the axes"
    return Grid(head, lines, f"{axis.method} of independence: p {format_short(axis.p, 4)}, {adjusted}.{unknown}")


def _group(group: GroupRemoval) -> tuple[str, ...]:
    share = format_short(group.n_removed / group.n_raters, 3)
    counted = (escape_unprintable(group.group), f"{group.n_removed:,}", f"{group.n_raters:,}", share)
    if group.odds_ratio is None or group.ci_low is None or group.ci_high is None:
        return (*counted, "", "", "")
    ends = f"[{_odds(group.ci_low)}, {_odds(group.ci_high)}]"
    return (*counted, _odds(group.odds_ratio), ends, escape_unprintable(group.against or ""))


def _odds(value: float) -> str:
    return "∞" if isinf(value) else f"{value:.2f}"


def _moves(audit: FilterAudit) -> Grid:
    percent = f"{100 * audit.confidence:g} % of them"
    lines = []
    for move in audit.moves:
        wording, digits = MEASURES[move.measure]
        cells = [_number(value, digits) for value in (move.observed, move.null_median)]
        known = move.null_low is not None
        spread = f"{_number(move.null_low, digits)} to {_number(move.null_high, digits)}" if known else UNKNOWN
        lines.append((wording, *cells, spread, format_short(move.p, 3)))
    return Grid(("label shifts", "filter", "at random", percent, "p"), tuple(lines), _describe_largest(audit))


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}" if digits == 0 else format_short(value, digits)


def _describe_largest(audit: FilterAudit) -> str:
    largest = audit.largest("total_variation")
    if largest is None:
        return ""
    item_id, value = largest
    return f"largest total variation: {format_short(value, 5)}, item {escape_unprintable(item_id)}"


def _audit_notes(audit: FilterAudit) -> Iterator[str]:
    if audit.reason:
        yield f"Label shifts are not compared with random removals: {escape_unprintable(audit.reason)}."
    elif audit.draws:
        within = f" within the groups of {audit.within}" if audit.within else ""
        yield (
            f"At random: {audit.draws:,} times {len(audit.removed):,} raters with like numbers of ratings{within}, "
            f"seed {audit.seed}; median. p: share of random removals with shifts as large or larger."
        )
    if any(group.reason for axis in audit.axes for group in axis.groups):
        reasons = list(dict.fromkeys(f"{g.group}, {g.reason}" for axis in audit.axes for g in axis.groups if g.reason))
        more = f"; and {len(reasons) - MAX_REASONS:,} more" * (len(reasons) > MAX_REASONS)
        yield f"Odds ratios of 0 or infinity: {escape_unprintable('; '.join(reasons[:MAX_REASONS]))}{more}."
    yield from (format_message("Note: {}", note) for note in audit.notes)
