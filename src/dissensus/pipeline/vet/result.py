"""Result of vetting, and its display."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import polars as pl

from dissensus.pipeline.tables import (
    UNKNOWN,
    Grid,
    Page,
    PagedResult,
    escape_unprintable,
    format_interval,
    format_short,
)
from dissensus.pipeline.vet.consistency import grids_of_consistency
from dissensus.pipeline.vet.times import AnswerTimes
from dissensus.schema.advice import format_message
from dissensus.schema.ratings.columns import FLAG, RATER_ID, RATER_PREFIX
from dissensus.schema.tabular_result import TabularResult
from dissensus.stats.criteria import SHARES, Criteria

AGREEMENT = "agreement_"
"""Prefix of the columns of agreement with the pool, and with the rater's own group on each axis."""

HEADINGS = {
    "median_time_ms": "median s",
    "below_half": "< 1/2",
    "below_third": "< 1/3",
    "below_quarter": "< 1/4",
    "same_label": "one label",
    "label_entropy": "entropy",
    "consistency": "consistency",
    "non_comprehension": "unclear",
    "flat": "flat",
    "bulk_share": "bulk",
    "outlier_score": "outlier",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Vetting(TabularResult, PagedResult):
    """Evidence on each rater, and flags by criteria; printed as a table, in a notebook too.

    No rater is left out: a person decides on flags.

    Parameters
    ----------
    raters
        One row per rater, in the order of ``rater_id``; unknown values are null.

        ``n_ratings``, ``n_timed``
            Answers to the question, and items with a known time.
        ``median_time_ms``, ``total_time_ms``, ``below_half``, ``below_third``, ``below_quarter``
            See `answer_times`.
        ``same_label``, ``most_frequent``, ``label_entropy``
            See `label_use`.
        ``consistency``
            Share of equal answers to items that the rater answered twice; see `rater_consistency`.
        ``non_comprehension``
            Share of conversations that the rater marked as impossible to understand.
        ``flat``
            Share of items with the same answer to all granular questions; see `flat_items`.
        ``bulk_share``
            Mean share of the answers of a rating that were given in bulk; only if the file has it.
        ``agreement_pool``, ``agreement_AXIS``
            Agreement with the plurality of the other raters of the pool and of the rater's own group; see
            `plurality_agreement`.
        ``outlier_score``, ``answers_outlier_score``
            Distance from the bulk of raters by median time (its logarithm), label entropy, agreement with the pool,
            non-comprehension and flat items, as far as they are known, and by all of these but time; see
            `dissensus.stats.vetting.outlier_score`.
        ``flagged_for``, ``rater_flagged``
            Descriptions of the criteria that the rater meets; true if there are any.
        ``flagged_in_file``
            Flag in the table of ratings; null if missing.
        ``unknown``
            Reasons for null values.
    question
        The question whose answers were used.
    categories
        Its answers in order.
    criteria
        Thresholds of the flags.
    pool_median_ms
        Median of all times of the pool; None if there are none.
    times
        Times; None if there are none.

        ``items``
            One row per item: ``item_id``, ``n_timed`` and ``mean_time_ms``, the mean time of its raters; none for
            ratings of a folder.
        ``groups``
            One row per group of each axis: ``axis``, ``group``, ``n_raters`` (with a time), ``q25_ms``, ``median_ms``
            and ``q75_ms`` of the raters' median times, and ``median_total_ms``, the median of their total times.
        ``correlations``
            One row per measure: ``measure``, ``rank_correlation`` with the median time of raters (see
            `dissensus.stats.vetting.rank_correlation`), ``ci_low``, ``ci_high`` and ``n_raters``; null where it is
            undefined.
    consistency
        One row for all raters (``axis`` and ``group`` are null) and for each group with repeated answers:
        ``axis``, ``group``, ``estimate``, ``ci_low``, ``ci_high``, ``corrected``, ``n_repeats``, ``n_raters``,
        ``n_items``; see `estimate_consistency`. Empty if no item was answered twice.
    absent
        Columns in which all values are null, with the reason.
    axes
        Axes on which raters were compared with their own group.
    n_items, n_ratings
        Numbers of items and of ratings of the question.
    notes
        Notes on the ratings.
    version
        Version of Dissensus.
    """

    raters: pl.DataFrame
    question: str
    categories: tuple[str, ...]
    criteria: Criteria
    pool_median_ms: float | None
    times: AnswerTimes | None
    consistency: pl.DataFrame
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
        """Return ``rater_id`` and ``rater_flagged``, a table of raters for `read_ratings`."""
        return self.raters.select(RATER_ID, FLAG)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "schema_version": 1,
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
            "times": None if self.times is None else self.times.to_dict(),
            "consistency": self.consistency.to_dicts(),
            "absent": dict(self.absent),
            "notes": list(self.notes),
            "raters": self.raters.to_dicts(),
        }

    def to_polars(self) -> pl.DataFrame:
        """Return one line per rater, lists joined by semicolons, with criteria, notes and version in columns."""
        constants = {f"criterion_{name}": value for name, value in asdict(self.criteria).items()} | {
            "question": self.question,
            "pool_median_ms": self.pool_median_ms,
            "notes": " ".join(self.notes),
            "dissensus_version": self.version,
        }
        lines = self.raters.with_columns(pl.col("flagged_for").list.join("; "))
        return lines.with_columns(pl.lit(value).alias(name) for name, value in constants.items())

    def page(self) -> Page:
        """Return a page with the median of the pool and the flagged raters."""
        columns = [name for name in (*HEADINGS, *_agreements(self)) if _is_known(name, self)]
        has_flags = self.raters["flagged_in_file"].null_count() == 0
        head = ("rater", "ratings", *(_heading(name) for name in columns), *(["file"] if has_flags else []))
        medians = self.raters.select(pl.col("n_ratings", *columns).median()).row(0, named=True)
        lines = [("median of the pool", *_cells(medians, columns, self), *([""] if has_flags else []))]
        n_criteria = pl.col("flagged_for").list.len()
        flagged = self.raters.filter(FLAG).sort(n_criteria, descending=True, maintain_order=True)
        for row in flagged.iter_rows(named=True):
            file_flag = ["flagged" if row["flagged_in_file"] else ""] if has_flags else []
            lines.append((escape_unprintable(row[RATER_ID]), *_cells(row, columns, self), *file_flag))
        grids = (Grid(head, tuple(lines)), *grids_of_times(self.times), *grids_of_consistency(self.consistency))
        return Page(_summary(self), grids, tuple(_notes(self)))


def _is_known(name: str, vetting: Vetting) -> bool:
    return name in vetting.raters.columns and name not in vetting.absent


def grids_of_times(times: AnswerTimes | None) -> Iterator[Grid]:
    """Yield the times of groups, and the rank correlations of times."""
    if times is None:
        return
    head = ("median times of raters", "raters", "lower quartile", "median s", "upper quartile", "total min")
    lines = [
        (
            f"{row['axis'].removeprefix(RATER_PREFIX)}: {escape_unprintable(row['group'])}",
            f"{row['n_raters']:,}",
            *(_format_time(row[name], 1000) for name in ("q25_ms", "median_ms", "q75_ms")),
            _format_time(row["median_total_ms"], 60_000),
        )
        for row in times.groups.iter_rows(named=True)
    ]
    if lines:
        yield Grid(head, tuple(lines))
    columns = ("rank correlation of median time with", "estimate", "interval", "raters")
    related = [
        (
            _heading(row["measure"]),
            format_short(row["rank_correlation"]),
            format_interval(row["ci_low"], row["ci_high"]),
            f"{row['n_raters']:,}",
        )
        for row in times.correlations.iter_rows(named=True)
    ]
    yield Grid(columns, tuple(related))


def _format_time(value: float | None, unit: int) -> str:
    return UNKNOWN if value is None else f"{value / unit:,.1f}"


def _agreements(vetting: Vetting) -> list[str]:
    return [f"{AGREEMENT}{name}" for name in ("pool", *vetting.axes)]


def _heading(name: str) -> str:
    if name == "answers_outlier_score":
        return "outlier (answers alone)"
    return HEADINGS.get(name) or "with " + escape_unprintable(name.removeprefix(AGREEMENT).replace(RATER_PREFIX, ""))


def _cells(row: dict[str, float | None], names: list[str], vetting: Vetting) -> Iterator[str]:
    """Yield the cells of a rater, with a star where a criterion is met."""
    yield f"{row['n_ratings']:,.0f}"
    for name in names:
        value = row[name]
        if name == "median_time_ms" and value is not None:
            yield f"{value / 1000:.1f}"
            continue
        met = name in SHARES and value is not None and row.get(FLAG) and _meets(row, name, vetting)
        yield format_short(value) + ("*" if met else "")


def _meets(row: dict[str, float | None], name: str, vetting: Vetting) -> bool:
    n = row["n_ratings" if name == "same_label" else "n_timed"]
    value, criteria = row[name], vetting.criteria
    return value is not None and value >= getattr(criteria, name) and (n or 0) >= criteria.min_ratings


def _summary(vetting: Vetting) -> str:
    raters = vetting.raters
    n, in_file = len(vetting.flagged), int(raters["flagged_in_file"].sum())
    n_common = raters.filter(pl.col(FLAG) & pl.col("flagged_in_file")).height
    text = (
        f"{vetting.question}: {vetting.n_ratings:,} ratings of {vetting.n_items:,} items by {raters.height:,} raters. "
        f"{n:,} {'rater meets' if n == 1 else 'raters meet'} a criterion"
    )
    has_flags = raters["flagged_in_file"].null_count() == 0
    return text + (f"; the file flags {in_file:,}, {n_common:,} of them among these." if has_flags else ".")


def _notes(vetting: Vetting) -> Iterator[str]:
    criteria = vetting.criteria
    limits = ", ".join(
        f"{HEADINGS[name]} {format_short(getattr(criteria, name))}" for name in SHARES if name not in vetting.absent
    )
    yield f"* meets a criterion, from these shares and {criteria.min_ratings:,} ratings on: {limits}."
    yield "No rater is left out. Only starred measures flag raters: those who differ from the pool may be sincere."
    if vetting.pool_median_ms is not None:
        seconds = f"{vetting.pool_median_ms / 1000:.1f} s"
        yield f"< shares of items answered in less than that fraction of {seconds}, the pool's median time."
    if vetting.times is not None and vetting.times.items.height:
        means = vetting.times.items["mean_time_ms"].drop_nulls()
        low, middle, high = (f"{means.quantile(q, 'linear') / 1000:.1f}" for q in (0, 0.5, 1))  # type: ignore[operator]
        yield f"Mean time per conversation: {middle} s in the median, from {low} to {high}."
    if "outlier_score" not in vetting.absent:
        yield "outlier: robust distance from the bulk of raters over the other measures; flags nobody."
    shown = {name: reason for name, reason in vetting.absent.items() if name in (*HEADINGS, *_agreements(vetting))}
    for reason in dict.fromkeys(shown.values()):
        headings = [_heading(name) for name, absent_reason in shown.items() if absent_reason == reason]
        yield f"{UNKNOWN} {', '.join(headings)}: {reason}."
    yield from (format_message("Note: {}", note) for note in vetting.notes)
