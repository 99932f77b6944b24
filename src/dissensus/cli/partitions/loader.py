"""Reading of folders and globs of Parquet files, and errors for commands and options that do not support it."""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dissensus.errors import InvalidInput

if TYPE_CHECKING:
    from dissensus.pipeline.engine.ratings import PartitionedRatings

READS_FOLDERS: Final = ("aggregate", "analyse", "benchmark", "model", "report", "vet")
"""Commands that read folders of Parquet files."""

_UNSUPPORTED: Final = {
    "items": "--items",
    "has_label": "--has-label",
    "normalise": "--normalise",
    "sets": "--sets",
    "rename": "--rename",
    "text": "--text-column",
    "kind": "--from",
    "rater_columns": "--rater-columns",
    "item_columns": "--item-columns",
    "annotators": "--annotators",
}
"""Options that need all rows, or the attributes of items, in memory, by their argument of `read_ratings`."""


def is_partitioned(path: Path) -> bool:
    """Return whether a path is a folder or a glob of files, not one file."""
    return path.is_dir() or (glob.has_magic(str(path)) and not path.exists())


def refuse_partitions(paths: Sequence[Path]) -> NoReturn:
    """Refuse a folder or glob among the paths for a command that reads all ratings into memory."""
    raise InvalidInput(
        f"{next(filter(is_partitioned, paths))} is a folder or a glob, and this command needs all ratings in memory. "
        "Name one file, or several: those of some of the items, or a sample of whole items. Folders of Parquet files "
        f"are read by dissensus {', '.join(READS_FOLDERS)}."
    )


def refuse_engine(path: Path) -> NoReturn:
    """Refuse --engine spark for a single file."""
    raise InvalidInput(
        f"--engine spark reads a folder or a glob of Parquet files, and {path} is one file. Leave it out, or put the "
        "file into a folder as Parquet (dissensus convert)."
    )


def load_partitions(
    paths: Sequence[Path],
    conditions: Sequence[tuple[str, str]],
    arguments: dict[str, Any],
) -> "PartitionedRatings":
    """Read a folder or glob of Parquet files with those arguments of `read_ratings` that apply to it."""
    from dissensus.files.ratings.partitions.reader import read_partitions

    if len(paths) > 1:
        raise InvalidInput(
            f"{paths[0]} and {paths[1]} are given, and one folder or glob is read at a time. Name a glob that matches "
            "all files."
        )
    if arguments["rater"] is None:
        raise InvalidInput(
            f"--no-raters does not apply to {paths[0]}: ratings of a folder need the ids of their raters."
        )
    for name, option in _UNSUPPORTED.items():
        if arguments.pop(name):
            raise InvalidInput(
                f"{option} does not apply to {paths[0]}: the rows of a folder are not all in memory. Leave it out, or "
                "write the files with the values that it would make."
            )
    return read_partitions(paths[0], where=conditions, **arguments)
