"""`dissensus benchmark`: scorecards of chatbots against groups of raters."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import GROUPS, SIGNIFICANCE, ByItemOption, ConfidenceOption, CrossOption, MinRatersOption
from dissensus.cli.ratings_options import split_categories, with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption

if TYPE_CHECKING:
    from dissensus.schema.ratings.table import Ratings


@partial(with_ratings_options, later=True)
def benchmark(
    reading: "partial[Ratings]",
    chatbot: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Attribute of items that names the chatbot.")
    ] = None,
    unsafe: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Answers that call an item unsafe. Default: the last of the scale."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="Axis, such as race; repeatable.", rich_help_panel=GROUPS),
    ] = None,
    cross: CrossOption = None,
    by_item: ByItemOption = None,
    min_raters: MinRatersOption = 5,
    suppress_below: Annotated[
        int,
        typer.Option(metavar="K", min=0, help="Withhold numbers of groups with fewer raters.", rich_help_panel=GROUPS),
    ] = 0,
    adjust: Annotated[
        Literal["bh", "holm"],
        typer.Option(help="False discovery or family-wise error rate.", rich_help_panel=SIGNIFICANCE),
    ] = "bh",
    confidence: ConfidenceOption = 0.95,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Score chatbots against each group of raters: how often a group calls responses unsafe, and how groups differ.

    Questions are all overall ones, Q_overall first, unless --question names one.

    Example: dissensus benchmark ratings.csv --items items.csv --by race --by-item degree_of_harm
    """
    # Imported here, so that --help does not import polars.
    from dissensus.pipeline.score import score_chatbots

    result_writer.check_output(output)
    kind = result_writer.choose_format(format, output)
    one_question = any(reading.keywords[option] for option in ("question", "answer", "categories"))
    card = score_chatbots(
        reading(all_questions=not one_question),
        unsafe=split_categories(unsafe),
        by=by or (),
        cross=cross or (),
        by_item=by_item or (),
        chatbot=chatbot,
        min_raters=min_raters,
        suppress_below=suppress_below,
        confidence=confidence,
        adjust=adjust,
    )
    if kind is Format.TABLE:
        result_writer.write_pages([card.page()], output)
    elif kind is Format.JSON:
        result_writer.write_text(card.to_json(), output)
    else:
        result_writer.write_text(result_writer.to_csv(card.to_polars()), output)
