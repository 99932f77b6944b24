"""The result of vetting."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from dissensus.schema.ratings.columns import FLAG, RATER_ID
from dissensus.stats.criteria import Criteria

SCHEMA_VERSION = 1
AGREEMENT = "agreement_"
"""Begins the columns of agreement with others: of the pool, and of the rater's own group on each axis."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vetting:
    """Evidence on each rater, and who meets a criterion; printed as a table, in a notebook too.

    Nobody is left out: what to do with a flag is for a person to decide.

    Parameters
    ----------
    raters
        One row per rater, in the order of ``rater_id``; null where something is not known.

        ``n_ratings``, ``n_timed``
            Answers to the question, and items with a known time.
        ``median_time_ms``, ``below_half``, ``below_third``, ``below_quarter``
            See `answer_times`.
        ``same_label``, ``most_frequent``, ``label_entropy``
            See `label_use`.
        ``non_comprehension``
            Share of items about which the rater said that the conversation cannot be understood.
        ``flat``
            Share of items with one and the same answer to all granular questions; see `flat_items`.
        ``agreement_pool``, ``agreement_AXIS``
            With the plurality of the others, of the pool and of the rater's own group; see `plurality_agreement`.
        ``flagged_for``, ``rater_flagged``
            The criteria that the rater meets, in words, and whether there is one.
        ``flagged_in_file``
            What the table of ratings says of the rater; null where it says nothing.
        ``unknown``
            Why something is null.
    question
        The question whose answers were looked at.
    categories
        Its answers in order.
    criteria
        When a rater is flagged.
    pool_median_ms
        Median of all times of the pool; None if there are none.
    absent
        Columns in which everything is null, with the reason.
    axes
        Axes on which raters were compared with their own group.
    n_items, n_ratings
        Size of what was looked at.
    notes
        How the ratings were read.
    version
        Version of Dissensus that made it.
    """

    raters: pl.DataFrame
    question: str
    categories: tuple[str, ...]
    criteria: Criteria
    pool_median_ms: float | None
    absent: Mapping[str, str]
    axes: tuple[str, ...]
    n_items: int
    n_ratings: int
    notes: tuple[str, ...] = field(repr=False)
    version: str

    @property
    def flagged(self) -> tuple[str, ...]:
        """Ids of the raters who meet a criterion."""
        return tuple(self.raters.filter(FLAG)[RATER_ID])

    def flags(self) -> pl.DataFrame:
        """Return ``rater_id`` and ``rater_flagged``, which `read_ratings` takes as its table of raters."""
        return self.raters.select(RATER_ID, FLAG)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "dissensus_version": self.version,
            "question": self.question,
            "categories": list(self.categories),
            "criteria": asdict(self.criteria),
            "axes": list(self.axes),
            "n_raters": self.raters.height,
            "n_items": self.n_items,
            "n_ratings": self.n_ratings,
            "n_flagged": len(self.flagged),
            "pool_median_ms": self.pool_median_ms,
            "absent": dict(self.absent),
            "notes": list(self.notes),
            "raters": self.raters.to_dicts(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)

    def to_polars(self) -> pl.DataFrame:
        """Return one line per rater, lists joined by semicolons, with criteria, notes and version in columns."""
        about = {f"criterion_{name}": value for name, value in asdict(self.criteria).items()} | {
            "question": self.question,
            "pool_median_ms": self.pool_median_ms,
            "notes": " ".join(self.notes),
            "dissensus_version": self.version,
        }
        lines = self.raters.with_columns(pl.col("flagged_for").list.join("; "))
        return lines.with_columns(pl.lit(value).alias(name) for name, value in about.items())

    def __str__(self) -> str:
        from dissensus.pipeline.vet.display import vetting_page

        return vetting_page(self).as_text()

    def _repr_html_(self) -> str:
        from dissensus.pipeline.vet.display import vetting_page

        return vetting_page(self).as_html()
