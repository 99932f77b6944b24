"""`dissensus backup` and `dissensus restore`: a copy of the database as one file."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from dissensus.cli.options import ForceOption
from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.errors import InvalidInput
from dissensus.workflows.platform import backup as workflow

PIPE: Final = Path("-")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as backup.zip; - for a pipe.")],
    force: ForceOption = False,
    settings: SettingsOption = None,
) -> None:
    """Write a consistent copy of the database to a file; the site may keep running.

    The file contains all answers and personal data of raters. Store it where nobody else can read it, or encrypt it.

    Example: dissensus backup - | age -r RECIPIENT > monday.zip.age
    """
    with open_site_platform(load_settings(settings)) as platform:
        if file == PIPE:
            if sys.stdout.isatty():
                raise InvalidInput("A backup is not written to a terminal. Redirect it, or name a file.")
            result = workflow.stream_backup(platform, sys.stdout.buffer, now=utc_now())
        else:
            result = workflow.write_backup(platform, file, overwrite=force, now=utc_now())
    target = "a backup" if file == PIPE else file
    typer.echo(
        f"Wrote {target}: {result.rows:,} rows of {len(result.parts)} tables, at revision {result.revision}.", err=True
    )


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `dissensus backup` wrote; - for a pipe.")],
    settings: SettingsOption = None,
) -> None:
    """Restore a backup into an empty database, all or nothing; also from SQLite to PostgreSQL and back.

    The database is that of the settings, or of DISSENSUS_DATABASE_URL.

    Example: age -d -i KEY monday.zip.age | dissensus restore -
    """
    url = load_settings(settings).database_url
    result = workflow.restore_stream(url, sys.stdin.buffer) if file == PIPE else workflow.restore_backup(url, file)
    typer.echo(
        f"Restored {result.rows:,} rows of {len(result.parts)} tables, as they were at {result.written_at}.", err=True
    )
