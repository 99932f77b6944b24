"""Streaming table writer: constant memory, atomic."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from gzip import GzipFile
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl
from polars.io.plugins import register_io_source

from dissensus.files.raw import delimited, json_table, table_writer
from dissensus.files.raw.atomic_write import PRIVATE, SHARED, replace_atomically
from dissensus.files.raw.formulas import FORMULAS, NUMBER

EXTENSIONS: Final = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")


def write_parts(
    parts: Iterable[pl.DataFrame],
    schema: Mapping[str, pl.DataType],
    path: Path,
    *,
    overwrite: bool = False,
    mode: int = PRIVATE,
) -> None:
    """Write the parts of a table to a file, in the format of its extension."""
    extension = table_writer.extension_of(path, EXTENSIONS)
    table_writer.check_overwrite(path, overwrite=overwrite)
    with replace_atomically(path, mode=mode) as part:
        _write(parts, schema, part, extension)


@contextmanager
def open_for_writing(path: Path) -> Iterator[BinaryIO | GzipFile]:
    """Open a file for atomic writing, compressed if its name ends in .gz."""
    with replace_atomically(path, mode=SHARED) as part, part.open("wb") as file:
        if not path.name.lower().endswith(".gz"):
            yield file
            return
        # Higher levels take twice the time and save 5 %.
        with table_writer.open_gzip(file, level=4) as packed:
            yield packed


def _write(parts: Iterable[pl.DataFrame], schema: Mapping[str, pl.DataType], path: Path, extension: str) -> None:
    if extension == ".parquet":
        _parquet(parts, schema, path)
        return
    encode = csv_parts if extension.startswith(".csv") else _json_parts
    is_gzip = extension.endswith(".gz")
    with path.open("wb") as file, table_writer.open_gzip(file) if is_gzip else nullcontext(file) as out:
        for data in encode(parts, schema):
            out.write(data)


def csv_parts(parts: Iterable[pl.DataFrame], schema: Mapping[str, pl.DataType]) -> Iterator[bytes]:
    r"""Yield a table as comma-separated text: the header, then each part.

    Examples
    --------
    >>> parts = [pl.DataFrame({"item_id": [item]}) for item in ("1", "2")]
    >>> b"".join(csv_parts(parts, {"item_id": pl.String()}))
    b'item_id\n1\n2\n'
    """
    header = delimited.dump(pl.DataFrame(schema=dict.fromkeys(schema, pl.String)), separator=",")
    yield header
    for part in parts:
        yield delimited.dump(table_writer.to_text_table(part), separator=",").removeprefix(header)


def _json_parts(parts: Iterable[pl.DataFrame], schema: Mapping[str, pl.DataType]) -> Iterator[bytes]:  # noqa: ARG001 - as for csv
    for part in parts:
        yield json_table.dump(table_writer.to_text_table(part), lines=True)


def _parquet(parts: Iterable[pl.DataFrame], schema: Mapping[str, pl.DataType], path: Path) -> None:
    failed: list[Exception] = []

    def source(columns: list[str] | None, *_: object) -> Generator[pl.DataFrame, None, None]:
        try:
            for part in parts:
                yield part if columns is None else part.select(columns)
        except Exception as error:
            failed.append(error)
            raise

    try:
        lazy = register_io_source(source, schema=dict(schema))
        # An open file, not a path: after a failure polars may go on writing, and would create the file again.
        with path.open("wb") as file:
            lazy.sink_parquet(file, engine="streaming", row_group_size=10_000)
    except Exception:
        # Polars wraps exceptions of a source in its own.
        if failed:
            raise failed[0] from None
        raise


def escape_formulas(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Escape texts that spreadsheets interpret as formulas with an apostrophe, and count them.

    Examples
    --------
    >>> frame, n = escape_formulas(pl.DataFrame({"said": ["=1+1", "1+1", None], "n": [-1, 2, 3]}))
    >>> frame["said"].to_list(), frame["n"].to_list(), n
    (["'=1+1", '1+1', None], [-1, 2, 3], 1)
    """
    names = [name for name, dtype in frame.schema.items() if dtype in (pl.String, pl.Enum, pl.Categorical)]
    texts = frame.select(pl.col(names).cast(pl.String))
    begins, plain = pl.all().str.slice(0, 1).is_in(FORMULAS), pl.all().str.contains(NUMBER)
    risky = texts.select((begins & ~plain).fill_null(value=False))
    n = int(sum(column.sum() for column in risky))
    if not n:
        return frame, 0
    marked = [pl.when(risky[name]).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name) for name in names]
    return frame.with_columns(texts.select(marked)), n


def escape_formula(value: str | float | None) -> str | float | None:
    """Return one value as `escape_formulas` does.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula("-1"), escape_formula(2)
    ("'=1+1", '-1', 2)
    """
    if isinstance(value, str) and value.startswith(FORMULAS) and not re.fullmatch(NUMBER, value):
        return f"'{value}"
    return value
