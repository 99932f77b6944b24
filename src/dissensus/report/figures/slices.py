"""Figure of accuracy on all pairs and on slices."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import polars as pl

from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.preference.evaluation.accuracy import HUMAN_AGREEMENT, Evaluation, Slice, describe_population
from dissensus.report.figure import Figure
from dissensus.report.graphics.layout import HeadedRows, RowBlock, stack_over_rows
from dissensus.report.graphics.series import draw_series
from dissensus.report.graphics.theme import BLUE, MUTED, ORANGE, VERMILION
from dissensus.report.graphics.vega_lite import Y2, Axis, Chart, Scale, Spec, X
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun
from dissensus.stats.cluster_robust import ClusteredEstimate

MODEL, LENGTH, OTHER = "the model", "length alone", "the other model"
LOOKS: Final = {MODEL: (BLUE, "circle", 64), OTHER: (VERMILION, "diamond", 64), LENGTH: (ORANGE, "square", 40)}
HEADINGS: Final = {
    "turns": "Human turns so far",
    "confidence": "Confidence, from low to high",
    "chosen is": "The chosen answer is",
    "strength": "Strength of the preference",
    "tranche": "Tranche",
    "group": "Group of the rater",
    "raters were": "Raters of a pair were",
}
WHERE: Final = {
    "turns": "after {} human turns",
    "confidence": "in {} of its confidence",
    "chosen is": "where the chosen answer is {}",
    "strength": "at strength {}",
    "tranche": "in the tranche {}",
    "group": "for raters of the group {}",
    "raters were": "where raters were {}",
}
# Room for the last label and for marks at 100 % beyond the plot.
BESIDE = 6
BY_LENGTH: Final = "chosen is"
"""Slices on which length alone is always or never right."""


class _Line(NamedTuple):
    name: str
    shares: dict[str, ClusteredEstimate]


def slices(evaluation: Evaluation, *, other: Evaluation | None = None) -> Figure:
    """Draw the accuracy of a model and of length alone, on all pairs and on each part."""
    blocks = list(_blocks(evaluation, other))
    return Figure(
        name="slices",
        title="Accuracy on parts of the pairs",
        reading=_reading(evaluation),
        table=pl.DataFrame(list(_rows(blocks)), infer_schema_length=None),
        draw=lambda width: _draw(blocks, width),
        notes=(
            f"Lines: intervals for {describe_population(evaluation.accuracy)}, of each part by itself. With many parts "
            "some differ by chance.",
            f"Dashed: .50, a coin. Dotted: {format_short(HUMAN_AGREEMENT)}, how often researchers and crowd "
            "workers preferred "
            "the same answer (Bai et al. 2022); of other people and pairs, and no bound.",
        ),
    )


def _blocks(evaluation: Evaluation, other: Evaluation | None) -> Iterator[tuple[str, list[_Line]]]:
    other_accuracy = {(part.by, part.value): part.accuracy for part in other.slices} if other else {}
    overall = {
        MODEL: evaluation.accuracy,
        **({OTHER: other.accuracy} if other else {}),
        LENGTH: evaluation.length_alone,
    }
    yield "", [_Line("all pairs", overall)]
    for by, group in groupby(evaluation.slices, key=lambda part: part.by):
        # Quartiles of confidence hold different pairs for each model.
        yield (
            HEADINGS.get(by, f"Raters by {format_axis(by)}"),
            [_line(part, None if by == "confidence" else other_accuracy.get((by, part.value))) for part in group],
        )


def _line(part: Slice, other: ClusteredEstimate | None) -> _Line:
    shares = {MODEL: part.accuracy, **({OTHER: other} if other else {})}
    return _Line(part.value, shares if part.by == BY_LENGTH else {**shares, LENGTH: part.length_alone})


def _rows(blocks: Sequence[tuple[str, list[_Line]]]) -> Iterator[dict[str, Any]]:
    for heading, lines in blocks:
        for line in lines:
            for series, share in line.shares.items():
                yield {
                    "part": f"{heading}: {line.name}" if heading else line.name,
                    "of": series,
                    "accuracy": share.estimate,
                    "ci_low": share.ci_low,
                    "ci_high": share.ci_high,
                    "n_pairs": share.n,
                    "n_dialogues": share.clusters,
                }


def _reading(evaluation: Evaluation) -> str:
    share, length = evaluation.accuracy, evaluation.length_alone
    text = (
        f"The chosen answer scores higher in {_percent(share)} of {count_noun(share.n, 'pair')}; "
        f"the length of answers alone tells {_percent(length)}"
    )
    estimable = [part for part in evaluation.slices if part.accuracy.clusters > 1]
    if not estimable:
        return f"{text}."
    worst = min(estimable, key=lambda part: part.accuracy.estimate)
    where = WHERE.get(worst.by, WHERE["group"]).format(escape_unprintable(worst.value))
    if worst.by == "turns" and worst.value == "1":
        where = "after 1 human turn"
    return f"{text}. It is right least often {where}: {100 * worst.accuracy.estimate:.0f} %."


def _percent(share: ClusteredEstimate) -> str:
    return f"{100 * share.estimate:.1f} % [{100 * share.ci_low:.1f}, {100 * share.ci_high:.1f}]"


def _draw(blocks: Sequence[tuple[str, list[_Line]]], width: int) -> Spec:
    headed = [
        RowBlock(
            heading,
            tuple(f"{escape_unprintable(line.name)}\n{count_noun(line.shares[MODEL].n, 'pair')}" for line in lines),
        )
        for heading, lines in blocks
    ]
    rows = HeadedRows(headed, width, least=38)
    lines = [line for _, block in blocks for line in block]
    present = [series for series in LOOKS if any(series in line.shares for line in lines)]
    points = [
        {
            "y": y + _offset_mark(series, present),
            "x": share.estimate,
            "low": share.ci_low,
            "high": share.ci_high,
            "of": series,
        }
        for line, y in zip(lines, rows.row_middles, strict=True)
        for series, share in line.shares.items()
    ]
    return stack_over_rows(
        [
            *_references(rows),
            *draw_series(points, present, [LOOKS[series] for series in present], rows, _x),
            *rows.draw_names(),
        ],
        rows,
        width=rows.plot_width - BESIDE,
    )


def _offset_mark(series: str, present: Sequence[str]) -> float:
    """Return the offset of a mark from the middle of its row, in pixels."""
    return 9 * (present.index(series) - (len(present) - 1) / 2)


def _x(field: str) -> X:
    axis = Axis(format="~%", values=[0, 0.25, 0.5, 0.75, 1])
    return X(f"{field}:Q", title=None, scale=Scale(domain=[0, 1], nice=False, padding=6), axis=axis)


def _references(rows: HeadedRows) -> Iterator[Spec]:
    for value, dash in ((0.5, [4, 3]), (HUMAN_AGREEMENT, [1, 3])):
        line = Chart([{"x": value, "y": 0, "end": rows.height}])
        yield line.mark("rule", color=MUTED, strokeDash=dash, strokeWidth=1.2).encode(_x("x"), rows.y(), Y2("end:Q"))
