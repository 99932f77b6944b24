"""Report of a comparison of decisions: the items that each rule blocks, both errors, and whom it overrules."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dissensus.pipeline.score import Decision, DecisionComparison, ScoreRow
from dissensus.pipeline.score.decision_rules import OVER_GROUPS, WITHOUT_COSTS, WITHOUT_GAP
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.groups import EVERYBODY, format_percent, make_file_name
from dissensus.report.methods import Method
from dissensus.report.result import Document
from dissensus.report.score.group_points import PointRow, Value, draw_group_points
from dissensus.report.score.scorecard import METHODS, build_document, gap_sections, read_gaps, tabulate
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable
from dissensus.schema.axes import format_axis
from dissensus.schema.hints import count_noun

MOST, LEAST = "group overruled most", "group overruled least"
ERRORS: Final = {
    "blocked_though_safe": "blocked, though the rater calls it safe",
    "passed_though_unsafe": "let through, though the rater calls it unsafe",
}
DECISION_METHODS: Final = (
    Method(
        "Overruled",
        r"\frac{1}{I} \sum_i \frac{1}{m_i} \sum_r \left[ d_i^{(-r)} \ne y_{ri} \right]",
        "The mean share of the ratings of a group that are contradicted by the decision d, made without the answers of "
        "their rater. Intervals are for other raters and other items.",
        "Gordon et al. (2022), Jury Learning",
        ("decisions", "overruled"),
    ),
)
_LINES: Final = "Lines: intervals for other raters and other items."


def decision_report(comparison: DecisionComparison, *, command: str = "") -> Document:
    """Make a report of a comparison of decisions."""
    drawn = _list_drawn(comparison)
    sections = [
        Section(
            "decisions",
            "What each decision blocks",
            "Each rule blocks an item or lets it through, against the answers of some raters. None is chosen.",
            (*_draw_errors(comparison, drawn), _describe_rules(comparison), _tabulate_decisions(comparison)),
        ),
        *_overruled_sections(comparison, drawn),
        *gap_sections(comparison),
    ]
    return build_document("Decisions compared", comparison, sections, (*DECISION_METHODS, *METHODS[1:]), command)


def _list_drawn(comparison: DecisionComparison) -> dict[str, str]:
    """Return the labels of the decisions that are drawn, by name.

    Those without an estimate for everybody are left out, and rules that costs do not change are drawn once.
    """
    known = {row.model for row in _overruled_rows(comparison) if row.axis is None}
    labels = {decision.name: _label(decision, comparison) for decision in comparison.decisions}
    first = {label: name for name, label in reversed(labels.items()) if name in known}
    return {name: labels[name] for name in labels if first.get(labels[name]) == name}


def _overruled_rows(comparison: DecisionComparison) -> list[ScoreRow]:
    return [row for row in comparison.rows if row.metric == "overruled" and row.estimate is not None]


def _label(decision: Decision, comparison: DecisionComparison) -> str:
    """Return the name of a decision with its axis in words, without costs for a rule that they do not change."""
    name = decision.name
    if decision.rule in WITHOUT_COSTS:
        for costs in comparison.settings.costs:
            name = name.removesuffix(f" at {costs}")
    if decision.rule in OVER_GROUPS:
        for axis in comparison.settings.axes:
            name = name.replace(f": {axis}", f": {format_axis(axis)}")
    return escape_unprintable(name)


def _draw_errors(comparison: DecisionComparison, drawn: Mapping[str, str]) -> Iterator[Figure]:
    """Yield the figure of both errors of each decision, among the ratings of everybody."""
    rows = [row for row in comparison.rows if row.axis is None and row.metric in ERRORS and row.model in drawn]
    if not rows:
        return
    n_blocked = {decision.name: decision.n_blocked for decision in comparison.decisions}
    points = [
        PointRow(
            f"{label}\nblocks {n_blocked[name]:,}",
            {ERRORS[row.metric]: _value(row) for row in rows if row.model == name},
        )
        for name, label in drawn.items()
    ]
    yield Figure(
        name="errors",
        title="Both errors",
        reading=_read_errors(comparison, drawn, rows),
        table=tabulate(rows),
        draw=lambda width: draw_group_points([("", points)], width, series=tuple(ERRORS.values()), per_cent=True),
        notes=(f"Shares of the ratings of everybody. {_LINES}",),
    )


def _read_errors(comparison: DecisionComparison, drawn: Mapping[str, str], rows: Sequence[ScoreRow]) -> str:
    """Return a sentence on the decisions that block fewest and most items."""
    decisions = [decision for decision in comparison.decisions if decision.name in drawn]
    estimates = {(row.model, row.metric): row.estimate or 0.0 for row in rows}
    least, most = (choose(decisions, key=lambda decision: decision.n_blocked) for choose in (min, max))
    missed = format_percent(estimates[least.name, "passed_though_unsafe"])
    contradicted = format_percent(estimates[most.name, "blocked_though_safe"])
    text = (
        f"With {drawn[least.name]}, {least.n_blocked:,} of {count_noun(comparison.n_items, 'item')} are blocked, and "
        f"{missed} of ratings call unsafe what is let through"
    )
    if most is least:
        return f"{text}."
    return f"{text}; with {drawn[most.name]}, {most.n_blocked:,}, and {contradicted} call safe what is blocked."


def _describe_rules(comparison: DecisionComparison) -> ReportTable:
    """Return what each rule means, and what costs do to it, in notes."""
    return ReportTable(
        name="rules",
        title="The rules",
        reading="The more it costs to let through what is unsafe, the more is blocked by the rules that heed costs.",
        grids=(),
        notes=(*comparison.explain_rules(), *comparison.explain_decisions()),
    )


def _tabulate_decisions(comparison: DecisionComparison) -> ReportTable:
    return ReportTable(
        name="overview",
        title="Decisions",
        reading="Items that each decision blocks, and shares of the ratings of everybody.",
        grids=(comparison.overview(),),
        table=tabulate([row for row in comparison.rows if row.axis is None]),
    )


def _overruled_sections(comparison: DecisionComparison, drawn: Mapping[str, str]) -> Iterator[Section]:
    """Yield the section of the groups that decisions overrule, if there are any."""
    axes = comparison.settings.axes
    if not axes:
        return
    table = ReportTable(
        name="overruled",
        title="Groups",
        reading="Share of the ratings of each group that a decision contradicts.",
        grids=tuple(comparison.group_grids()),
        table=tabulate([row for row in comparison.rows if row.axis is not None]),
    )
    figures = (_draw_axis(axis, comparison, drawn) for axis in axes if drawn)
    lead = "Ratings that a decision contradicts: blocked though safe, or let through though unsafe."
    yield Section("overruled", "Whom a decision overrules", lead, (*figures, table))


def _draw_axis(axis: str, comparison: DecisionComparison, drawn: Mapping[str, str]) -> Figure:
    """Return a figure of everybody and the groups of an axis overruled most and least, by each decision."""
    rows = [row for row in _overruled_rows(comparison) if row.axis in (None, axis) and row.model in drawn]
    points = [
        _draw_decision(label, [row for row in rows if row.model == name], comparison) for name, label in drawn.items()
    ]
    return Figure(
        name=f"overruled-{make_file_name(axis)}",
        title=f"Raters by {format_axis(axis)}",
        reading=_read_axis(axis, rows, comparison, drawn),
        table=tabulate(rows),
        draw=lambda width: draw_group_points([("", points)], width, series=(EVERYBODY, MOST, LEAST), per_cent=True),
        notes=(_LINES, *_explain_care(comparison)),
        axis=axis,
    )


def _draw_decision(label: str, rows: Sequence[ScoreRow], comparison: DecisionComparison) -> PointRow:
    """Return the values of everybody and of two groups, whose names stand below that of the decision."""
    values = {EVERYBODY: _value(next(row for row in rows if row.axis is None))}
    grouped = _comparable(rows, comparison)
    if len(grouped) < 2:
        return PointRow(label, values)
    most, least = (choose(grouped, key=lambda row: row.estimate or 0.0) for choose in (max, min))
    names = f"most {escape_unprintable(str(most.group))}\nleast {escape_unprintable(str(least.group))}"
    return PointRow(f"{label}\n{names}", {**values, MOST: _value(most), LEAST: _value(least)})


def _value(row: ScoreRow) -> Value:
    return Value(row.estimate or 0.0, row.ci_low, row.ci_high)


def _comparable(rows: Sequence[ScoreRow], comparison: DecisionComparison) -> list[ScoreRow]:
    """Return the rows of groups that are large enough to be compared."""
    return [row for row in rows if row.axis and row.n_raters >= comparison.settings.min_raters]


def _explain_care(comparison: DecisionComparison) -> Iterator[str]:
    """Yield why the groups of some rules are to be compared with care."""
    reasons = dict.fromkeys(WITHOUT_GAP[rule] for rule in comparison.rules if rule in WITHOUT_GAP)
    yield from (f"To be compared with care: {reason}." for reason in reasons)


def _read_axis(axis: str, rows: Sequence[ScoreRow], comparison: DecisionComparison, drawn: Mapping[str, str]) -> str:
    grouped = _comparable(rows, comparison)
    if not grouped:
        return "No group is large enough to be compared."
    pool = [row.estimate or 0.0 for row in rows if row.axis is None]
    most = max(grouped, key=lambda row: row.estimate or 0.0)
    gaps = [gap for gap in comparison.gaps if gap.axis == axis]
    return (
        f"Between {100 * min(pool):.0f} and {format_percent(max(pool))} of the ratings of everybody are overruled; "
        f"most of one group by {drawn[str(most.model)]}: {format_percent(most.estimate or 0.0)} of "
        f"{escape_unprintable(str(most.group))}. {read_gaps(gaps)}"
    )
