"""Report of a comparison of decisions: whom each rule overrules, and the items that it blocks."""

from collections.abc import Iterator, Sequence
from typing import Final

from dissensus.pipeline.score import DecisionComparison, ScoreRow
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.groups import format_axis
from dissensus.report.methods import Method
from dissensus.report.result import Document
from dissensus.report.score.group_points import PointRow, Value, draw_group_points
from dissensus.report.score.scorecard import EVERYBODY, METHODS, build_document, gap_sections, tabulate
from dissensus.report.sections import Section
from dissensus.report.tables import ReportTable

MOST, LEAST = "group overruled most", "group overruled least"
DECISION_METHODS: Final = (
    Method(
        "Overruled",
        r"\frac{1}{I} \sum_i \frac{1}{m_i} \sum_r \left[ d_i^{(-r)} \ne y_{ri} \right]",
        "The mean share of the ratings of a group that are contradicted by the decision d, made without the answers of "
        "their rater. Intervals are for other raters and other items.",
        "Gordon et al. (2022), Jury Learning",
        ("decisions",),
    ),
)


def decision_report(comparison: DecisionComparison, *, command: str = "") -> Document:
    """Make a report of a comparison of decisions."""
    overview = ReportTable(
        name="overview",
        title="Decisions",
        reading="What each rule blocks at each ratio of costs. None is chosen.",
        grids=(comparison.overview(), *comparison.group_grids()),
        notes=tuple(comparison.explain_rules()),
        table=tabulate(comparison.rows),
    )
    sections = [
        Section(
            "decisions",
            "Whom a decision overrules",
            "Ratings that a decision contradicts: blocked though safe, or passed though unsafe.",
            (*_draw_axes(comparison), overview),
        ),
        *gap_sections(comparison),
    ]
    return build_document("Decisions compared", comparison, sections, (*DECISION_METHODS, *METHODS[1:]), command)


def _draw_axes(comparison: DecisionComparison) -> Iterator[Figure]:
    """Yield a figure for each axis: everybody, and the groups overruled most and least, by each decision.

    Decisions without an estimate for everybody are not drawn.
    """
    overruled = [row for row in comparison.rows if row.metric == "overruled" and row.estimate is not None]
    drawn = {row.model for row in overruled if row.axis is None}
    names = [decision.name for decision in comparison.decisions if decision.name in drawn]
    for axis in comparison.settings.axes if names else ():
        rows = [row for row in overruled if row.axis in (None, axis) and row.model in drawn]
        points = [
            PointRow(escape_unprintable(name), _series([row for row in rows if row.model == name], comparison))
            for name in names
        ]
        yield Figure(
            name=f"overruled-{axis.replace('*', '-')}",
            title=f"Raters by {format_axis(axis)}",
            reading=_read_axis(rows, comparison),
            table=tabulate(rows),
            draw=lambda width, points=points: draw_group_points(  # type: ignore[misc]
                [("", points)], width, series=(EVERYBODY, MOST, LEAST), per_cent=True
            ),
            notes=("Lines: intervals for other raters and other items.",),
            axis=axis,
        )


def _series(rows: Sequence[ScoreRow], comparison: DecisionComparison) -> dict[str, Value]:
    values = dict.fromkeys([EVERYBODY], next(row for row in rows if row.axis is None))
    grouped = [row for row in rows if row.axis and row.n_raters >= comparison.settings.min_raters]
    if grouped:
        values[MOST] = max(grouped, key=lambda row: row.estimate or 0.0)
        values[LEAST] = min(grouped, key=lambda row: row.estimate or 0.0)
    return {name: Value(row.estimate or 0.0, row.ci_low, row.ci_high) for name, row in values.items()}


def _read_axis(rows: Sequence[ScoreRow], comparison: DecisionComparison) -> str:
    pool = [row for row in rows if row.axis is None]
    grouped = [row for row in rows if row.axis and row.n_raters >= comparison.settings.min_raters]
    if not grouped:
        return "No group is large enough to be compared."
    least, worst = (choose(pool, key=lambda row: row.estimate or 0.0) for choose in (min, max))
    most = max(grouped, key=lambda row: row.estimate or 0.0)
    return (
        f"Between {100 * (least.estimate or 0):.0f} and {100 * (worst.estimate or 0):.0f} % of the ratings of "
        f"everybody are overruled; most of one group by {escape_unprintable(str(most.model))}: "
        f"{100 * (most.estimate or 0):.0f} % of {escape_unprintable(str(most.group))}."
    )
