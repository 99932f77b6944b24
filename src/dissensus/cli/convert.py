"""`dissensus convert`: conversion between file formats."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.files.conversion import ConversionOptions
from dissensus.files.conversion import convert_file as run
from dissensus.files.ratings.kinds import RatingsFileOptions
from dissensus.files.raw.atomic_write import check_distinct

NAMES = "Names in the files"

Kind = Literal[
    "long", "wide", "lewidi", "dices-350", "dices-990", "hh-rlhf", "pairs", "trl", "inspect", "red-team", "pyrit"
]


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File to read; its kind is detected from its content.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its name determines its kind.")],
    source_kind: Annotated[Kind | None, typer.Option("--from", help="Kind of IN, if detection is wrong.")] = None,
    target_kind: Annotated[
        Kind | None, typer.Option("--to", help="Kind of OUT, if its name does not determine it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    as_released: Annotated[
        bool, typer.Option("--as-released", help="Write red-team attempts with the misspelt key of the published file.")
    ] = False,
    item: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of IN with the item ids, if not item_id.", rich_help_panel=NAMES),
    ] = None,
    rater: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of IN with the rater ids, if not rater_id.", rich_help_panel=NAMES),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of a long IN with the answers, if not named Q….", rich_help_panel=NAMES
        ),
    ] = None,
    rater_attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of a long IN that describes raters, if not named rater_…; repeatable.",
            rich_help_panel=NAMES,
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Name of the answers of a wide or LeWiDi file in a long one. Default: Q_label.",
            rich_help_panel=NAMES,
        ),
    ] = None,
    rater_columns: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE",
            help="Names of wide columns that are raters, as 'label_{rater_id}_{rater_gender}'.",
            rich_help_panel=NAMES,
        ),
    ] = None,
    item_columns: Annotated[
        str | None,
        typer.Option(
            metavar="TEMPLATE",
            help="Names of wide columns that are items, as 'item_{item_id}', where the rows are raters.",
            rich_help_panel=NAMES,
        ),
    ] = None,
    annotators: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="LeWiDi file with the attributes of raters.", rich_help_panel=NAMES),
    ] = None,
) -> None:
    """Convert a file of one kind to another.

    Ratings: long (a row per rating), wide (a column per rater), lewidi (JSON, an entry per item), official DICES files.
    Preference pairs: hh-rlhf, pairs (a table with all fields), trl, inspect. Attempts: red-team, inspect, pyrit.

    OUT ends in .csv, .tsv, .jsonl, .json or .parquet; before that .wide, .lewidi, .dices-350, .trl … names the kind.

    Example: dissensus convert posts.csv ratings.parquet --rater-columns "label_{rater_id}_{rater_gender}"
    """
    check_distinct([] if annotators is None else [annotators], [target])
    names = RatingsFileOptions(
        item=item,
        rater=rater,
        answer=answer,
        rater_attributes=tuple(rater_attribute or ()) or None,
        question=question,
        rater_columns=rater_columns,
        item_columns=item_columns,
        annotators=annotators,
    )
    options = ConversionOptions(
        source_kind=source_kind, target_kind=target_kind, ratings=names, as_released=as_released, overwrite=force
    )
    result = run(source, target, options)
    for note in result.notes:
        typer.echo(f"Note: {note}", err=True)
    origin = f"{result.n_records:,} {result.family} of {source} ({result.source_kind})"
    typer.echo(f"Wrote {target} ({result.target_kind}) from the {origin}.", err=True)
