"""`dissensus plan interim`: intervals of a running campaign that hold at every look."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import ConfidenceOption, PageOutputOption
from dissensus.cli.plan.output import write_plan
from dissensus.cli.ratings_options import load_ratings
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.pipeline.plan.display import interim_page
from dissensus.pipeline.plan.finish_order import order_raters
from dissensus.pipeline.plan.interim import look_at_ratings


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
    from dissensus.files.raw.table_reader import to_plain_frame

    target = result_writer.resolve_target(format, output, figures)
    table = load_ratings([ratings], question=question)
    look = look_at_ratings(
        table,
        order_raters(to_plain_frame(ratings)),
        by=by,
        answer=share_of,
        half_width=half_width,
        confidence=confidence,
    )
    write_plan(look, look.rows, interim_page(look), target)
