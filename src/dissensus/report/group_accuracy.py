"""Table of the accuracy gained by predicting each group separately."""

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, printable, short
from dissensus.preference.evaluation.diagnostics import Diagnostics
from dissensus.preference.evaluation.group_accuracy import GroupAccuracy
from dissensus.report.tables import ReportTable

HEAD = ("by group", "pairs", "as their group", "as all", "difference", "interval")


def group_accuracy_grid(findings: Diagnostics) -> Grid:
    """Return a line for all pairs and for each group."""
    return Grid(HEAD, tuple(map(_line, findings.by_group)), "Accuracy with the effects of groups, and without.")


def group_accuracy_table(findings: Diagnostics) -> ReportTable:
    """Return the same as a table of a report, with a reading."""
    every = findings.by_group[0].difference
    known = every is not None and not every.ci_low <= 0 <= every.ci_high
    more = "more" if every is not None and every.estimate > 0 else "less"
    return ReportTable(
        name="by_group",
        title="Each group by itself",
        reading=f"Who knows the group of a rater is right {more} often."
        if known
        else "On these pairs it is not shown that who knows the group of a rater is right more often.",
        grids=(group_accuracy_grid(findings),),
        notes=("Both on the same pairs, without what is known of single raters. Intervals are for other dialogues.",),
        table=pl.DataFrame([_row(one) for one in findings.by_group]),
    )


def _line(one: GroupAccuracy) -> tuple[str, ...]:
    name = f"{printable(one.axis)}: {printable(one.group)}" if one.axis else "all pairs"
    shares = short(one.as_group.estimate, 3), short(one.as_all.estimate, 3)
    if one.difference is None:
        return (name, f"{one.as_group.n:,}", *shares, UNKNOWN, UNKNOWN)
    interval = f"{short(one.difference.ci_low, 3)} to {short(one.difference.ci_high, 3)}"
    return (name, f"{one.as_group.n:,}", *shares, short(one.difference.estimate, 3), interval)


def _row(one: GroupAccuracy) -> dict[str, str | int | float | None]:
    apart = one.difference
    return {
        "axis": one.axis,
        "group": one.group,
        "n": one.as_group.n,
        "as_group": one.as_group.estimate,
        "as_all": one.as_all.estimate,
        "difference": None if apart is None else apart.estimate,
        "ci_low": None if apart is None else apart.ci_low,
        "ci_high": None if apart is None else apart.ci_high,
    }
