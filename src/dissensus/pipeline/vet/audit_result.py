"""Result of a filter audit, and its display."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from math import isfinite, isinf
from typing import Any

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, Page, escape_unprintable, format_short

SCHEMA_VERSION = 1
# Reasons that a note lists.
LISTED = 8
# Wording of each measure of how labels move, and the digits that it is shown with.
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
    n_removed: int  # Raters removed, of how many
    n_raters: int
    # The group that the odds ratio compares with, or "rest"; None where there is no odds ratio
    against: str | None = None
    # Conditional odds ratio of being removed, with its exact interval; see `odds_ratio`. 0 or infinite where nobody or
    # everybody of one side was removed; None where there is none.
    odds_ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    reason: str | None = None  # Why the odds ratio is None, 0 or infinite


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisRemoval:
    """Test of independence between removal and the groups of an axis."""

    axis: str  # The axis, and each of its groups
    groups: tuple[GroupRemoval, ...]
    # P-value of the exact test, and adjusted over the axes by Benjamini and Hochberg; None where nothing is tested
    p: float | None = None
    p_adjusted: float | None = None
    method: str | None = None  # The test and how it was computed
    n_unknown: int  # Raters whose group is not known; they take no part
    reason: str | None = None  # Why nothing was tested


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMove:
    """Label shift on the whole, beside random removal of as many raters."""

    measure: str  # mean_total_variation, mean_jensen_shannon, changed or disjoint; see `label_shift`
    observed: float | None  # Its value; None where no item has a rater left
    p: float | None  # How often chance moves labels as far or further, one-sided; None without draws
    # Median and central range of the random removals, the range at the audit's level; None without draws
    null_median: float | None
    null_low: float | None
    null_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilterAudit:
    """Effect of removing raters on the pool and on the labels; printed as tables, in a notebook too.

    Parameters
    ----------
    removed
        Ids of the raters removed.
    source
        Who removes them: the file, the caller, or the criteria of vetting.
    axes
        Whether removal is independent of each demographic.
    moves
        How far labels move, beside chance.
    items
        One row per item: ``item_id``, ``n_before`` and ``n_after`` ratings, ``total_variation``, ``jensen_shannon``
        (null where nobody is left), ``before`` and ``after`` (the most frequent answers), ``changed``, ``disjoint``.
    question, n_raters, n_items
        What was looked at.
    draws, within, seed, level
        Random removals, the axis within whose groups they are drawn, their seed, and the confidence level.
    notes
        How the ratings were read, and what to keep in mind.
    version
        Version of Dissensus that made it.
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
    level: float
    notes: tuple[str, ...] = field(repr=False)
    version: str

    def largest(self, measure: str) -> tuple[str, float] | None:
        """Return the item that moves furthest by total_variation or jensen_shannon, and how far; the first of ties."""
        known = self.items.drop_nulls(measure)
        if known.is_empty():
            return None
        row = known.row(int(known[measure].arg_max() or 0), named=True)
        return str(row["item_id"]), float(row[measure])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; what is infinite is None, and its reason says so."""
        values = {name: getattr(self, name) for name in ("question", "source", "n_raters", "n_items")}
        settings = {name: getattr(self, name) for name in ("draws", "within", "seed", "level")}
        return {
            "schema_version": SCHEMA_VERSION,
            "dissensus_version": self.version,
            **values,
            "settings": settings,
            "removed": list(self.removed),
            "axes": [_finite(asdict(axis)) for axis in self.axes],
            "moves": [asdict(move) for move in self.moves],
            "notes": list(self.notes),
            "items": self.items.to_dicts(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def __str__(self) -> str:
        return audit_page(self).as_text()

    def _repr_html_(self) -> str:
        return audit_page(self).as_html()


def _finite(axis: dict[str, Any]) -> dict[str, Any]:
    ends = ("odds_ratio", "ci_low", "ci_high")
    groups = [group | {name: _finite_or_none(group[name]) for name in ends} for group in axis["groups"]]
    return axis | {"groups": groups}


def _finite_or_none(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def audit_page(audit: FilterAudit) -> Page:
    """Return one block an axis, and one for the labels."""
    n = len(audit.removed)
    summary = (
        f"Filter of {n:,} of {audit.n_raters:,} raters, flagged by {audit.source}; {audit.question} of "
        f"{audit.n_items:,} items"
    )
    interval = f"{100 * audit.level:g} % interval"
    grids = [_removal(axis, interval) for axis in audit.axes]
    return Page(summary, (*grids, _moves(audit)), tuple(_audit_notes(audit)))


def _removal(axis: AxisRemoval, interval: str) -> Grid:
    head = (escape_unprintable(axis.axis), "removed", "of", "share", "odds ratio", interval, "against")
    lines = tuple(_group(group) for group in axis.groups)
    if axis.p is None:
        return Grid(head, lines, axis.reason or "")
    unknown = f" {axis.n_unknown:,} raters of unknown group take no part." if axis.n_unknown else ""
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
    percent = f"{100 * audit.level:g} % of them"
    lines = []
    for move in audit.moves:
        wording, digits = MEASURES[move.measure]
        cells = [_number(value, digits) for value in (move.observed, move.null_median)]
        spread = f"{_number(move.null_low, digits)} to {_number(move.null_high, digits)}" if audit.draws else UNKNOWN
        lines.append((wording, *cells, spread, format_short(move.p, 3)))
    return Grid(("how labels move", "filter", "at random", percent, "p"), tuple(lines), _furthest(audit))


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}" if digits == 0 else format_short(value, digits)


def _furthest(audit: FilterAudit) -> str:
    found = audit.largest("total_variation")
    if found is None:
        return ""
    return f"largest total variation: {format_short(found[1], 5)}, item {escape_unprintable(found[0])}"


def _audit_notes(audit: FilterAudit) -> Iterator[str]:
    if audit.draws:
        within = f" within the groups of {audit.within}" if audit.within else ""
        yield (
            f"At random: {audit.draws:,} times {len(audit.removed):,} raters{within}, seed {audit.seed}; median. "
            "p: how often chance moves labels as far or further."
        )
    if any(group.reason for axis in audit.axes for group in axis.groups):
        reasons = list(dict.fromkeys(f"{g.group}, {g.reason}" for axis in audit.axes for g in axis.groups if g.reason))
        rest = f"; and {len(reasons) - LISTED:,} more" * (len(reasons) > LISTED)
        yield f"Odds ratios of 0 or infinity: {escape_unprintable('; '.join(reasons[:LISTED]))}{rest}."
    yield from (f"Note: {note}" for note in audit.notes)
