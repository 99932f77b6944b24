"""Tables and CSV of the evaluation of a preference model."""

import csv
import io
from collections.abc import Iterator
from itertools import groupby

from dissensus.pipeline.tables import Grid, Page, escape_unprintable, format_short
from dissensus.preference.evaluation.accuracy import HUMAN_AGREEMENT, Evaluation
from dissensus.preference.evaluation.diagnostics import Diagnostics
from dissensus.preference.evaluation.paired import RivalModel, describe_comparison
from dissensus.report.evaluation import group_accuracy_grid, soft_label_grid, soft_label_lines
from dissensus.stats.cluster_robust import ClusteredEstimate


def evaluation_page(
    found: Evaluation, model: str = "model", rival: RivalModel | None = None, findings: Diagnostics | None = None
) -> Page:
    """Return the evaluation as a page."""
    beside = [] if rival is None else [_difference(model, rival)]
    beside += [] if findings is None else list(_findings(findings))
    beside += list(_soft_labels(found, rival))
    return Page(
        f"{found.accuracy.n:,} pairs of {found.accuracy.clusters:,} dialogues.",
        (_whole(found, rival), *beside, _reliability(found), *_slices(found)),
        (
            "Intervals are for other dialogues. "
            "Length alone: a model that knows no more than how long the answers are.",
            f"People agree with each other on about {format_short(HUMAN_AGREEMENT)} of other pairs (Bai et al. 2022).",
        ),
    )


def slices_csv(found: Evaluation) -> str:
    """Return a row for all pairs and for each slice."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("by", "value", "n", "dialogues", "accuracy", "ci_low", "ci_high", "length_alone"))
    slices = [("", "", found.accuracy, found.length_alone), *found.slices]
    for by, value, share, length in slices:
        told = (by, value, share.n, share.clusters)
        rows.writerow((*told, share.estimate, share.ci_low, share.ci_high, length.estimate))
    return out.getvalue()


def _whole(found: Evaluation, rival: RivalModel | None) -> Grid:
    of = [("model", found), *([] if rival is None else [(escape_unprintable(rival.name), rival.found)])]
    lines = [(name, *_cells(one.accuracy), format_short(one.log_loss, 3), format_short(one.ece, 3)) for name, one in of]
    length = ("length alone", *_cells(found.length_alone), format_short(found.length_log_loss, 3), "")
    return Grid(("all pairs", "accuracy", "interval", "log-loss", "ECE"), (*lines, length))


def _difference(model: str, rival: RivalModel) -> Grid:
    of = (("accuracy", rival.difference.accuracy), ("log-loss", rival.difference.log_loss))
    lines = [
        (name, format_short(one.estimate, 4), f"{format_short(one.ci_low, 3)} to {format_short(one.ci_high, 3)}")
        for name, one in of
    ]
    first, second = escape_unprintable(model), escape_unprintable(rival.name)
    caption = describe_comparison(first, second, rival.difference)
    return Grid((f"{first} less {second}", "difference", "interval"), tuple(lines), caption)


def _findings(findings: Diagnostics) -> Iterator[Grid]:
    if findings.r_squared is not None:
        share = format_short(findings.r_squared, 3)
        yield Grid(
            ("r²", "all variance that lies between answers"), ((share, "low where people differ over the same"),)
        )
    if findings.by_group:
        yield group_accuracy_grid(findings)


def _soft_labels(found: Evaluation, rival: RivalModel | None) -> Iterator[Grid]:
    if found.soft_labels is not None:
        other = None if rival is None else (rival.name, rival.found)
        yield soft_label_grid(found.soft_labels, soft_label_lines(found.soft_labels, "model", other))


def _reliability(found: Evaluation) -> Grid:
    lines = tuple(
        (
            f"{format_short(one.low)}–{format_short(one.high)}",
            f"{one.accuracy.n:,}",
            format_short(one.confidence, 3),
            *_cells(one.accuracy),
        )
        for one in found.bins
    )
    return Grid(("how sure", "pairs", "mean", "accuracy", "interval"), lines)


def _slices(found: Evaluation) -> list[Grid]:
    head = ("pairs", "accuracy", "interval", "length alone")
    return [
        Grid(
            (by, *head),
            tuple(
                (
                    escape_unprintable(one.value),
                    f"{one.accuracy.n:,}",
                    *_cells(one.accuracy),
                    format_short(one.length_alone.estimate, 3),
                )
                for one in some
            ),
        )
        for by, some in groupby(found.slices, key=lambda one: one.by)
    ]


def _cells(share: ClusteredEstimate) -> tuple[str, str]:
    return format_short(share.estimate, 3), f"{format_short(share.ci_low, 3)}–{format_short(share.ci_high, 3)}"
