"""`dissensus backup` and `dissensus restore`: the whole database as one file, and back."""

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.workflows.platform import backup as workflow


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write, as backup.zip.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there already.")] = False,
    settings: SettingsOption = None,
) -> None:
    """Write the whole database to a file, as it is at one moment; the site may go on meanwhile.

    The file holds all that raters gave and said of themselves. Keep it where nobody else can read it.

    Example: dissensus backup monday.zip
    """
    with open_site_platform(load_settings(settings), old=True) as platform:
        done = workflow.write_backup(platform, file, overwrite=force, now=utc_now())
    typer.echo(f"Wrote {file}: {done.rows:,} rows of {len(done.parts)} tables, at revision {done.revision}.", err=True)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `dissensus backup` wrote.")],
    settings: SettingsOption = None,
) -> None:
    """Write a backup into an empty database, all or nothing; SQLite and PostgreSQL take those of each other.

    The settings name the database, as DISSENSUS_DATABASE_URL does.

    Example: dissensus restore monday.zip
    """
    done = workflow.restore_backup(load_settings(settings).database_url, file)
    typer.echo(f"Restored {done.rows:,} rows of {len(done.parts)} tables, as they were at {done.written_at}.", err=True)
