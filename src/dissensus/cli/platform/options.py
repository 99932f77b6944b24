"""Options that commands of the site share, and the platform that they open."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from dissensus.settings import PREFIX, Settings, read_settings
from dissensus.workflows.platform.platform import (
    Platform,
    check_schema,
    list_durability_risks,
    open_platform,
    prepare_schema,
)

SettingsOption = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE", help="Settings as TOML. Default: DISSENSUS_SETTINGS, or dissensus.toml."
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.")]
CellOption = Annotated[
    str | None, typer.Option(metavar="CELL", help="Cell of the quota, if the recruiter fills the cells.")
]


def load_settings(file: Path | None) -> Settings:
    """Read the settings from the environment and the settings file."""
    override = {} if file is None else {f"{PREFIX}SETTINGS": str(file)}
    return read_settings({**os.environ, **override})


@contextmanager
def open_site_platform(settings: Settings, *, create: bool = False, threads: int = 1) -> Iterator[Platform]:
    """Open the platform, with a database at the schema revision of this version.

    With `create` a blank SQLite file gets its tables. Other commands need an existing database: in a wrong folder they
    would create an empty one.
    """
    prepare = prepare_schema if create else check_schema
    prepare(settings.database_url)
    platform = open_platform(settings.database_url, threads=threads)
    try:
        yield platform
    finally:
        platform.close()


def print_durability_risks(url: str) -> None:
    """Warn of settings of the database by which a crash could lose acknowledged data."""
    for risk in list_durability_risks(url):
        typer.echo(f"Warning: {risk}", err=True)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)
