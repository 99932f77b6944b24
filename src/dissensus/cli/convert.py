"""`dissensus convert`: conversion between file formats."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from dissensus.files.conversion import ConversionOptions
from dissensus.files.conversion import convert_file as run
from dissensus.files.ratings.kinds import RatingsFileOptions

NAMES = "Names in the files"

Kind = Literal[
    "long", "wide", "lewidi", "dices-350", "dices-990", "hh-rlhf", "pairs", "trl", "inspect", "red-team", "pyrit"
]


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="File to read; its content tells its kind.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; its name tells its kind.")],
    source_kind: Annotated[Kind | None, typer.Option("--from", help="Kind of IN, where its content misleads.")] = None,
    target_kind: Annotated[Kind | None, typer.Option("--to", help="Kind of OUT, where its name does not tell.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there already.")] = False,
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
    question: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="What the answers of a wide or LeWiDi file are called in a long one. Default: Q_label.",
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
    """Turn a file of one kind into a file of another.

    Ratings: long (a row a rating), wide (a column a rater), lewidi (JSON, an entry an item), official DICES files.
    Preference pairs: hh-rlhf, pairs (a table with all that is known), trl, inspect. Attempts: red-team, inspect, pyrit.

    OUT ends in .csv, .tsv, .jsonl, .json or .parquet; before that .wide, .lewidi, .dices-350, .trl … says the kind.

    Example: dissensus convert posts.csv ratings.parquet --rater-columns "label_{rater_id}_{rater_gender}"
    """
    said = RatingsFileOptions(
        item=item,
        rater=rater,
        answer=answer,
        question=question,
        rater_columns=rater_columns,
        item_columns=item_columns,
        annotators=annotators,
    )
    wanted = ConversionOptions(
        source_kind=source_kind, target_kind=target_kind, said=said, as_released=as_released, overwrite=force
    )
    done = run(source, target, wanted)
    for note in done.notes:
        typer.echo(f"Note: {note}", err=True)
    what = f"{done.number:,} {done.what} of {source} ({done.read})"
    typer.echo(f"Wrote {target} ({done.written}) from the {what}.", err=True)
