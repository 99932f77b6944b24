"""Ratings of the pool and of the groups of each axis, with the reasons of those without numbers."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from dissensus.schema.ratings.table import Ratings
from dissensus.stats.judge.answers import PanelRatings
from dissensus.stats.suppression import select_publishable_groups

WITHHELD: Final = "withheld: fewer than {:,} raters, or others could be computed from them"


class PanelGroups:
    """Ratings of the pool and of each group of the axes."""

    def __init__(
        self, ratings: Ratings, panel: PanelRatings, axes: Sequence[str], min_raters: int, suppress_below: int
    ) -> None:
        self._panel, self._axes = panel, axes
        grouped = [ratings.group_codes(axis) for axis in axes]
        self._names = [names for _, names in grouped]
        self._codes = np.stack([codes for codes, _ in grouped]) if grouped else np.empty((0, ratings.n_raters), int)
        self._min_raters, self._suppress_below = min_raters, suppress_below
        self._raters = np.unique(panel.raters)
        shown = np.ones((len(axes), max(map(len, self._names), default=0)), np.bool_)
        if suppress_below and len(axes):
            chosen = select_publishable_groups(self._codes[:, self._raters], min_cell=suppress_below)
            shown = np.zeros_like(shown)
            shown[:, : chosen.shape[1]] = chosen
        self._shown = shown

    @property
    def pool(self) -> PanelRatings:
        """All ratings of judged items."""
        return self._panel

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
                yield axis, name, own, self.refuse(len(np.unique(own.raters)), shown=bool(self._shown[a, g]))

    def others(self, axis: str, group: str) -> PanelRatings:
        """Return the ratings of all raters of an axis outside of a group."""
        a = list(self._axes).index(axis)
        of_rating = self._codes[a][self._panel.raters]
        return self._panel.select((of_rating >= 0) & (of_rating != list(self._names[a]).index(group)))
