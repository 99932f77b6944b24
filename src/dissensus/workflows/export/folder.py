"""Folder of an export with several files: names and writers that conversation and pair exports share."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from dissensus.errors import Conflict, InvalidInput
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.schema.records.preference import Preference

README: Final = "README.txt"
PREFERENCES: Final = "preferences.jsonl"
PAIRS: Final = "pairs"


def create_empty_folder(folder: Path) -> None:
    """Create a folder; refuse one that contains files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        filled = any(folder.iterdir())
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be a folder: {error.strerror}. Name another one.") from None
    if filled:
        raise Conflict(f"{folder} is not empty. Name a new folder, or empty it.")


def write_jsonl(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as JSON Lines; no file if there are none."""
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    if text:
        write_atomically(text.encode(), path)


def to_preference_row(preference: Preference) -> Mapping[str, Any]:
    """Return a preference as a row of an export file."""
    return {**asdict(preference), "phase": preference.phase}
