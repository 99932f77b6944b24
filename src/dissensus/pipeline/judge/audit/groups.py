"""Ratings of the pool and of the groups of each axis, with the reasons of those without numbers."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from dissensus.pipeline.judge.audit.rows import AuditRow
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.judge.agreement import find_comparable
from dissensus.stats.judge.answers import PanelRatings
from dissensus.stats.result import FloatArray, Int64Array
from dissensus.stats.suppression import select_publishable_groups

WITHHELD: Final = "withheld: fewer than {:,} raters, or others could be computed from them"


class PanelGroups:
    """Ratings of the pool and of each group of the axes; only raters whose ratings enter estimates count."""

    def __init__(
        self,
        ratings: Ratings,
        panel: PanelRatings,
        judge: FloatArray,
        axes: Sequence[str],
        min_raters: int,
        suppress_below: int,
    ) -> None:
        self._panel, self._judge, self._axes = panel, judge, axes
        grouped = [ratings.group_codes(axis) for axis in axes]
        self._names = [names for _, names in grouped]
        self._codes = np.stack([codes for codes, _ in grouped]) if grouped else np.empty((0, ratings.n_raters), int)
        self._min_raters, self._suppress_below = min_raters, suppress_below
        self._raters = self._list_raters(panel)
        shown = np.ones((len(axes), max(map(len, self._names), default=0)), np.bool_)
        if suppress_below and len(axes):
            publishable = select_publishable_groups(self._list_codes()[:, self._raters], min_cell=suppress_below)
            shown = np.zeros_like(shown)
            shown[:, : publishable.shape[1]] = publishable
        self._shown = shown

    def _list_raters(self, ratings: PanelRatings) -> Int64Array:
        """Return the raters of comparable items."""
        return np.unique(ratings.raters[find_comparable(ratings, self._judge)])

    def _list_codes(self) -> Int64Array:
        """Return the group of each rater on each axis; -1 for those who rated no comparable item of their group."""
        codes = np.full_like(self._codes, -1)
        for a, names in enumerate(self._names):
            of_rating = self._codes[a][self._panel.raters]
            for g in range(len(names)):
                codes[a, self._list_raters(self._panel.select(of_rating == g))] = g
        return codes

    def withhold(self, row: AuditRow, n_raters: int | None = None) -> AuditRow:
        """Return a row without numbers if too few raters entered its estimate."""
        if row.estimate is None:
            return row
        reason = self.refuse(row.n_raters if n_raters is None else n_raters)
        if reason is None:
            return row
        keys = {name: getattr(row, name) for name in ("metric", "probe", "persona", "axis", "group")}
        return AuditRow(**keys, reason=reason)

    def refuse(self, n_raters: int, *, shown: bool = True) -> str | None:
        """Return the reason for which a group of so many raters has no numbers."""
        if not shown or n_raters < self._suppress_below:
            return WITHHELD.format(self._suppress_below)
        return f"fewer than {self._min_raters:,} raters" if n_raters < self._min_raters else None

    def split(self) -> Iterator[tuple[str | None, str | None, PanelRatings, str | None]]:
        """Yield axis, group, ratings, and the reason of a group without numbers."""
        yield None, None, self._panel, self.refuse(len(self._raters))
        for a, (axis, names) in enumerate(zip(self._axes, self._names, strict=True)):
            of_rating = self._codes[a][self._panel.raters]
            for g, name in enumerate(names):
                own = self._panel.select(of_rating == g)
                yield axis, name, own, self.refuse(len(self._list_raters(own)), shown=bool(self._shown[a, g]))

    def others(self, axis: str, group: str) -> PanelRatings:
        """Return the ratings of all raters of an axis outside of a group."""
        a = list(self._axes).index(axis)
        of_rating = self._codes[a][self._panel.raters]
        return self._panel.select((of_rating >= 0) & (of_rating != list(self._names[a]).index(group)))
