"""`dissensus benchmark`: scorecards of chatbots and models against groups of raters."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.cli import result_writer
from dissensus.cli.options import ByItemOption, ConfidenceOption, CrossOption, PageOutputOption, SeatsOption
from dissensus.cli.ratings_options import reads_folder, split_categories, with_ratings_options
from dissensus.cli.result_writer import FiguresOption, FormatOption
from dissensus.cli.score.options import (
    AdjustOption,
    AtLeastOption,
    AxesOption,
    ChatbotOption,
    CostsOption,
    DecisionsOption,
    GoldOption,
    MinRatersOption,
    PopulationLabelsOption,
    RankByOption,
    ReverseOption,
    RulesOption,
    ScoreColumnsOption,
    ScoresOption,
    SuppressBelowOption,
    ThresholdOption,
    UnsafeOption,
    split_cost_list,
)
from dissensus.cli.score.scores import load_scores
from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.pipeline.score import Scorecard
    from dissensus.report.result import Document
    from dissensus.schema.item_scores import ItemScores
    from dissensus.schema.ratings.table import Ratings

THRESHOLD, AT_LEAST = 0.5, 0.5


@partial(with_ratings_options, partitions=True)
def benchmark(
    load: "partial[Ratings]",
    chatbot: ChatbotOption = None,
    scores: ScoresOption = None,
    score_column: ScoreColumnsOption = None,
    reverse: ReverseOption = None,
    gold: GoldOption = None,
    threshold: ThresholdOption = THRESHOLD,
    rank_by: RankByOption = "brier",
    unsafe: UnsafeOption = None,
    decisions: DecisionsOption = False,
    rule: RulesOption = None,
    costs: CostsOption = None,
    at_least: AtLeastOption = AT_LEAST,
    population_labels: PopulationLabelsOption = None,
    seats: SeatsOption = None,
    by: AxesOption = None,
    cross: CrossOption = None,
    by_item: ByItemOption = None,
    min_raters: MinRatersOption = 8,
    suppress_below: SuppressBelowOption = 0,
    adjust: AdjustOption = "bh",
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

    A folder or a quoted glob of Parquet files is read in blocks of items, one question, without --decisions.

    Example: dissensus benchmark ratings.csv --items items.csv --by race --scores guard.csv
    """
    # Imported here, so that --help does not import polars.
    from dissensus.pipeline.engine.ratings import select_pool
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
    one_question = any(load.keywords[option] for option in ("question", "answer", "categories"))
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
    if reads_folder(load):
        ratings = _read_folder(load, scores=scores is not None, decisions=decisions)
    else:
        ratings = load(all_questions=not one_question and (decisions or not scores))
    item_scores = (
        load_scores(select_pool(ratings), scores, score_column, options["unsafe"], reverse or ()) if scores else None
    )
    if decisions:
        populations = _read_populations(ratings, population_labels, options["unsafe"])
        card: Scorecard = compare_decisions(
            ratings,
            rules=rule,
            costs=split_cost_list(costs or "1:1"),
            at_least=at_least,
            gold=gold,
            scores=item_scores,
            populations=populations,
            seats=None if seats is None else parse_seats(seats),
            **options,
        )
    elif item_scores is not None:
        card = score_models(ratings, item_scores, gold=gold, threshold=threshold, rank_by=rank_by, **options)
    else:
        card = score_chatbots(ratings, by_item=by_item or (), chatbot=chatbot, **options)
    result_writer.write_result(
        target,
        build_report=partial(_build_report, card),
        build_page=card.page,
        to_json=card.to_json,
        to_csv=lambda: result_writer.to_csv(card.to_polars()),
    )


def _read_folder(load: "partial[Ratings]", *, scores: bool, decisions: bool) -> "Ratings":
    """Read a folder, with the ids of the items if --scores is given; refuse --decisions."""
    if decisions:
        raise InvalidInput(
            "Decisions (--decisions) are not compared on a folder of Parquet files: rules decide from all ratings of "
            "all items. Name one file, or files of some of the items."
        )
    return load(with_items=scores)


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

    if path is None:
        return None
    scale = ratings.scale(ratings.resolve_question())
    return read_population_labels(path, unsafe or scale[-1:])


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
