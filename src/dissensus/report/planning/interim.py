"""Figure of an interim look: shares and differences with intervals that hold at every look."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from dissensus.pipeline.plan.interim import InterimLook, InterimRow
from dissensus.pipeline.tables import escape_unprintable
from dissensus.report.figure import Figure
from dissensus.report.score.group_points import PointRow, Value, draw_group_points
from dissensus.schema.hints import count_noun


def interim_figures(look: InterimLook) -> Iterator[Figure]:
    """Yield the shares and their differences, if a rater has finished."""
    rows = [row for row in look.rows if row.estimate is not None]
    if rows:
        yield _draw_look(look, rows)


def _draw_look(look: InterimLook, rows: list[InterimRow]) -> Figure:
    name = f"share of {escape_unprintable(look.answer)}"
    blocks = [
        (heading, [_point(row, name) for row in rows if (row.against is None) == is_share])
        for heading, is_share in ((f"S{name[1:]}", True), ("Differences", False))
    ]
    reached = sum(row.is_reached for row in look.rows)
    return Figure(
        name="interim",
        title="Shares at this look",
        reading=f"{reached:,} of {count_noun(len(look.rows), 'interval')} have a half-width of "
        f"{look.half_width:g} or less.",
        table=pl.DataFrame([asdict(row) for row in look.rows], infer_schema_length=None),
        draw=lambda width: draw_group_points([b for b in blocks if b[1]], width, series=(name,), per_cent=False),
        notes=(f"Intervals of {100 * look.confidence:g} % that hold at every look, however often one looks.",),
        axis=look.axis,
    )


def _point(row: InterimRow, series: str) -> PointRow:
    group = escape_unprintable(row.group or "all raters")
    name = group if row.against is None else f"{group} − {escape_unprintable(row.against)}"
    return PointRow(
        f"{name}\n{count_noun(row.n_raters, 'rater')}", {series: Value(row.estimate or 0.0, row.ci_low, row.ci_high)}
    )
