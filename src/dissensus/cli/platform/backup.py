"""`dissensus backup` and `dissensus restore`: copy of the database as one file."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.options import ForceOption
from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.workflows.platform import backup as workflow


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as backup.zip.")],
    force: ForceOption = False,
    settings: SettingsOption = None,
) -> None:
    """Write a consistent copy of the database to a file; the site may keep running.

    The file contains all answers and personal data of raters. Store it where nobody else can read it.

    Example: dissensus backup monday.zip
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        result = workflow.write_backup(platform, file, overwrite=force, now=utc_now())
    typer.echo(
        f"Wrote {file}: {result.rows:,} rows of {len(result.parts)} tables, at revision {result.revision}.", err=True
    )


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `dissensus backup` wrote.")],
    settings: SettingsOption = None,
) -> None:
    """Restore a backup into an empty database, all or nothing; also from SQLite to PostgreSQL and back.

    The database is that of the settings, or of DISSENSUS_DATABASE_URL.

    Example: dissensus restore monday.zip
    """
    result = workflow.restore_backup(load_settings(settings).database_url, file)
    typer.echo(
        f"Restored {result.rows:,} rows of {len(result.parts)} tables, as they were at {result.written_at}.", err=True
    )
