"""`dissensus validate`: all errors and warnings of a file."""

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dissensus.cli import result_writer
from dissensus.cli.options import READING, ItemsOption
from dissensus.cli.ratings_options import with_table_options
from dissensus.cli.remedy import print_remedy
from dissensus.cli.result_writer import Format, FormatOption, OutputOption
from dissensus.cli.standard_input import spool
from dissensus.files.ratings.reader import validate as run
from dissensus.files.record_validation import holds_records, validate_records
from dissensus.files.releases.folder import list_data_files
from dissensus.files.releases.verification import validate_release


@with_table_options
def validate(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Tables of ratings, pairs or attempts, or folders of releases."),
    ],
    items: ItemsOption = None,
    question: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Question to check; repeatable. Default: all.", rich_help_panel=READING),
    ] = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    output: OutputOption = None,
    *,
    table: dict[str, Any],
) -> None:
    """Check files, and list all faults: location, value, allowed values, remedy.

    Preference pairs and red-team attempts are recognised by their columns; the options apply to tables of ratings. Of a
    release all files are checked against its manifest, its ids, cells and times against what it promises; of any other
    folder each data file.

    Exits with 1 if a file has errors; warnings do not count.

    Example: dissensus validate ratings.csv --format csv -o problems.csv
    """
    output_format = result_writer.choose_format(format, output)
    files = [spool(part) for path in files for part in list_data_files(path)]
    results = [
        validate_release(path)
        if path.is_dir()
        else validate_records(path)
        if holds_records(path)
        else run(path, items=items, questions=question or "all", **table)
        for path in files
    ]
    if output_format is Format.TABLE:
        text = "\n\n".join(map(str, results))
    elif output_format is Format.JSON:
        document = {"schema_version": 1, "files": [result.to_dict() for result in results]}
        text = json.dumps(document, ensure_ascii=False, indent=2)
    else:
        text = result_writer.to_csv(pl.concat([result.to_polars() for result in results]))
    result_writer.write_text(text, output)
    for result in results:
        print_remedy(result.options, only=result.source if len(results) > 1 else None)
    if not all(result.ok for result in results):
        raise typer.Exit(1)
