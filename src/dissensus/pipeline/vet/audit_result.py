"""Result of a filter audit."""

import json
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

import polars as pl

SCHEMA_VERSION = 1


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
        from dissensus.pipeline.vet.display import audit_page

        return audit_page(self).as_text()

    def _repr_html_(self) -> str:
        from dissensus.pipeline.vet.display import audit_page

        return audit_page(self).as_html()


def _finite(axis: dict[str, Any]) -> dict[str, Any]:
    ends = ("odds_ratio", "ci_low", "ci_high")
    groups = [group | {name: _number(group[name]) for name in ends} for group in axis["groups"]]
    return axis | {"groups": groups}


def _number(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None
