"""Tables of the evaluation of a preference model by groups of raters and against the shares of raters."""

import polars as pl

from dissensus.pipeline.tables import UNKNOWN, Grid, escape_unprintable, format_interval, format_short
from dissensus.preference.evaluation.accuracy import Evaluation, describe_population
from dissensus.preference.evaluation.diagnostics import Diagnostics, GroupAccuracy
from dissensus.preference.evaluation.soft_labels import SoftLabelDistance, SoftLabelEvaluation
from dissensus.report.tables import ReportTable
from dissensus.schema.hints import count_noun

GROUP_HEADINGS = ("by group", "pairs", "as their group", "as all", "difference", "interval")
SOFT_LABEL_HEADINGS = ("several raters", "distance", "interval", "cross-entropy", "interval", "error rate", "interval")
SoftLabelLines = tuple[tuple[str, SoftLabelDistance], ...]


def group_accuracy_grid(diagnostics: Diagnostics) -> Grid:
    """Return a line for all pairs and for each group."""
    return Grid(
        GROUP_HEADINGS,
        tuple(map(_group_line, diagnostics.by_group)),
        "Accuracy with the effects of groups, and without.",
    )


def group_accuracy_table(diagnostics: Diagnostics) -> ReportTable:
    """Return the grid as a table of a report, with a reading."""
    overall = diagnostics.by_group[0].difference
    distinct = overall is not None and not overall.ci_low <= 0 <= overall.ci_high
    direction = "more" if overall is not None and overall.estimate > 0 else "less"
    return ReportTable(
        name="by_group",
        title="Accuracy by group",
        reading=f"A model that knows the group of a rater is right {direction} often."
        if distinct
        else "These pairs do not show that knowing the group of a rater improves accuracy.",
        grids=(group_accuracy_grid(diagnostics),),
        notes=(
            "Both on the same pairs, without effects of single raters. Intervals are for "
            f"{describe_population(diagnostics.by_group[0].as_group)}.",
        ),
        table=pl.DataFrame([_group_row(group) for group in diagnostics.by_group]),
    )


def _group_line(group: GroupAccuracy) -> tuple[str, ...]:
    name = f"{escape_unprintable(group.axis)}: {escape_unprintable(group.group)}" if group.axis else "all pairs"
    shares = format_short(group.as_group.estimate, 3), format_short(group.as_all.estimate, 3)
    if group.difference is None:
        return (name, f"{group.as_group.n:,}", *shares, UNKNOWN, UNKNOWN)
    interval = format_interval(group.difference.ci_low, group.difference.ci_high, 3)
    return (name, f"{group.as_group.n:,}", *shares, format_short(group.difference.estimate, 3), interval)


def _group_row(group: GroupAccuracy) -> dict[str, str | int | float | None]:
    difference = group.difference
    return {
        "axis": group.axis,
        "group": group.group,
        "n": group.as_group.n,
        "as_group": group.as_group.estimate,
        "as_all": group.as_all.estimate,
        "difference": None if difference is None else difference.estimate,
        "ci_low": None if difference is None else difference.ci_low,
        "ci_high": None if difference is None else difference.ci_high,
    }


def soft_label_lines(
    evaluation: SoftLabelEvaluation, model: str, rival: tuple[str, Evaluation] | None = None
) -> SoftLabelLines:
    """Return the distances from the shares of raters: of the model, a rival, length alone and one half."""
    rival_labels = rival[1].soft_labels if rival else None
    rival_lines = ((rival[0], rival_labels.model),) if rival and rival_labels else ()
    return (
        (model, evaluation.model),
        *rival_lines,
        ("length alone", evaluation.length_alone),
        ("always one half", evaluation.one_half),
    )


def soft_label_grid(evaluation: SoftLabelEvaluation, lines: SoftLabelLines) -> Grid:
    """Return the distances as a grid."""
    raters = f" by {count_noun(evaluation.n_raters, 'rater')}" if evaluation.n_raters else ""
    caption = (
        f"{count_noun(evaluation.n_comparisons, 'comparison')}{raters}; cross-entropy cannot be below "
        f"{format_short(evaluation.entropy, 3)}, the entropy of the shares of raters."
    )
    return Grid(
        SOFT_LABEL_HEADINGS,
        tuple((escape_unprintable(name), *_soft_label_cells(distances)) for name, distances in lines),
        caption,
    )


def soft_label_table(
    evaluation: SoftLabelEvaluation, model: str, rival: tuple[str, Evaluation] | None = None
) -> ReportTable:
    """Return the grid as a table of a report, with a reading."""
    lines = soft_label_lines(evaluation, model, rival)
    return ReportTable(
        name="soft_labels",
        title="Comparisons by several raters",
        reading=_soft_label_reading(evaluation),
        grids=(soft_label_grid(evaluation, lines),),
        notes=(
            "Distance: Manhattan, from 0 to 2. Error rate: share of the raters of a comparison whose choice is "
            "predicted wrongly. Intervals are for other dialogues.",
        ),
        table=pl.DataFrame([_soft_label_row(name, one) for name, one in lines]),
    )


def _soft_label_reading(evaluation: SoftLabelEvaluation) -> str:
    ends = evaluation.model.distance.ci_high, evaluation.one_half.distance.ci_low
    if ends[0] is not None and ends[1] is not None and ends[0] < ends[1]:
        return "The model is nearer to the shares of raters than a constant one half, beyond both intervals."
    return "It is not shown that the model is nearer to the shares of raters than a constant one half."


def _soft_label_cells(distances: SoftLabelDistance) -> tuple[str, ...]:
    return tuple(
        cell
        for value in (distances.distance, distances.cross_entropy, distances.error_rate)
        for cell in (format_short(value.estimate, 3), format_interval(value.ci_low, value.ci_high, 3))
    )


def _soft_label_row(name: str, distances: SoftLabelDistance) -> dict[str, str | float | None]:
    row: dict[str, str | float | None] = {"of": name}
    for measure, value in (
        ("distance", distances.distance),
        ("cross_entropy", distances.cross_entropy),
        ("error_rate", distances.error_rate),
    ):
        row |= {measure: value.estimate, f"{measure}_ci_low": value.ci_low, f"{measure}_ci_high": value.ci_high}
    return row
