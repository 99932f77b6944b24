"""`dissensus gold`: comparison of expert labels with the crowd."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.cli import result_writer
from dissensus.cli.options import BootstrapOption, ConfidenceOption, SeedOption
from dissensus.cli.ratings_options import split_categories, with_ratings_options
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.errors import InvalidInput
from dissensus.pipeline.aggregate import gold_against_crowd
from dissensus.pipeline.aggregate.gold_reasons import GoldReasons, compare_reasons, reasons_page
from dissensus.schema.ratings.columns import GOLD
from dissensus.schema.ratings.table import Ratings


@with_ratings_options
def gold(
    load: partial[Ratings],
    gold: Annotated[str, typer.Option(metavar="COLUMN", help="Attribute of items with the experts' labels.")] = GOLD,
    platinum: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Attribute of items with the labels of an earlier crowd, for a three-way comparison."
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="AXIS|COLUMN", help="Axis of raters, such as race, or attribute of items.")
    ] = None,
    unsafe: Annotated[str, typer.Option(metavar="A,B,…", help="Answers that call an item unsafe.")] = "Yes",
    ties: Annotated[
        Literal["safe", "unsafe", "apart"], typer.Option(help="Label of a tie of safe and unsafe answers.")
    ] = "apart",
    bootstrap: BootstrapOption = 0,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    reasons: Annotated[
        bool,
        typer.Option(
            "--reasons",
            help="Compare reasons of experts, in safety_gold_reason, with the answers to the questions that they name.",
        ),
    ] = False,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
) -> None:
    """Compare expert labels with the majority of all raters, or of each group.

    Example: dissensus gold ratings.csv --exclude-flagged --by race --ties safe --bootstrap 1000
    """
    kind = result_writer.choose_format(format, output)
    if reasons:
        label_options = {"--gold": gold != GOLD, "--platinum": platinum, "--by": by, "--ties": ties != "apart"}
        for option, value in (label_options | {"--bootstrap": bootstrap}).items():
            if value:
                raise InvalidInput(
                    f"{option} applies to labels, and --reasons compares reasons. Leave out one of them."
                )
        _write_reasons(compare_reasons(load(all_questions=True), unsafe=split_categories(unsafe) or ()), kind, output)
        return
    ratings = load()
    result = gold_against_crowd(
        ratings,
        ratings.questions[0],
        gold=gold,
        platinum=platinum,
        by=by,
        unsafe=split_categories(unsafe) or (),
        ties=ties,
        bootstrap=bootstrap,
        confidence=confidence,
        seed=seed,
    )
    for note in ratings.notes:
        typer.echo(f"Note: {note}", err=True)
    if kind is Format.TABLE:
        result_writer.write_pages([result.page()], output)
    elif kind is Format.JSON:
        result_writer.write_text(result.to_json(), output)
    else:
        result_writer.write_text(result_writer.to_csv(result.summary), output)


def _write_reasons(result: GoldReasons, kind: Format, output: Path | None) -> None:
    if kind is Format.TABLE:
        result_writer.write_pages([reasons_page(result)], output)
    elif kind is Format.JSON:
        content = {"schema_version": 1, "notes": list(result.notes), "reasons": result.rows.to_dicts()}
        result_writer.write_text(json.dumps(content, ensure_ascii=False, indent=2), output)
    else:
        result_writer.write_text(result_writer.to_csv(result.rows), output)
