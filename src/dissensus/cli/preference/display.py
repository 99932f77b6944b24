"""Tables and CSV of the evaluation of a preference model."""

import csv
import io
from collections.abc import Iterator
from itertools import groupby

from dissensus.files.raw.table_stream import escape_formula
from dissensus.pipeline.tables import Grid, Page, escape_unprintable, format_interval, format_short
from dissensus.preference.evaluation.accuracy import HUMAN_AGREEMENT, Evaluation, describe_population
from dissensus.preference.evaluation.diagnostics import Diagnostics
from dissensus.preference.evaluation.paired import RivalModel, describe_comparison
from dissensus.report.evaluation_tables import group_accuracy_grid, soft_label_grid, soft_label_lines
from dissensus.stats.cluster_robust import ClusteredEstimate


def evaluation_page(
    evaluation: Evaluation,
    model: str = "model",
    rival: RivalModel | None = None,
    diagnostics: Diagnostics | None = None,
) -> Page:
    """Return the evaluation as a page."""
    grids = [] if rival is None else [_difference(model, rival)]
    grids += [] if diagnostics is None else list(_diagnostics(diagnostics))
    grids += list(_soft_labels(evaluation, rival))
    return Page(
        f"{evaluation.accuracy.n:,} pairs of {evaluation.accuracy.clusters:,} dialogues.",
        (_all_pairs(evaluation, rival), *grids, _reliability(evaluation), *_slices(evaluation)),
        (
            f"Intervals are for {describe_population(evaluation.accuracy)}. Length alone: a model of answer lengths "
            "only. If calibrated: mean ECE of a calibrated model.",
            f"People agree with each other on about {format_short(HUMAN_AGREEMENT)} of other pairs (Bai et al. 2022).",
        ),
    )


def slices_csv(evaluation: Evaluation) -> str:
    """Format the accuracy of all pairs and of each slice as CSV, a row each."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("by", "value", "n", "dialogues", "accuracy", "ci_low", "ci_high", "length_alone"))
    slices = [("", "", evaluation.accuracy, evaluation.length_alone), *evaluation.slices]
    for by, value, share, length in slices:
        key = (escape_formula(by), escape_formula(value), share.n, share.clusters)
        rows.writerow((*key, share.estimate, share.ci_low, share.ci_high, length.estimate))
    return out.getvalue()


def _all_pairs(evaluation: Evaluation, rival: RivalModel | None) -> Grid:
    evaluations = [
        ("model", evaluation),
        *([] if rival is None else [(escape_unprintable(rival.name), rival.evaluation)]),
    ]
    lines = [
        (
            name,
            *_cells(measured.accuracy),
            *(format_short(value, 3) for value in (measured.log_loss, measured.ece, measured.calibrated_ece)),
        )
        for name, measured in evaluations
    ]
    length = ("length alone", *_cells(evaluation.length_alone), format_short(evaluation.length_log_loss, 3), "", "")
    return Grid(("all pairs", "accuracy", "interval", "log-loss", "ECE", "if calibrated"), (*lines, length))


def _difference(model: str, rival: RivalModel) -> Grid:
    differences = (("accuracy", rival.difference.accuracy), ("log-loss", rival.difference.log_loss))
    lines = [
        (name, format_short(value.estimate, 4), format_interval(value.ci_low, value.ci_high, 3))
        for name, value in differences
    ]
    first, second = escape_unprintable(model), escape_unprintable(rival.name)
    caption = describe_comparison(first, second, rival.difference)
    return Grid((f"{first} less {second}", "difference", "interval"), tuple(lines), caption)


def _diagnostics(diagnostics: Diagnostics) -> Iterator[Grid]:
    if diagnostics.r_squared is not None:
        share = format_short(diagnostics.r_squared, 3)
        yield Grid(
            ("r²", "all variance that lies between answers"), ((share, "low where people differ over the same"),)
        )
    if diagnostics.by_group:
        yield group_accuracy_grid(diagnostics)


def _soft_labels(evaluation: Evaluation, rival: RivalModel | None) -> Iterator[Grid]:
    if evaluation.soft_labels is not None:
        rival_evaluation = None if rival is None else (rival.name, rival.evaluation)
        yield soft_label_grid(
            evaluation.soft_labels, soft_label_lines(evaluation.soft_labels, "model", rival_evaluation)
        )


def _reliability(evaluation: Evaluation) -> Grid:
    lines = tuple(
        (
            f"{format_short(part.low)}–{format_short(part.high)}",
            f"{part.accuracy.n:,}",
            format_short(part.confidence, 3),
            *_cells(part.accuracy),
        )
        for part in evaluation.bins
    )
    return Grid(("confidence", "pairs", "mean", "accuracy", "interval"), lines)


def _slices(evaluation: Evaluation) -> list[Grid]:
    head = ("pairs", "accuracy", "interval", "length alone")
    return [
        Grid(
            (by, *head),
            tuple(
                (
                    escape_unprintable(part.value),
                    f"{part.accuracy.n:,}",
                    *_cells(part.accuracy),
                    format_short(part.length_alone.estimate, 3),
                )
                for part in parts
            ),
        )
        for by, parts in groupby(evaluation.slices, key=lambda part: part.by)
    ]


def _cells(share: ClusteredEstimate) -> tuple[str, str]:
    return format_short(share.estimate, 3), f"{format_short(share.ci_low, 3)}–{format_short(share.ci_high, 3)}"
