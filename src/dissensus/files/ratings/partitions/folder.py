"""Parquet files of a folder or a glob, with one schema."""

import glob
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import polars as pl
from polars.exceptions import PanicException, PolarsError

from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw.parquet_probe import describe_damage
from dissensus.schema.hints import format_list
from dissensus.schema.ratings.headers import check_headers

SUFFIX: Final = ".parquet"
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
_ROW: Final = "__row__"  # Unlike the name of a column of a file
_DAMAGED: Final = (PolarsError, PanicException, OSError)


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """Files of one schema, in the order of their names, without empty ones."""

    source: Path  # The folder or glob, for messages
    sizes: dict[Path, int]  # Rows of each file
    schema: dict[str, pl.DataType]  # Columns of all files, and of names of folders
    partitions: Mapping[Path, dict[str, str | None]]  # Values of names of folders (``rater_locale=IN``) of each file
    base: Path = Path()  # Folder that relative paths begin at

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files in order."""
        return tuple(self.sizes)

    @property
    def n_rows(self) -> int:
        """Rows of all files."""
        return sum(self.sizes.values())

    def scan(self, paths: Sequence[Path] | None = None) -> pl.LazyFrame:
        """Return the rows of all files, or of some, in order, with the columns of names of folders as text."""
        runs = groupby(paths or self.paths, key=lambda path: self.partitions[path])
        return pl.concat(
            [_scan_files([self.base / path for path in run], values) for values, run in runs], how="diagonal"
        )

    def unify_categories(self, column: str) -> pl.Expr:
        """Return a column with categories as text, since each file may have codes of its own."""
        is_category = isinstance(self.schema[column], pl.Categorical | pl.Enum)
        return pl.col(column).cast(pl.String) if is_category else pl.col(column)

    def slices(self, n_rows: int) -> Iterator[pl.LazyFrame]:
        """Yield the rows of all files in order, at most `n_rows` at once.

        Batches of one streaming query took several times the memory for a hundred million rows, presumably since they
        waited for a slower reader.
        """
        for path, size in self.sizes.items():
            for low in range(0, size, n_rows):
                yield self.scan([path]).slice(low, n_rows)

    def locate(self, condition: pl.Expr, n: int = 1) -> list[str]:
        """Return the places of the first rows that meet a condition, as file and row."""
        places: list[str] = []
        for path in self.paths:
            rows = self.scan([path]).with_row_index(_ROW).filter(condition).select(_ROW).head(n)
            places += [f"row {row + 1:,} of {path}" for row in rows.collect(engine="streaming").to_series().to_list()]
            if len(places) >= n:
                break
        return places[:n]

    def name_row(self, condition: pl.Expr) -> str:
        """Return the place of the first row that meets a condition, at the beginning of a sentence."""
        place = next(iter(self.locate(condition)), f"a row of {self.source}")
        return place[0].upper() + place[1:]

    @contextmanager
    def name_damage(self) -> Iterator[None]:
        """Turn an error of the Parquet reader into one that names the file."""
        try:
            yield
        except _DAMAGED as error:
            for path in self.paths:
                try:
                    self.scan([path]).select(pl.all().count()).collect(engine="streaming")
                except _DAMAGED as damage:
                    raise InvalidInput(describe_damage(path, damage)) from None
            raise InvalidInput(f"{self.source} cannot be read: {error}") from None


def find_folder(source: Path) -> ParquetFolder:
    """Return the Parquet files of a folder or a glob, and check that they have one schema."""
    paths = _find_paths(source)
    partitions = {path: _read_partition(path, _root(source)) for path in paths}
    schemas = {path: _read_schema(path) for path in paths}
    sizes = {path: _count_rows(path) for path in paths}
    filled = [path for path in paths if sizes[path]]
    if not filled:
        raise InvalidInput(f"The {len(paths):,} Parquet files of {source} have no rows, so there is nothing to read.")
    first = filled[0]
    for path in filled[1:]:
        columns, expected = list(partitions[path]), list(partitions[first])
        if columns != expected:
            raise InvalidInput(
                f"{path} lies under folders that name {format_list(columns) or 'no column'}, and {first} under "
                f"folders that name {format_list(expected) or 'none'}. Arrange all files in the same way."
            )
        _compare_schemas(first, schemas[first], path, schemas[path])
    for name in partitions[first].keys() & schemas[first].keys():
        raise InvalidInput(
            f"{name!r} is a column of {first} and is named by a folder above it. Write the files without it, or rename "
            "the folders."
        )
    schema = schemas[first] | dict.fromkeys(partitions[first], pl.String())
    check_headers(pl.DataFrame(schema=schema))
    return ParquetFolder(source, {path: sizes[path] for path in filled}, schema, partitions)


def _scan_files(paths: list[Path], values: Mapping[str, str | None]) -> pl.LazyFrame:
    rows = pl.scan_parquet(paths, glob=False, hive_partitioning=False)
    return rows.with_columns(pl.lit(value, pl.String).alias(name) for name, value in values.items())


def _find_paths(source: Path) -> list[Path]:
    if source.is_dir():
        # Spark writes folders with such names too, whose files follow them here.
        paths = (path for path in source.rglob(f"*{SUFFIX}") if path.is_file())
        matches = [path for path in paths if not any(part[0] in "._" for part in path.relative_to(source).parts)]
        if not matches:
            others = sorted({path.suffix or path.name for path in source.iterdir() if path.is_file()})
            listed = f"; its files are {format_list(others)}" if others else ""
            raise InvalidInput(
                f"The folder {source} has no {SUFFIX} file{listed}. Name a folder of Parquet files, a glob such as "
                f"'ratings/*{SUFFIX}', or one file."
            )
        return sorted(matches)
    matches = [Path(name) for name in glob.glob(str(source), recursive=True)]  # noqa: PTH207 - of a whole path
    if not matches:
        raise NotFound(f"No file matches {source}. Check the path; a glob with ** searches folders below.")
    wrong = [path for path in matches if path.suffix != SUFFIX or not path.is_file()]
    if wrong:
        raise InvalidInput(f"{wrong[0]} matches {source} and is not a {SUFFIX} file. A glob names Parquet files alone.")
    return sorted(matches)


def _root(source: Path) -> Path:
    """Return the folder below which names of folders may be columns."""
    parts = source.parts
    fixed = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return source if source.is_dir() else Path(*parts[:fixed])


def _read_partition(path: Path, root: Path) -> dict[str, str | None]:
    """Return the columns and values in the names of the folders between a root and a file."""
    values: dict[str, str | None] = {}
    for part in path.relative_to(root).parts[:-1]:
        name, equals, value = part.partition("=")
        if name in values and equals:
            raise InvalidInput(f"Two folders above {path} name {name!r}. Rename one of them.")
        if equals:
            values[unquote(name)] = None if value == _NULL else unquote(value)
    return values


def _read_schema(path: Path) -> dict[str, pl.DataType]:
    try:
        return dict(pl.read_parquet_schema(path))
    except _DAMAGED as error:
        raise InvalidInput(describe_damage(path, error)) from None


def _count_rows(path: Path) -> int:
    try:
        return int(pl.scan_parquet(path, glob=False, hive_partitioning=False).select(pl.len()).collect().item())
    except _DAMAGED as error:
        raise InvalidInput(describe_damage(path, error)) from None


def _compare_schemas(first: Path, expected: dict[str, pl.DataType], path: Path, schema: dict[str, pl.DataType]) -> None:
    """Raise if two files have other columns or types; their order does not matter."""
    for name in expected.keys() ^ schema.keys():
        holder, other = (first, path) if name in expected else (path, first)
        raise InvalidInput(
            f"{holder} has a column {name!r} and {other} has none. All files of a folder need the same columns: write "
            "them again, or name those that belong together by a glob."
        )
    for name, dtype in expected.items():
        if schema[name] != dtype:
            raise InvalidInput(
                f"Column {name!r} holds {dtype} in {first} and {schema[name]} in {path}. All files of a folder need "
                "the same types: write them again with one."
            )
