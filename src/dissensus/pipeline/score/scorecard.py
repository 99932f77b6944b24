"""Scorecard of chatbots for groups of raters."""

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from dissensus.pipeline.score.display import scorecard_page
from dissensus.pipeline.score.rows import GapRow, ScoreRow
from dissensus.pipeline.score.settings import ScoreSettings
from dissensus.pipeline.tables import Page, PagedResult
from dissensus.schema.hints import count_noun
from dissensus.schema.tabular_result import TabularResult, read_row_schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Scorecard(TabularResult, PagedResult):
    """Scorecard of chatbots for groups of raters; printed as tables.

    Parameters
    ----------
    rows
        Statistics of the pool and of each group.
    gaps
        Gaps between the groups of each axis.
    settings
        Settings that reproduce the result with the same ratings.
    n_raters, n_items, n_ratings
        Size of the pool.
    notes, warnings
        Notes on the ratings, and caveats.
    version
        Version of Dissensus.
    """

    rows: tuple[ScoreRow, ...]
    gaps: tuple[GapRow, ...]
    settings: ScoreSettings
    n_raters: int
    n_items: int
    n_ratings: int
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema_version": 1,
            "dissensus_version": self.version,
            "settings": asdict(self.settings),
            "n_raters": self.n_raters,
            "n_items": self.n_items,
            "n_ratings": self.n_ratings,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "rows": [asdict(row) for row in self.rows],
            "gaps": [asdict(gap) for gap in self.gaps],
        }

    def to_polars(self) -> pl.DataFrame:
        """Return a table of the rows."""
        return pl.DataFrame([asdict(row) for row in self.rows], schema=read_row_schema(ScoreRow))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.n_ratings:,} ratings of {self.n_items:,} items by {self.n_raters:,} raters; "
            f"{len(self.rows):,} rows, {len(self.gaps):,} gaps)"
        )

    def page(self) -> Page:
        """Return the scorecard as tables."""
        return scorecard_page(self._summary(), self.rows, self.gaps, self.settings, self._notes())

    def _summary(self) -> str:
        return (
            f"Share (%) of {' or '.join(self.settings.unsafe)} answers: {count_noun(self.n_ratings, 'rating')} of "
            f"{count_noun(self.n_items, 'item')} by {count_noun(self.n_raters, 'rater')}."
        )

    def _notes(self) -> list[str]:
        return [*(f"Warning: {text}" for text in self.warnings), *(f"Note: {text}" for text in self.notes)]
