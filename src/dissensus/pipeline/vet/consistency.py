"""Consistency of raters and groups: equal answers to items rated twice."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_interval, format_short
from dissensus.schema.ratings.columns import RATER_PREFIX
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.raters.consistency import RepeatedAnswers, estimate_consistency

_SCHEMA = {
    "axis": pl.String,
    "group": pl.String,
    **dict.fromkeys(("estimate", "ci_low", "ci_high", "corrected"), pl.Float64),
    **dict.fromkeys(("n_repeats", "n_raters", "n_items"), pl.Int64),
}


def summarise_consistency(ratings: Ratings, repeated: RepeatedAnswers, axes: Sequence[str]) -> pl.DataFrame:
    """Return the consistency of all raters (axis and group are null), and of the groups of each axis."""
    rows = []
    for axis, group, subset in _iterate_groups(ratings, repeated, axes):
        if len(subset.first):
            rows.append({"axis": axis, "group": group, **asdict(estimate_consistency(subset))})
    return pl.DataFrame(rows, schema=_SCHEMA)


def _iterate_groups(
    ratings: Ratings, repeated: RepeatedAnswers, axes: Sequence[str]
) -> Iterator[tuple[str | None, str | None, RepeatedAnswers]]:
    yield None, None, repeated
    for axis in axes:
        codes, groups = ratings.group_codes(axis)
        for code, group in enumerate(groups):
            yield axis, group, repeated.select(codes[repeated.raters] == code)


def grids_of_consistency(consistency: pl.DataFrame) -> Iterator[Grid]:
    """Yield the consistency of groups as a table, if any item was answered twice."""
    lines = [
        (
            "all" if row["axis"] is None else f"{row['axis'].removeprefix(RATER_PREFIX)}: {row['group']}",
            f"{row['n_raters']:,}",
            f"{row['n_repeats']:,}",
            format_short(row["estimate"]),
            format_interval(row["ci_low"], row["ci_high"]),
            UNKNOWN if row["corrected"] is None else format_short(row["corrected"]),
        )
        for row in consistency.iter_rows(named=True)
    ]
    if lines:
        yield Grid(
            ("consistency", "raters", "repeats", "equal answers", "interval", "beyond chance"),
            tuple((escape_unprintable(name), *cells) for name, *cells in lines),
        )
