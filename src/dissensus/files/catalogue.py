"""Catalogue of public data sets: licences, source notices, addresses and files."""

import json
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from dissensus.errors import NotFound
from dissensus.files.raw.content import digest_file
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.records.source_notice import SourceNotice

RECORD: Final = "fetched.json"
"""Record of `dissensus fetch` in the folder of a data set."""
DEPTH: Final = 2
"""Folders from a file up to that of its data set, which are searched for the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFile:
    """One file of a data set."""

    path: str  # below the base address and the target folder
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A public data set and its address."""

    name: str
    title: str
    paper: str
    licence: str
    warning: str
    base: str  # base address of the file paths
    files: tuple[DatasetFile, ...]
    citation: str = ""
    contact: str = ""
    purpose: str = ""
    disclaimer: str = ""
    stated_in: str = ""  # document of the authors that says so

    @property
    def notice(self) -> SourceNotice:
        """Terms and warnings in the words of the authors."""
        return SourceNotice(
            name=self.name,
            title=self.title,
            licence=self.licence,
            citation=self.citation or self.paper,
            contact=self.contact,
            purpose=self.purpose,
            disclaimer=self.disclaimer or self.warning,
            stated_in=self.stated_in,
        )


def datasets() -> tuple[str, ...]:
    """Return the names of the data sets that can be fetched.

    Examples
    --------
    >>> datasets()
    ('dices-350', 'dices-990', 'hh-rlhf', 'red-team')
    """
    return tuple(sorted(_catalogue()))


def load_dataset(name: str) -> Dataset:
    """Return the catalogue entry of a data set.

    Examples
    --------
    >>> load_dataset("hh-rlhf").licence
    'MIT, Anthropic'
    """
    catalogue = _catalogue()
    if name not in catalogue:
        hint = suggest(name, sorted(catalogue))
        raise NotFound(f"There is no data set {format_value(name)}; there are {format_list(sorted(catalogue))}.{hint}")
    entry = catalogue[name]
    return Dataset(**{**entry, "name": name, "files": tuple(DatasetFile(**file) for file in entry["files"])})


def load_source_notice(name: str) -> SourceNotice:
    """Return the source notice of a data set; the name alone for one that is not in the catalogue.

    Examples
    --------
    >>> load_source_notice("red-team").contact, load_source_notice("ours").licence
    ('redteam@anthropic.com', '')
    """
    return load_dataset(name).notice if name in _catalogue() else SourceNotice(name=name)


def identify_dataset(path: Path) -> str | None:
    """Identify the data set of a file by its SHA-256, in the catalogue or in a record of `fetch` beside it."""
    try:
        digest = digest_file(path)
    except OSError:  # the reader of the file says so
        return None
    recorded = (_find_recorded(folder, digest) for folder in path.absolute().parents[:DEPTH])
    return _names_by_digest().get(digest) or next(filter(None, recorded), None)


def _find_recorded(folder: Path, digest: str) -> str | None:
    with suppress(OSError, AttributeError, TypeError, ValueError, RecursionError):
        for entry in json.loads((folder / RECORD).read_text("utf-8")).values():
            name = entry.get("dataset")
            if entry.get("sha256") == digest and name in _catalogue():
                return str(name)
    return None


@cache
def _names_by_digest() -> dict[str, str]:
    return {file["sha256"]: name for name, entry in _catalogue().items() for file in entry["files"] if "sha256" in file}


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("dissensus.files") / "datasets.toml").read_text("utf-8"))
