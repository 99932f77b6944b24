"""Figures of a filter audit: removed raters and label shifts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dissensus.errors import NotFound, UndefinedEstimate
from dissensus.pipeline.tables import escape_unprintable, format_short
from dissensus.pipeline.vet.audit_result import AxisRemoval, FilterAudit, GroupRemoval, LabelMove
from dissensus.report.figure import Figure
from dissensus.report.graphics.bars import Bar, draw_plain_bars, find_scale_end
from dissensus.report.graphics.layout import HeadedRows, RowBlock, RowLabels, stack_over_rows
from dissensus.report.graphics.theme import BLUE, INK, LINE, PAPER
from dissensus.report.graphics.vega_lite import X2, Y2, Axis, Chart, Scale, Spec, Text, X
from dissensus.report.groups import DisplayedGroups, format_percent
from dissensus.schema.advice import format_message
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun, format_list

# Label of each measure, and its number of digits.
MEASURES = {
    "mean_total_variation": ("mean total variation", 4),
    "mean_jensen_shannon": ("mean Jensen–Shannon divergence", 5),
    "changed": ("items whose most frequent answers change", 0),
    "disjoint": ("items none of whose most frequent answers stay", 0),
}
# Wording of the reading for each source of removal, see `FilterAudit`.
SOURCES = {
    "the file": "{} flagged in the file",
    "the criteria": "would be removed, since they meet a criterion",
    "the caller": "{} removed",
}
BAND_HEIGHT = 10
LEAST_P = 0.0001


@dataclass(frozen=True, slots=True)
class RemovalRows:
    """An axis of the audit with its displayed groups."""

    axis: AxisRemoval
    groups: DisplayedGroups

    @property
    def listed(self) -> tuple[GroupRemoval, ...]:
        """Groups that may be shown."""
        return tuple(group for group in self.axis.groups if group.group in self.groups.listed)

    @property
    def drawn(self) -> tuple[GroupRemoval, ...]:
        """Groups that are drawn."""
        return tuple(group for group in self.listed if group.group in self.groups.drawn)

    @property
    def block(self) -> RowBlock:
        """The block of the axis, with its p-value."""
        names = tuple(self.groups.label(group.group, size=False) for group in self.drawn)
        p = "" if self.axis.p is None else f": {_format_p(self.axis.p)}"
        return RowBlock(escape_unprintable(self.groups.title), names, p)


def removal(audit: FilterAudit, groups: Sequence[DisplayedGroups]) -> Figure:
    """Draw the share of the raters of each group that a filter removes, one axis below the other.

    Parameters
    ----------
    audit
        The audit of the filter.
    groups
        The displayed groups, of axes that the audit tests.

    Raises
    ------
    NotFound
        The audit does not test one of the axes, or no axis is given.
    """
    tested = {axis.axis: axis for axis in audit.axes}
    absent = [axis_groups.axis for axis_groups in groups if axis_groups.axis not in tested]
    if absent or not groups:
        missing = f"no axis {format_list(absent)}" if absent else "no axis to show"
        raise NotFound(f"There is {missing} in the audit; it tests {format_list(list(tested)) or 'none'}.")
    rows = [RemovalRows(tested[axis_groups.axis], axis_groups) for axis_groups in groups]
    share = len(audit.removed) / audit.n_raters
    return Figure(
        name="removal",
        title="Raters removed by the filter",
        reading=_reading(audit, rows),
        table=_removed_table(rows),
        draw=lambda width: _draw_removal(rows, share, width),
        notes=tuple(dict.fromkeys(_removal_notes(audit, rows))),
    )


def label_moves(audit: FilterAudit) -> Figure:
    """Draw the label shifts by the filter, as multiples of those by random removals of as many raters.

    Parameters
    ----------
    audit
        The audit of the filter, with `draws`.

    Raises
    ------
    UndefinedEstimate
        There are no random removals, or they do not move labels.
    """
    if audit.reason:
        raise UndefinedEstimate(format_message("Label shifts are not compared with random removals: {}.", audit.reason))
    if not audit.draws:
        raise UndefinedEstimate("There is nothing to compare with: the audit was made without random removals.")
    drawn = [move for move in audit.moves if move.observed is not None and move.null_median]
    if not drawn:
        raise UndefinedEstimate("Labels do not move by the median random removal, so there is nothing to compare with.")
    left_out = [MEASURES[move.measure][0] for move in audit.moves if move not in drawn]
    first = drawn[0]
    return Figure(
        name="label-moves",
        title="Label shifts by the filter",
        reading=(
            f"By {MEASURES[first.measure][0]}, labels move {_ratio(first, first.observed):.2f} times as far as the "
            f"median of random removals moves them (p {format_short(first.p, 3)})."
        ),
        table=_moved_table(audit.moves),
        draw=lambda width: _draw_moves(drawn, width),
        notes=(
            f"Dot: the filter, as a multiple of the median of {audit.draws:,} removals of "
            f"{count_noun(len(audit.removed), 'rater')} with like numbers of ratings at random"
            f"{'' if audit.within is None else f' within {format_axis(audit.within)}'}, seed "
            f"{audit.seed}. Band: {100 * audit.confidence:g} % of them. "
            "p: how often they move labels as far or further.",
            *(f"Not drawn, since by the median removal nothing moves: {name}." for name in left_out),
        ),
    )


def _reading(audit: FilterAudit, rows: Sequence[RemovalRows]) -> str:
    n = len(audit.removed)
    text = f"{n:,} of {count_noun(audit.n_raters, 'rater')} {SOURCES[audit.source].format('is' if n == 1 else 'are')}"
    tested = [(axis.axis.p_adjusted, axis) for axis in rows if axis.axis.p_adjusted is not None and axis.listed]
    if not tested:
        return f"{text}; whether removal depends on a demographic was not tested."
    p, axis = min(tested, key=lambda pair: pair[0])
    n_tested = sum(test.p_adjusted is not None for test in audit.axes)
    adjustment = f" after adjustment over {n_tested} axes" if n_tested > 1 else ""
    ranked = sorted(axis.listed, key=_share)
    least, most = (
        f"{format_percent(_share(group))} ({escape_unprintable(group.group)})" for group in (ranked[0], ranked[-1])
    )
    return f"{text}; by {axis.groups.title}, from {least} to {most}, {_format_p(p)}{adjustment}."


def _format_p(p: float) -> str:
    return "p < .0001" if p < LEAST_P else f"p {format_short(p, 4)}"


def _share(group: GroupRemoval) -> float:
    return group.n_removed / max(1, group.n_raters)


def _removed_table(rows: Sequence[RemovalRows]) -> pl.DataFrame:
    lines = [
        (
            axis.groups.title,
            group.group,
            group.n_removed,
            group.n_raters,
            _share(group),
            axis.axis.p,
            axis.axis.p_adjusted,
        )
        for axis in rows
        for group in axis.listed
    ]
    schema = {"axis": pl.String, "group": pl.String, "n_removed": pl.UInt32, "n_raters": pl.UInt32}
    return pl.DataFrame(
        lines, schema=schema | {"share_removed": pl.Float64, "p": pl.Float64, "p_adjusted": pl.Float64}, orient="row"
    )


def _removal_notes(audit: FilterAudit, rows: Sequence[RemovalRows]) -> list[str]:
    notes = [f"Dashed: the whole pool, {format_percent(len(audit.removed) / audit.n_raters)}."]
    methods = {axis.axis.method: None for axis in rows if axis.axis.method}
    if methods:
        notes.append(f"p of independence: {'; '.join(methods)}.")
    notes += [f"{axis.groups.title}: {axis.axis.reason}" for axis in rows if axis.axis.reason]
    for axis in rows:
        notes += axis.groups.notes
    return notes


def _draw_removal(rows: Sequence[RemovalRows], share: float, width: int) -> Spec:
    headed = HeadedRows([axis.block for axis in rows], width)
    lines: list[dict[str, Any]] = [
        {"y": y, "share": _share(group), "text": f"{group.n_removed:,} of {group.n_raters:,}"}
        for axis, middles in zip(rows, headed.block_middles, strict=True)
        for group, y in zip(axis.drawn, middles, strict=True)
    ]
    longest = max([share, *(line["share"] for line in lines)])
    end = find_scale_end(longest, [line["text"] for line in lines], headed.plot_width)
    axis = Axis(format="~%", tickCount=4, grid=False, labelBound=True)
    pool = Chart([{"from": share, "y": y, "end": end} for y, end in _spans(headed)])
    rule = pool.mark("rule", color=INK, strokeDash=[3, 3])
    texts = Chart(lines).mark("text", align="right", baseline="middle")
    layers = [
        *draw_plain_bars([Bar(line["y"], line["share"]) for line in lines], headed, end=end, axis=axis),
        # At the right, clear of the dashed line.
        texts.encode(headed.y(), Text("text:N"), X(value=headed.plot_width)),
        rule.encode(headed.y(), X("from:Q"), Y2("end:Q")),
        *headed.draw_names(),
    ]
    return stack_over_rows(layers, headed)


def _spans(rows: HeadedRows) -> list[tuple[float, float]]:
    """Return the first and the last pixel of the rows of each block."""
    half = 12
    return [(middles[0] - half, middles[-1] + half) for middles in rows.block_middles if middles]


def _moved_table(moved: Sequence[LabelMove]) -> pl.DataFrame:
    lines = [
        {
            "measure": MEASURES[move.measure][0],
            "observed": move.observed,
            "random_median": move.null_median,
            "random_low": move.null_low,
            "random_high": move.null_high,
            "ratio": _ratio(move, move.observed) if move.null_median and move.observed is not None else None,
            "p": move.p,
        }
        for move in moved
    ]
    return pl.DataFrame(lines, infer_schema_length=None)


def _ratio(move: LabelMove, value: float | None) -> float:
    """Return a value as a multiple of the median of random removals."""
    return (value or 0.0) / (move.null_median or 1.0)


def _draw_moves(drawn: Sequence[LabelMove], width: int) -> Spec:
    rows = RowLabels([_name(move) for move in drawn], width, least=34)
    lines = [_line(move, y) for move, y in zip(drawn, rows.middles, strict=True)]
    ends = [line[name] for line in lines for name in ("observed", "low", "high")]
    low, high = min(1.0, *ends), max(1.0, *ends)
    room = find_scale_end(high - low, [line["p"] for line in lines], rows.plot_width)
    scale = Scale(domain=[low - room / 50, low + room], nice=False, zero=False)
    axis = Axis(labelExpr="datum.label + ' ×'", format=".2~f", tickCount=4, grid=False, labelBound=True)
    x, base = X("low:Q", scale=scale, axis=axis, title=None), Chart(lines)
    mark = base.mark("point", filled=True, size=64, opacity=1, stroke=PAPER, strokeWidth=0.8, color=BLUE)
    texts = base.mark("text", align="right", baseline="middle")
    layers = [
        base.mark("rect", color=LINE).encode(rows.y("top"), x, X2("high:Q"), Y2("bottom:Q")),
        Chart([{"low": 1}]).mark("rule", color=INK, strokeDash=[3, 3]).encode(x),
        mark.encode(rows.y(), X("observed:Q")),
        texts.encode(rows.y(), Text("p:N"), X(value=rows.plot_width)),
        *rows.draw_names(),
    ]
    return stack_over_rows(layers, rows)


def _line(move: LabelMove, y: float) -> dict[str, Any]:
    ratios = {"observed": move.observed, "low": move.null_low, "high": move.null_high}
    position = {"y": y, "top": y - BAND_HEIGHT / 2, "bottom": y + BAND_HEIGHT / 2, "p": f"p {format_short(move.p, 3)}"}
    return {name: _ratio(move, value) for name, value in ratios.items()} | position


def _name(move: LabelMove) -> str:
    wording, digits = MEASURES[move.measure]
    value = f"{move.observed:,.0f}" if digits == 0 else format_short(move.observed, digits)
    return f"{wording}\n{value}"
