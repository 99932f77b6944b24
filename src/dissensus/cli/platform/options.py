"""How commands of the platform find its settings and its database."""

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dissensus.settings import Settings
    from dissensus.workflows.platform.platform import Platform

SettingsOption = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE", help="Settings as TOML. Default: DISSENSUS_SETTINGS, or dissensus.toml."
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.")]


def load_settings(file: Path | None) -> "Settings":
    """Return the settings, from the environment and from a file if one is named or there."""
    from dissensus.settings import PREFIX, load

    named = {} if file is None else {f"{PREFIX}SETTINGS": str(file)}
    return load({**os.environ, **named})


@contextmanager
def opened(settings: "Settings", *, old: bool = False, threads: int = 1) -> "Iterator[Platform]":
    """Open a platform whose database is as this version needs it.

    Blank SQLite files get their tables, unless the command makes sense on an `old` platform alone: in a wrong folder
    it would find nothing, and leave a file behind.
    """
    from dissensus.workflows.platform import schema
    from dissensus.workflows.platform.platform import open_platform

    ready = schema.check_schema if old else schema.prepare_schema
    ready(settings.database_url)
    platform = open_platform(settings.database_url, threads=threads)
    try:
        yield platform
    finally:
        platform.close()


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)
