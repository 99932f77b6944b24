"""Catalogue of public data sets: licence, address, files."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from dissensus.errors import NotFound
from dissensus.schema.hints import format_list, format_value, suggest


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


def _catalogue() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("dissensus.files.fetch") / "datasets.toml").read_text("utf-8"))
