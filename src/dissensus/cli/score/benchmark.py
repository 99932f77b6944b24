"""`dissensus benchmark`: scorecards of chatbots and models against groups of raters."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import (
    GROUPS,
    RULES_PANEL,
    SIGNIFICANCE,
    ByItemOption,
    ConfidenceOption,
    CrossOption,
    PageOutputOption,
    SeatsOption,
)
from dissensus.cli.ratings_options import split_categories, with_ratings_options
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.cli.score.costs import split_cost_list
from dissensus.cli.score.scores import load_scores
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.pipeline.score import Scorecard
    from dissensus.report.result import Document
    from dissensus.schema.item_scores import ItemScores
    from dissensus.schema.ratings.table import Ratings

MODELS = "Models"
THRESHOLD, AT_LEAST = 0.5, 0.5


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
    reverse: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column whose scores are 1 for safe; repeatable.", rich_help_panel=MODELS),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Attribute of items with the experts' labels.", rich_help_panel=MODELS),
    ] = None,
    threshold: Annotated[
        float, typer.Option(metavar="SCORE", help="Lowest score that is labelled unsafe.", rich_help_panel=MODELS)
    ] = THRESHOLD,
    rank_by: Annotated[
        Literal["brier", "squared_distance", "auc", "error"],
        typer.Option(help="Statistic of the leaderboard.", rich_help_panel=MODELS),
    ] = "brier",
    unsafe: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Answers that call an item unsafe. Default: the last of the scale."),
    ] = None,
    decisions: Annotated[
        bool,
        typer.Option(
            "--decisions",
            help="Compare decision rules: items that each blocks, and people whom it overrules.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = False,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Rule, such as plurality, share, dices, any-question, group-balanced, any-group, worst-group, "
            "poststratified, expert, score or jury; repeatable. Default: all that the data support.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="B:M,…",
            help="Cost of blocking what is safe and of letting through what is not, as 1:1,1:5. Default: 1:1.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None,
    at_least: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Least share of one group at which any-group blocks.", rich_help_panel=RULES_PANEL
        ),
    ] = AT_LEAST,
    population_labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of populations, as aggregate --rule poststratified --format csv writes them.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None,
    seats: SeatsOption = None,
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
    figures: FiguresOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: PageOutputOption = None,
) -> None:
    """Score chatbots, guards and classifiers against each group of raters, beside human ceilings.

    From ratings alone: how often each group calls responses unsafe. Questions are all overall ones, Q_overall first,
    unless --question names one.

    With --scores: agreement of each model with each group, beside that of people.

    With --decisions: what each rule would block, at each ratio of costs, and whom it overrules.

    Example: dissensus benchmark ratings.csv --items items.csv --by race --scores guard.csv
    """
    # Imported here, so that --help does not import polars.
    from dissensus.pipeline.score import compare_decisions, score_chatbots, score_models
    from dissensus.schema.jury import parse_seats

    target = result_writer.resolve_target(format, output, figures)
    options: Any = {
        "unsafe": split_categories(unsafe),
        "by": by or (),
        "cross": cross or (),
        "min_raters": min_raters,
        "suppress_below": suppress_below,
        "confidence": confidence,
        "adjust": adjust,
    }
    one_question = any(reading.keywords[option] for option in ("question", "answer", "categories"))
    _check_options(
        scores=scores is not None,
        decisions=decisions,
        of_chatbots={"--chatbot": chatbot, "--by-item": by_item},
        of_scores={"--score-column": score_column, "--reverse": reverse},
        of_gold={"--gold": gold},
        of_models={"--threshold": threshold != THRESHOLD, "--rank-by": rank_by != "brier"},
        of_decisions={
            "--rule": rule,
            "--costs": costs,
            "--population-labels": population_labels,
            "--seats": seats,
            "--at-least": at_least != AT_LEAST,
        },
    )
    ratings = reading(all_questions=not one_question and (decisions or not scores))
    own = load_scores(ratings, scores, score_column, options["unsafe"], reverse or ()) if scores else None
    if decisions:
        populations = _read_populations(ratings, population_labels, options["unsafe"])
        card: Scorecard = compare_decisions(
            ratings,
            rules=rule,
            costs=split_cost_list(costs or "1:1"),
            at_least=at_least,
            gold=gold,
            scores=own,
            populations=populations,
            seats=None if seats is None else parse_seats(seats),
            **options,
        )
    elif own is not None:
        card = score_models(ratings, own, gold=gold, threshold=threshold, rank_by=rank_by, **options)
    else:
        card = score_chatbots(ratings, by_item=by_item or (), chatbot=chatbot, **options)
    result_writer.write_result(
        target,
        build_report=partial(_build_report, card),
        build_page=card.page,
        to_json=card.to_json,
        to_csv=lambda: result_writer.to_csv(card.to_polars()),
    )


def _build_report(card: "Scorecard", command: str) -> "Document":
    # Imported here, since Altair takes a fifth of a second.
    from dissensus.pipeline.score import DecisionComparison, ModelScorecard
    from dissensus.report.score.decisions import decision_report
    from dissensus.report.score.models import model_scorecard_report
    from dissensus.report.score.scorecard import scorecard_report

    if isinstance(card, DecisionComparison):
        return decision_report(card, command=command)
    if isinstance(card, ModelScorecard):
        return model_scorecard_report(card, command=command)
    return scorecard_report(card, command=command)


def _read_populations(ratings: "Ratings", path: Path | None, unsafe: list[str] | None) -> "ItemScores | None":
    from dissensus.files.scores.populations import read_population_labels

    scale = ratings.scale(ratings.resolve_question())
    return None if path is None else read_population_labels(path, unsafe or scale[-1:])


def _check_options(
    *,
    scores: bool,
    decisions: bool,
    of_chatbots: Mapping[str, object],
    of_scores: Mapping[str, object],
    of_gold: Mapping[str, object],
    of_models: Mapping[str, object],
    of_decisions: Mapping[str, object],
) -> None:
    """Refuse options of other scorecards than the requested one."""
    if not decisions:
        _refuse("add --decisions", of_decisions)
    if scores or decisions:
        _refuse("leave out --scores and --decisions", of_chatbots)
    if not scores:
        _refuse("add --scores FILE", of_scores if decisions else {**of_scores, **of_gold, **of_models})
    if decisions:
        _refuse("leave out --decisions", of_models)


def _refuse(remedy: str, options: Mapping[str, object]) -> None:
    """Refuse options of another scorecard: of chatbots, of models that score items, or of decisions."""
    for name, value in options.items():
        if value:
            raise InvalidInput(f"{name} is an option of another scorecard. Leave it out, or {remedy}.")
