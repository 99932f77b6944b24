"""`dissensus benchmark`: scorecards of chatbots and models against groups of raters."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import GROUPS, SIGNIFICANCE, ByItemOption, ConfidenceOption, CrossOption
from dissensus.cli.ratings_options import split_categories, with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.pipeline.score import Scorecard
    from dissensus.schema.item_scores import ItemScores
    from dissensus.schema.ratings.table import Ratings

MODELS: Final = "Models"


@partial(with_ratings_options, later=True)
def benchmark(
    reading: "partial[Ratings]",
    chatbot: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Attribute of items that names the chatbot.")
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Scores of models: item_id, and a score from 0 to 1 or a label in the column of each; or a log of "
            "Inspect or HELM. Repeatable.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    score_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column with scores; repeatable. Default: all that are.", rich_help_panel=MODELS
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Attribute of items with the experts' labels.", rich_help_panel=MODELS),
    ] = None,
    threshold: Annotated[
        float, typer.Option(metavar="SCORE", help="Lowest score that is labelled unsafe.", rich_help_panel=MODELS)
    ] = 0.5,
    rank_by: Annotated[
        Literal["brier", "squared_distance", "auc", "error"],
        typer.Option(help="Statistic of the leaderboard.", rich_help_panel=MODELS),
    ] = "brier",
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
    min_raters: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Compare groups of N raters or more.", rich_help_panel=GROUPS),
    ] = 8,
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
    """Score chatbots, guards and classifiers against each group of raters, beside human ceilings.

    From ratings alone: how often each group calls responses unsafe. Questions are all overall ones, Q_overall first,
    unless --question names one.

    With --scores: how well each model foretells each group, and how well people do.

    Example: dissensus benchmark ratings.csv --items items.csv --by race --scores guard.csv
    """
    # Imported here, so that --help does not import polars.
    from dissensus.pipeline.score import score_chatbots, score_models

    result_writer.check_output(output)
    kind = result_writer.choose_format(format, output)
    options: Any = {
        "unsafe": split_categories(unsafe),
        "by": by or (),
        "cross": cross or (),
        "min_raters": min_raters,
        "suppress_below": suppress_below,
        "confidence": confidence,
        "adjust": adjust,
    }
    if scores:
        _refuse("leave out --scores", {"--chatbot": chatbot, "--by-item": by_item})
        ratings = reading()
        own = _read_scores(ratings, scores, score_column, options["unsafe"])
        card: Scorecard = score_models(ratings, own, gold=gold, threshold=threshold, rank_by=rank_by, **options)
    else:
        _refuse("add --scores FILE", {"--score-column": score_column, "--gold": gold})
        one_question = any(reading.keywords[option] for option in ("question", "answer", "categories"))
        ratings = reading(all_questions=not one_question)
        card = score_chatbots(ratings, by_item=by_item or (), chatbot=chatbot, **options)
    if kind is Format.TABLE:
        result_writer.write_pages([card.page()], output)
    elif kind is Format.JSON:
        result_writer.write_text(card.to_json(), output)
    else:
        result_writer.write_text(result_writer.to_csv(card.to_polars()), output)


def _read_scores(
    ratings: "Ratings", files: list[Path], columns: list[str] | None, unsafe: list[str] | None
) -> "ItemScores":
    """Read scores, whose labels may be answers to the question."""
    from dissensus.files.scores.reader import read_scores

    scale = ratings.scale(ratings.resolve_question())
    labels = {answer: float(answer in (unsafe or scale[-1:])) for answer in scale}
    return read_scores(files, models=columns, labels=labels)


def _refuse(remedy: str, options: Mapping[str, object]) -> None:
    """Refuse options of the other scorecard: of chatbots, or of models that score items."""
    for name, value in options.items():
        if value:
            raise InvalidInput(f"{name} belongs to the other scorecard. Leave it out, or {remedy}.")
