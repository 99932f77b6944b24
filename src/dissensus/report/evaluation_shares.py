"""Table of soft-label metrics."""

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, printable, short
from dissensus.preference.evaluation.accuracy import Evaluation
from dissensus.preference.evaluation.soft_labels import SoftLabelDistance, SoftLabelEvaluation
from dissensus.report.tables import ReportTable
from dissensus.stats.cluster_robust import ClusteredEstimate, Mean

HEAD = ("several raters", "distance", "interval", "cross-entropy", "interval", "error rate", "interval")
Lines = tuple[tuple[str, SoftLabelDistance], ...]


def soft_label_lines(found: SoftLabelEvaluation, model: str, rival: tuple[str, Evaluation] | None = None) -> Lines:
    """Return by name how near each comes: the model, another one, length alone and one half."""
    other = rival[1].soft_labels if rival else None
    beside = ((rival[0], other.model),) if rival and other else ()
    return ((model, found.model), *beside, ("length alone", found.length_alone), ("always one half", found.one_half))


def soft_label_grid(found: SoftLabelEvaluation, lines: Lines) -> Grid:
    """Return a line for each that says how sure it is."""
    raters = f" by {found.n_raters:,} raters" if found.n_raters else ""
    caption = (
        f"{found.n_comparisons:,} comparisons{raters}, of which cross-entropy cannot be below "
        f"{short(found.entropy, 3)}, the entropy of their shares."
    )
    return Grid(HEAD, tuple((printable(name), *_cells(one)) for name, one in lines), caption)


def soft_label_table(
    found: SoftLabelEvaluation, model: str, rival: tuple[str, Evaluation] | None = None
) -> ReportTable:
    """Return the same as a table of a report, with a reading."""
    lines = soft_label_lines(found, model, rival)
    return ReportTable(
        name="soft_labels",
        title="Where several raters compared the same answers",
        reading=_reading(found),
        grids=(soft_label_grid(found, lines),),
        notes=(
            "Distance: Manhattan, from 0 to 2. Error rate: share of the raters of a comparison whose choice is "
            "foretold wrongly. Intervals are for other dialogues.",
        ),
        table=pl.DataFrame([_row(name, one) for name, one in lines]),
    )


def _reading(found: SoftLabelEvaluation) -> str:
    ends = found.model.distance.ci_high, found.one_half.distance.ci_low
    if ends[0] is not None and ends[1] is not None and ends[0] < ends[1]:
        return "The model is nearer to the shares of raters than who always says one half, beyond both intervals."
    return "It is not shown that the model is nearer to the shares of raters than who always says one half."


def _cells(one: SoftLabelDistance) -> tuple[str, ...]:
    return tuple(
        cell
        for value in (one.distance, one.cross_entropy, one.error_rate)
        for cell in (short(value.estimate, 3), _interval(value))
    )


def _interval(value: Mean | ClusteredEstimate) -> str:
    known = value.ci_low is not None and value.ci_high is not None
    return f"{short(value.ci_low, 3)} to {short(value.ci_high, 3)}" if known else UNKNOWN


def _row(name: str, one: SoftLabelDistance) -> dict[str, str | float | None]:
    row: dict[str, str | float | None] = {"of": name}
    for measure, value in (
        ("distance", one.distance),
        ("cross_entropy", one.cross_entropy),
        ("error_rate", one.error_rate),
    ):
        row |= {measure: value.estimate, f"{measure}_ci_low": value.ci_low, f"{measure}_ci_high": value.ci_high}
    return row
