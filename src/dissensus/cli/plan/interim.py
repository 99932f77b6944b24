"""`dissensus plan interim`: intervals of a running campaign that hold at every look."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import ConfidenceOption, PageOutputOption
from dissensus.cli.plan.output import write_plan
from dissensus.cli.ratings_options import load_ratings
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.display import interim_page
from dissensus.pipeline.plan.interim import look_at_ratings

if TYPE_CHECKING:
    import polars as pl

TIME = "answer_timestamp"


def interim(
    ratings: Annotated[
        Path, typer.Argument(metavar="RATINGS", help="Export of a running campaign, or any ratings in their order.")
    ],
    by: Annotated[str | None, typer.Option(metavar="AXIS", help="Axis of raters to compare.")] = None,
    question: Annotated[str | None, typer.Option(metavar="COLUMN", help="Question. Default: Q_overall.")] = None,
    share_of: Annotated[
        str | None, typer.Option(metavar="ANSWER", help="Answer whose share is watched. Default: the last.")
    ] = None,
    half_width: Annotated[
        float, typer.Option(metavar="W", help="Half-width of the intervals at which the campaign may stop.")
    ] = 0.05,
    confidence: ConfidenceOption = 0.95,
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Compute intervals of a running campaign that hold at every look, and advise where to send the next ratings.

    Raters count in the order in which they finished, by answer_timestamp, else by their last row.

    Example: dissensus plan interim export.csv --by gender --half-width 0.08
    """
    from dissensus.files.raw.table_reader import read_frame

    target = result_writer.resolve_target(format, output, figures)
    table = load_ratings([ratings], question=question)
    look = look_at_ratings(
        table,
        _order_raters(read_frame(ratings)),
        by=by,
        answer=share_of,
        half_width=half_width,
        confidence=confidence,
    )
    write_plan(look, look.rows, interim_page(look), target)


def _order_raters(frame: "pl.DataFrame") -> list[str]:
    """Return the ids of raters in the order of their last ratings."""
    import polars as pl

    if "rater_id" not in frame.columns:
        raise InvalidInput("There is no column rater_id, by whose order raters count. Name the raters so.")
    rows = frame.with_row_index("row")
    by = TIME if TIME in frame.columns else "row"
    return rows.group_by("rater_id").agg(pl.col(by).max()).sort(by, "rater_id")["rater_id"].cast(pl.String).to_list()
