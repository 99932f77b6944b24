"""`dissensus diff`: changes between two releases."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.result_writer import Format, FormatOption, choose_format, format_rows
from dissensus.files.releases.folder import read_derived_tables, read_record, read_release_table
from dissensus.pipeline.release.changes import compare_records, compare_releases


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="Folder of a release.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Folder of a later release.")],
    format: FormatOption = None,  # noqa: A002 - the option's name
) -> None:
    """Show what changed between two releases: raters, items, columns, answers, agreement, pairs, attempts.

    Raters are compared where both releases have the same ids, as the plan of the later one may say.

    Example: dissensus diff pilot-1.0 pilot-1.1
    """
    tables = [read_release_table(folder) for folder in (old, new)]
    records = compare_records(read_derived_tables(old), read_derived_tables(new))
    changes = compare_releases(tables[0], tables[1], str(read_record(new)["question"]), records)
    kind = choose_format(format, None)
    if kind is Format.JSON:
        text = json.dumps({"schema_version": 1, "changes": asdict(changes)}, ensure_ascii=False, indent=2)
    elif kind is Format.CSV:
        rows = [{"change": sentence} for sentence in changes.sentences()]
        text = format_rows(kind, rows, ("change",), name="changes", if_empty="")
    else:
        text = "\n".join(changes.sentences())
    typer.echo(text)
