"""Result of the audit of a judge."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from dissensus.pipeline.judge.audit.display import audit_page
from dissensus.pipeline.judge.audit.rows import AuditRow
from dissensus.pipeline.tables import Page, PagedResult
from dissensus.schema.hints import count_noun
from dissensus.schema.tabular_result import TabularResult, read_row_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """Settings that reproduce an audit."""

    question: str
    scale: tuple[str, ...]
    axes: tuple[str, ...] = ()
    min_raters: int = 8  # Fewest raters of a group that is compared with the judge
    suppress_below: int = 0
    confidence: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JudgeAudit(TabularResult, PagedResult):
    """Audit of a judge; printed as tables.

    Parameters
    ----------
    judge
        Name of the judge.
    rows
        Statistics: consistency; changed, shift and changed_beyond_repeat of each probe; agreement, human_agreement,
        constant_agreement, agreement_difference, distribution_distance, spread_difference and nearer_share of each
        group; toward_group, toward_others, toward_group_more, human_spread and spread_difference of each persona.
    outcomes
        Number of requests by outcome.
    settings
        Settings that reproduce the result with the same answers and ratings.
    n_items, n_raters
        Items of the judge, and raters.
    notes
        Remarks on the answers and the ratings.
    version
        Version of Dissensus.
    """

    judge: str
    rows: tuple[AuditRow, ...]
    outcomes: Mapping[str, int]
    settings: AuditSettings
    n_items: int
    n_raters: int
    notes: tuple[str, ...] = ()
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema_version": 1,
            "dissensus_version": self.version,
            "judge": self.judge,
            "settings": asdict(self.settings),
            "n_items": self.n_items,
            "n_raters": self.n_raters,
            "outcomes": dict(self.outcomes),
            "notes": list(self.notes),
            "rows": [asdict(row) for row in self.rows],
        }

    def to_polars(self) -> pl.DataFrame:
        """Return one line per row."""
        return pl.DataFrame([asdict(row) for row in self.rows], schema=read_row_schema(AuditRow))

    def page(self) -> Page:
        """Return the audit as tables."""
        return audit_page(self._summary(), self.rows, self.outcomes, self.settings.confidence, self.notes)

    def _summary(self) -> str:
        beside = f", beside {count_noun(self.n_raters, 'rater')}" if self.n_raters else ""
        return (
            f"{self.judge} on {self.settings.question}: {count_noun(sum(self.outcomes.values()), 'request')} about "
            f"{count_noun(self.n_items, 'item')}{beside}."
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._summary()} {len(self.rows):,} rows)"
