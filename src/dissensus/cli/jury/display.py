"""Tables of jury models: their evaluation, predicted opinions and verdicts."""

from collections import defaultdict
from pathlib import Path
from typing import Final

from dissensus.cli import result_writer
from dissensus.cli.result_writer import Format
from dissensus.pipeline.tables import Grid, Page, escape_unprintable, format_number, format_short
from dissensus.preference.jury.evaluation import JuryEvaluation
from dissensus.preference.jury.pairs import ANSWERS
from dissensus.preference.jury.prediction import JURY, JuryPredictions, PredictedOpinion
from dissensus.schema.hints import count_noun
from dissensus.stats.cluster_robust import Mean

TYPICAL: Final = "The model is of preferences: unsafe means that a typical response of its training would be preferred."
_MAX_ITEMS: Final = 20


def jury_evaluation_page(evaluation: JuryEvaluation) -> Page:
    """Return the evaluation as a page."""
    rivals = [name.replace("_", "-") for name in evaluation.rivals]
    head = ("group", "raters", "log-loss", *(f"gain on {name}" for name in rivals), "ECE", "by chance")
    lines = tuple(
        (
            "all" if row.group is None else escape_unprintable(row.group),
            format_number(row.n_raters),
            format_short(row.log_loss, 3),
            *(_format_mean(row.gains[name]) for name in evaluation.rivals),
            format_short(row.calibration_error, 3),
            format_short(row.calibration_by_chance, 3),
        )
        for row in evaluation.rows
    )
    return Page(
        f"{evaluation.question}: log-loss on {evaluation.n_items:,} items, each predicted by a model that was trained "
        f"without its conversation ({evaluation.n_folds} folds). {evaluation.verdict()}",
        (Grid(head, lines),),
        (
            *(f"{name}: {text}." for name, text in zip(rivals, evaluation.rivals.values(), strict=True)),
            "Gains are in nats a rating, above 0 where the jury model is better; intervals are over items and raters.",
            "ECE: calibration error of the share of unsafe answers, beside that of a calibrated model.",
            _describe_abstention(evaluation),
            *evaluation.notes,
        ),
    )


def _describe_abstention(evaluation: JuryEvaluation) -> str:
    text = f"The model answers {evaluation.n_answered:,} of {evaluation.n_items:,} items" + (
        "" if evaluation.loss_answered is None else f", with log-loss {format_short(evaluation.loss_answered, 3)}"
    )
    if evaluation.loss_abstained is None:
        return f"{text}."
    return f"{text}; where it abstains, log-loss would be {format_short(evaluation.loss_abstained, 3)}."


def predictions_page(predictions: JuryPredictions) -> Page:
    """Return the predicted opinions about the first items, and the verdicts of a jury, as a page."""
    by_item: defaultdict[str, list[PredictedOpinion]] = defaultdict(list)
    for row in predictions.rows:
        by_item[row.item_id].append(row)
    shown = list(by_item.items())[:_MAX_ITEMS]
    head = ("item", "group", "unsafe", "interval", "overruled", "two juries differ")
    n_trained = sum(rows[0].in_training for rows in by_item.values())
    lines = tuple(
        (
            escape_unprintable(item_id) + "*" * row.in_training if number == 0 else "",
            escape_unprintable(row.model),
            format_short(row.score),
            "–" if row.ci_low is None else f"{format_short(row.ci_low)}–{format_short(row.ci_high)}",
            format_short(row.overruled),
            format_short(row.differ),
        )
        for item_id, rows in shown
        for number, row in enumerate(rows)
    )
    n_unknown = sum(rows[0].score is None for rows in by_item.values())
    jury = "" if predictions.jury is None else f" Jury: {escape_unprintable(predictions.jury)}."
    n_further = len(by_item) - len(shown)
    return Page(
        f"Predicted opinions about {count_noun(len(by_item), 'item')}; {n_unknown:,} without one, where too few "
        f"words of the response are known from training.{jury}",
        (Grid(head, lines),),
        (
            "unsafe: share of a group that would call the item unsafe, or probability that a jury would.",
            *([f"{JURY}: unsafe if {predictions.at_least:g} of the votes or more are."] if predictions.jury else []),
            *(["overruled: probability that the group's opinion is not the verdict."] if predictions.jury else []),
            *([f"* in training: {count_noun(n_trained, 'item')}; such predictions flatter."] if n_trained else []),
            *([TYPICAL] if predictions.answers == ANSWERS else []),
            *([f"{count_noun(n_further, 'further item')}: --format csv has all."] if n_further else []),
        ),
    )


def write_jury_result(result: JuryEvaluation | JuryPredictions, page: Page, kind: Format, output: Path | None) -> None:
    """Write a result as tables, CSV or JSON."""
    if kind is Format.TABLE:
        result_writer.write_pages([page], output)
    else:
        text = result.to_json() if kind is Format.JSON else result_writer.to_csv(result.to_polars())
        result_writer.write_text(text, output)


def _format_mean(mean: Mean) -> str:
    if mean.ci_low is None or mean.ci_high is None:
        return format_short(mean.estimate, 3)
    return f"{format_short(mean.estimate, 3)} [{format_short(mean.ci_low, 3)}, {format_short(mean.ci_high, 3)}]"
