"""`dissensus aggregate`: soft and hard labels of each item."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dissensus.cli import result_writer
from dissensus.cli.model_options import ModelOption, ModelOptions, split_model, with_model_options
from dissensus.cli.options import SeatsOption, drop_unset
from dissensus.cli.partitions.labels import LabelFunction, choose_format, choose_label_function, write_labels
from dissensus.cli.ratings_options import reads_folder, split_categories, with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.cli.score.options import split_costs
from dissensus.cli.score.rule_options import (
    AtLeastOption,
    CostsOption,
    GoldOption,
    MinRatersOption,
    ReverseOption,
    ScoreColumnOption,
    ScoresOption,
    UnsafeOption,
)
from dissensus.cli.score.scores import load_scores
from dissensus.errors import InvalidInput
from dissensus.pipeline import aggregate as stage
from dissensus.pipeline.aggregate import LabelModel
from dissensus.pipeline.aggregate.models import Method
from dissensus.pipeline.analyse import rater_curve
from dissensus.pipeline.engine.ratings import IN_MEMORY
from dissensus.pipeline.score import label_by_rule
from dissensus.pipeline.tables import escape_unprintable
from dissensus.schema.hints import count_noun
from dissensus.schema.jury import parse_seats
from dissensus.schema.ratings.columns import ITEM_ID
from dissensus.schema.ratings.table import Ratings


class Rule(StrEnum):
    """Rule that aggregates the answers of raters into an item label."""

    SOFT = "soft"
    PLURALITY = "plurality"
    DICES = "dices"
    DAWID_SKENE = "dawid-skene"
    MACE = "mace"
    GLAD = "glad"
    POSTSTRATIFIED = "poststratified"
    SHARE = "share"
    ANY_QUESTION = "any-question"
    GROUP_BALANCED = "group-balanced"
    ANY_GROUP = "any-group"
    WORST_GROUP = "worst-group"
    EXPERT = "expert"
    SCORE = "score"
    JURY = "jury"


OF_GROUPS = (Rule.GROUP_BALANCED, Rule.ANY_GROUP, Rule.WORST_GROUP)
DECISIONS: Mapping[Rule, tuple[str, ...]] = {
    Rule.SHARE: ("unsafe", "costs"),
    Rule.ANY_QUESTION: ("unsafe", "costs"),
    Rule.GROUP_BALANCED: ("unsafe", "costs", "min_raters"),
    Rule.ANY_GROUP: ("unsafe", "at_least", "min_raters"),
    Rule.WORST_GROUP: ("unsafe", "costs", "min_raters"),
    Rule.EXPERT: ("unsafe", "gold"),
    Rule.SCORE: ("unsafe", "costs", "scores", "score_column", "reverse"),
    Rule.JURY: ("unsafe", "costs", "min_raters", "seats"),
}
"""Rules that call items safe or unsafe, and their options; see docs/scorecards.md."""
MODELS: Mapping[Rule, Method] = {Rule.DAWID_SKENE: "dawid-skene", Rule.MACE: "mace", Rule.GLAD: "glad"}


@partial(with_ratings_options, partitions=True)
@with_model_options
def aggregate(
    load: partial[Ratings],
    rule: Annotated[
        Rule,
        typer.Option(
            help="soft: share of each answer. plurality: the most frequent. dices: each rater's overall answers, from "
            "the detailed questions. poststratified: the labels that a population would give, by a multilevel model. "
            "share, any-question, group-balanced, any-group, worst-group, expert, score, jury: decision rules, which "
            "call an item safe or unsafe. dawid-skene, mace, glad: models that treat disagreement as error."
        ),
    ] = Rule.SOFT,
    by: Annotated[str | None, typer.Option(metavar="AXIS", help="Labels of each group of an axis.")] = None,
    raters_per_item: Annotated[
        str | None,
        typer.Option(metavar="N[,N…]", help="Resample labels with N raters per item."),
    ] = None,
    raters_per_group: Annotated[
        str | None,
        typer.Option(metavar="N[,N…]", help="Agreement and differences of groups with N raters of each group of --by."),
    ] = None,
    unsafe: UnsafeOption = None,
    costs: CostsOption = None,
    at_least: AtLeastOption = None,
    min_raters: MinRatersOption = None,
    gold: GoldOption = None,
    scores: ScoresOption = None,
    score_column: ScoreColumnOption = None,
    seats: SeatsOption = None,
    reverse: ReverseOption = None,
    model: ModelOption = None,
    *,
    model_options: partial[ModelOptions],
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Seed of mace, of draws of raters per group, and of poststratified.")
    ] = 0,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Aggregate the answers of raters into labels of items, of the whole pool or of each group.

    With --raters-per-item the table shows how far labels change, and --format csv has the labels. With
    --raters-per-group it shows the mean and the central 95 % of 200 draws of raters.

    A folder or a quoted glob of Parquet files is read in blocks of items for soft, plurality and share; csv by default.
    For poststratified its answers are held in memory as codes.

    Example: dissensus aggregate ratings.csv --by gender --format csv -o soft-labels.csv
    """
    _check_group_options(rule, by, raters_per_item, raters_per_group)
    decision: dict[str, Any] = {
        "unsafe": split_categories(unsafe),
        "costs": None if costs is None else split_costs(costs),
        "at_least": at_least,
        "min_raters": min_raters,
        "gold": gold,
        "scores": scores,
        "score_column": score_column,
        "reverse": reverse,
        "seats": None if seats is None else parse_seats(seats),
    }
    _check_decision_options(rule, decision)
    formula, preset = split_model(model)
    options = model_options(formula=formula, preset=preset, seed=seed)
    if rule is Rule.POSTSTRATIFIED:
        _poststratify(load, options, result_writer.choose_format(format, output), output)
        return
    _check_model_options(rule, options)
    if reads_folder(load):
        label_items = choose_label_function(str(rule), by, unsafe=decision["unsafe"], costs=decision["costs"])
        _label_folder(load, label_items, [raters_per_item, raters_per_group], format, output)
        return
    kind = result_writer.choose_format(format, output)
    ratings = load(all_questions=rule in (Rule.DICES, Rule.ANY_QUESTION))
    if raters_per_group is not None and by is not None:
        text = _draw_curve(ratings, _parse_numbers("--raters-per-group", raters_per_group), by, seed, kind)
        notes: Sequence[str] = ()
    elif raters_per_item is not None:
        text, notes = _resample(ratings, _parse_numbers("--raters-per-item", raters_per_item), by, kind), ()
    elif rule in MODELS:
        text, notes = _label_by_model(ratings, rule, seed, kind)
    elif rule in DECISIONS:
        labelled, notes = _label_by_rule(ratings, rule, by, **decision)
        text = _format_rows(labelled, kind)
    else:
        text, notes = _format_rows(_label(ratings, rule, by), kind), ()
    for note in (*ratings.notes, *notes):
        typer.echo(f"Note: {note}", err=True)
    result_writer.write_text(text, output)


def _draw_curve(ratings: Ratings, numbers: list[int], by: str, seed: int, kind: Format) -> str:
    """Return agreement and differences of groups with fewer raters."""
    curve = rater_curve(ratings, numbers, by=by, question=ratings.questions[0], seed=seed)
    return curve.to_json() if kind is Format.JSON else _format_rows(curve.curve, kind)


def _resample(ratings: Ratings, numbers: list[int], by: str | None, kind: Format) -> str:
    """Return how far labels change with fewer raters, as JSON and table, or the labels as CSV."""
    result = stage.resampled_labels(ratings, ratings.questions[0], numbers, by=by)
    if kind is Format.JSON:
        return result.to_json()
    return _format_rows(result.curve if kind is Format.TABLE else result.labels, kind)


def _label_by_model(ratings: Ratings, rule: Rule, seed: int, kind: Format) -> tuple[str, Sequence[str]]:
    """Return labels of a model that treats disagreement as error, and notes on it."""
    fit = stage.label_model(ratings, ratings.questions[0], method=MODELS[rule], seed=seed)
    return fit.to_json() if kind is Format.JSON else _format_rows(fit.labels, kind), (*fit.notes, _describe_fit(fit))


def _label(ratings: Ratings, rule: Rule, by: str | None) -> pl.DataFrame:
    """Return overall answers, soft labels or pluralities."""
    if rule is Rule.DICES:
        return stage.overall_answers(ratings)
    labels = stage.soft_labels if rule is Rule.SOFT else stage.plurality
    return labels(ratings, ratings.questions[0], by=by)


def _label_folder(
    load: partial[Any],
    label_items: LabelFunction,
    resampling: Sequence[str | None],
    format: Format | None,  # noqa: A002 - the option's name
    output: Path | None,
) -> None:
    """Write the labels of the items of a folder of Parquet files."""
    if any(numbers is not None for numbers in resampling):
        raise InvalidInput(
            "--raters-per-item and --raters-per-group draw raters of all items, and those of a folder of Parquet files "
            f"are not in memory. Leave them out. {IN_MEMORY}"
        )
    kind = choose_format(format, output)
    write_labels(load, label_items, kind, output)


def _label_by_rule(
    ratings: Ratings,
    rule: Rule,
    by: str | None,
    *,
    scores: list[Path] | None,
    score_column: str | None,
    reverse: str | None,
    **options: Any,
) -> tuple[pl.DataFrame, Sequence[str]]:
    """Label items by a decision rule, with notes; options that are None have their defaults."""
    notes: Sequence[str] = ()
    for name, column in (("--score-column", score_column), ("--reverse", reverse)):
        if column is not None and not scores:
            raise InvalidInput(f"{name} names a column of scores. Give their file: --scores FILE")
    if scores:
        columns, reverse_columns = ([] if name is None else [name] for name in (score_column, reverse))
        item_scores = load_scores(ratings, scores, columns or None, options["unsafe"], reverse_columns)
        notes = (*item_scores.notes, *filter(None, [item_scores.describe_unrated(ratings.items[ITEM_ID])]))
        options["scores"] = item_scores
    labelled = label_by_rule(ratings, str(rule), by=by, **drop_unset(**options))
    if n := labelled["label"].null_count():
        need = "a rater for each seat" if rule is Rule.JURY else f"an answer for the rule {rule}"
        notes = (*notes, f"{count_noun(n, 'item')} without {need}, and without a label.")
    return labelled, notes


def _check_group_options(rule: Rule, by: str | None, raters_per_item: str | None, raters_per_group: str | None) -> None:
    """Refuse --by, --raters-per-item and --raters-per-group where they do not apply."""
    if raters_per_group is not None and (by is None or raters_per_item is not None):
        raise InvalidInput(
            "--raters-per-group draws raters of each group of an axis: add --by AXIS, and leave out --raters-per-item."
        )
    options = (("--by", by), ("--raters-per-item", raters_per_item), ("--raters-per-group", raters_per_group))
    for option, value in options:
        over_groups = option == "--by" and rule in OF_GROUPS
        if value is not None and rule not in (Rule.SOFT, Rule.PLURALITY) and not over_groups:
            raise InvalidInput(
                f"{option} applies to soft labels and pluralities, not to --rule {rule}. Leave it out, or keep one "
                "group of raters with --where COLUMN=VALUE."
            )


def _check_decision_options(rule: Rule, options: Mapping[str, object]) -> None:
    """Refuse options of decision rules that do not apply to the rule."""
    for name, value in options.items():
        if value is not None and name not in DECISIONS.get(rule, ()):
            rules = [other for other, names in DECISIONS.items() if name in names]
            raise InvalidInput(
                f"--{name.replace('_', '-')} applies to --rule {', '.join(rules)}, not to --rule {rule}. Leave it out, "
                "or name such a rule."
            )


def _check_model_options(rule: Rule, options: ModelOptions) -> None:
    """Refuse options of multilevel models for a rule other than poststratified."""
    if set_options := options.list_changed():
        raise InvalidInput(
            f"{set_options[0]} applies to --rule poststratified, not to --rule {rule}. Leave it out, or name that rule."
        )


def _poststratify(load: partial[Ratings], options: ModelOptions, kind: Format, output: Path | None) -> None:
    """Write the labels that populations would give."""
    from dissensus.pipeline.model.population_labels import population_labels_json, population_page, tabulate_labels

    options.require_populations()
    result = options.fit(options.read(load))
    if kind is Format.TABLE:
        result_writer.write_pages([population_page(result)], output)
        return
    for line in (*(f"Warning: {text}" for text in result.warnings), *(f"Note: {text}" for text in result.notes)):
        typer.echo(line, err=True)
    result_writer.write_text(
        population_labels_json(result) if kind is Format.JSON else result_writer.to_csv(tabulate_labels(result)), output
    )


def _parse_numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} is {text!r}; write whole numbers, as 1,3,5.") from None


def _describe_fit(model: LabelModel) -> str:
    convergence = {True: "converged", False: "not converged", None: "convergence unknown"}[model.converged]
    return (
        f"{model.method} by {model.software} {model.version}, {model.iterations} iterations, {convergence}. It treats "
        "one answer as true and disagreement as error, which silences minorities with other views."
    )


def _format_rows(rows: pl.DataFrame, kind: Format) -> str:
    if kind is Format.JSON:
        return rows.write_json()
    rows = result_writer.join_lists(rows)
    if kind is Format.CSV:
        return result_writer.to_csv(rows)
    # Ids and answers of a file may contain control characters.
    rows = rows.with_columns(pl.col(pl.String).map_elements(escape_unprintable, return_dtype=pl.String))
    with pl.Config(
        float_precision=3,
        fmt_str_lengths=10_000,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=10_000,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
    ):
        return str(rows)
