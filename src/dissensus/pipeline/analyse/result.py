"""Result of an analysis."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.pipeline.analyse.settings import AnalysisSettings

SCHEMA_VERSION = 1
# With fewer raters than this the 95 % intervals of simulated pools held the estimand less than 93 % of the time, or
# were not tried: docs/generated/calibration.md, made by `make calibration`.
CALIBRATED_FROM = {
    "irr": 9,
    "xrr": 13,
    "negentropy": 9,
    "cross_negentropy": 25,
    "plurality_size": 50,
    "voting_agreement": 9,
    "gai": 9,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One statistic of one group.

    Parameters
    ----------
    axis, group
        The group; both None for the whole pool, and `group` None for a statistic of an axis (`dsi`).
    against
        What it is compared with: "rest" or another group; None for statistics within a group.
    metric
        irr, xrr, negentropy, cross_negentropy, plurality_size, voting_agreement, gai or dsi.
    estimate, ci_low, ci_high
        The value and its confidence interval; None where undefined or not asked for.
    p, p_adjusted
        Raw and adjusted permutation p-values; None where there is no test.
    direction
        above or below the median of the permutations; None where there is no test or it equals the median.
    n_raters, n_items
        Raters in the group, None where it is not known who answered, and items that entered the statistic.
    ties
        Items whose most frequent answer is tied, where ties matter.
    reason
        Why something is None.
    warning
        What to keep in mind when reading the row.
    """

    axis: str | None
    group: str | None
    against: str | None
    metric: str
    estimate: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    direction: str | None = None
    n_raters: int | None
    n_items: int
    ties: int | None = None
    reason: str | None = None
    warning: str | None = None

    @property
    def stars(self) -> str:
        """``*`` for p < .05, ``**`` if it stays so after adjustment, as GRASP prints them."""
        if self.p_adjusted is not None and self.p_adjusted < 0.05:
            return "**"
        return "*" if self.p is not None and self.p < 0.05 else ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Analysis:
    """Agreement within and between groups; printed as a table, in a notebook too.

    Parameters
    ----------
    overall
        Statistics of the whole pool.
    rows
        Statistics of each group of each axis.
    settings
        What was asked for; with the same ratings and version it gives the same result.
    n_raters, n_items, n_ratings
        Size of the pool that was analysed; no number of raters where it is not known who answered.
    categories
        The answers in order.
    notes, warnings
        How the ratings were read, and what to keep in mind.
    null
        Permutation replicates, shape (B, rows): the distribution of each row under the null hypothesis.
    version
        Version of Dissensus that made it.
    """

    overall: tuple[Row, ...]
    rows: tuple[Row, ...]
    settings: AnalysisSettings
    n_raters: int | None
    n_items: int
    n_ratings: int
    categories: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    version: str
    null: npt.NDArray[np.float64] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the replicates as plain values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "dissensus_version": self.version,
            "settings": asdict(self.settings),
            "n_raters": self.n_raters,
            "n_items": self.n_items,
            "n_ratings": self.n_ratings,
            "categories": list(self.categories),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "overall": {row.metric: asdict(row) for row in self.overall},
            "rows": [asdict(row) for row in self.rows],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def to_polars(self) -> pl.DataFrame:
        """Return one line per row, the whole pool first, with settings, size, notes and version in columns."""
        settings = asdict(self.settings)
        settings["axes"] = " ".join(self.settings.axes)
        frame = pl.DataFrame([asdict(row) for row in (*self.overall, *self.rows)], schema=_ROW_SCHEMA)
        about = {f"setting_{name}": value for name, value in settings.items()} | {
            "pool_raters": self.n_raters,
            "pool_items": self.n_items,
            "pool_ratings": self.n_ratings,
            "categories": " | ".join(self.categories),
            "notes": " ".join(self.notes),
            "warnings": " ".join(self.warnings),
            "dissensus_version": self.version,
        }
        return frame.with_columns(pl.lit(value).alias(name) for name, value in about.items())

    def __str__(self) -> str:
        from dissensus.pipeline.analyse.display import analysis_page

        return analysis_page(self).as_text()

    def _repr_html_(self) -> str:
        from dissensus.pipeline.analyse.display import analysis_page

        return analysis_page(self).as_html()


def select_defined(value: float) -> float | None:
    """Return None for NaN, which no row holds."""
    return None if np.isnan(value) else float(value)


_TEXT = ("axis", "group", "against", "metric", "direction", "reason", "warning")
_WHOLE = ("n_raters", "n_items", "ties")
_ROW_SCHEMA = {
    name: pl.String if name in _TEXT else pl.Int64 if name in _WHOLE else pl.Float64
    for name in Row.__dataclass_fields__
}
