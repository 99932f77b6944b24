"""Table writer: unchanged text, typed Parquet where that is lossless, atomic."""

import json
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from gzip import GzipFile
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl
from polars.exceptions import PolarsError

from dissensus.errors import Conflict, InvalidInput
from dissensus.files.raw import delimited, json_table
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.files.raw.content import EXTENSIONS
from dissensus.files.raw.table_reader import to_polars
from dissensus.schema.hints import format_value
from dissensus.schema.questionnaire.shipped import known_scale
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names

Entries = Mapping[str, Mapping[str, object]]
"""A JSON object whose values are objects."""


def write_frame(table: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    r"""Write a table to a file: csv, tsv, jsonl, json (these also gzipped) or parquet, by extension.

    Parameters
    ----------
    table
        A pandas, polars or Arrow table.
    path
        Target. It is written atomically, and the same table gives the same bytes.
    overwrite
        True to replace an existing file.

    Raises
    ------
    InvalidInput
        The name has another extension, or a column holds lists or other values that text files cannot hold.
    Conflict
        The file exists already.
    Unavailable
        The file cannot be written.

    Notes
    -----
    Text files hold numbers and dates as text, and nothing for missing values and empty texts, which `read_frame` and
    `read_long` read as missing. Fields are quoted only if necessary. In Parquet ids are text, answers an Enum of
    their scale if it is known, and ``answer_time_ms`` whole numbers, each only if all values of the column convert
    back to the same text.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> table = pl.DataFrame({"item_id": ["1"], "rater_id": ["ann"], "Q_overall": ["No"]})
    >>> with TemporaryDirectory() as folder:
    ...     write_frame(table, Path(folder, "ratings.csv"))
    ...     Path(folder, "ratings.csv").read_text()
    'item_id,rater_id,Q_overall\n1,ann,No\n'
    """
    write_content(to_polars(table), Path(path), overwrite=overwrite)


def write_content(content: pl.DataFrame | Entries, path: Path, *, overwrite: bool) -> None:
    """Write a table or entries to a file, in the format of its extension."""
    check_overwrite(path, overwrite=overwrite)
    extension = extension_of(path)
    encode = _ENCODERS[extension.removesuffix(".gz")]
    data = encode(content) if isinstance(content, pl.DataFrame) else _entries(content)
    write_atomically(_gzip(data) if extension.endswith(".gz") else data, path)


def check_overwrite(path: Path, *, overwrite: bool) -> None:
    """Raise if the file exists and must not be overwritten."""
    with suppress(OSError, ValueError):  # an invalid path; writing raises for it
        if path.exists() and not overwrite:
            raise Conflict(
                f"{path} is there already. Name another file, or replace it with --force (in Python: overwrite=True)."
            )


def extension_of(path: Path, allowed: Collection[str] = tuple(EXTENSIONS)) -> str:
    """Return the extension of a file name; raise if it is not allowed."""
    extension = next((end for end in EXTENSIONS if path.name.lower().endswith(end)), None)
    if extension not in allowed:
        raise InvalidInput(f"{path} cannot be written: name a file that ends in one of {', '.join(allowed)}.")
    return str(extension)


def open_gzip(file: BinaryIO, level: int = 6) -> GzipFile:
    """Open a file for compressed writing, without name and time, so that the bytes are reproducible."""
    return GzipFile(filename="", mode="wb", compresslevel=level, fileobj=file, mtime=0)


def _gzip(data: bytes) -> bytes:
    buffer = BytesIO()
    with open_gzip(buffer) as file:
        file.write(data)
    return buffer.getvalue()


def _encode_delimited(frame: pl.DataFrame, separator: str) -> bytes:
    data = delimited.dump(to_text_table(frame), separator=separator)
    if b"\0" in data:
        raise _nul_error(to_text_table(frame))
    return data


def _nul_error(frame: pl.DataFrame) -> InvalidInput:
    """Locate a NUL, which JSON can hold and separated text cannot."""
    where = "The name of a column"
    for column in frame:
        rows = column.str.contains("\0", literal=True).fill_null(value=False).arg_true()
        if len(rows):
            where = f"Column {format_value(column.name)}, row {rows[0] + 1:,},"
            break
    return InvalidInput(
        f"{where} has a NUL character, which text does not contain. Remove it, or write .jsonl or .parquet."
    )


def _json(frame: pl.DataFrame, lines: bool) -> bytes:
    return json_table.dump(to_text_table(frame), lines=lines)


def to_text_table(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table with every cell as text."""
    return frame.with_columns(cells.to_text(column) for column in frame)


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = BytesIO()
    try:
        frame.with_columns(_cast_column(column) for column in frame).write_parquet(buffer)
    except PolarsError as error:
        raise InvalidInput(f"Parquet cannot hold the table: {error} Write .jsonl.") from None
    return buffer.getvalue()


def _cast_column(column: pl.Series) -> pl.Series:
    """Return a column in the type for its name; unchanged if its text would change."""
    if column.name in (names.ITEM_ID, names.RATER_ID):
        return column.cast(pl.String) if column.dtype.is_integer() else column
    if column.dtype != pl.String:
        return column
    column = cells.to_text(column)
    scale = known_scale(column.name)
    dtype = pl.Int64() if column.name == names.ANSWER_TIME else pl.Enum(scale) if scale else pl.String()
    typed = column.cast(dtype, strict=False)
    return typed if typed.cast(pl.String).equals(column) else column


def _entries(entries: Entries) -> bytes:
    return (json.dumps(entries, ensure_ascii=False, indent=4) + "\n").encode()


_ENCODERS: Final[Mapping[str, Callable[[pl.DataFrame], bytes]]] = {
    ".csv": partial(_encode_delimited, separator=","),
    ".tsv": partial(_encode_delimited, separator="\t"),
    ".jsonl": partial(_json, lines=True),
    ".json": partial(_json, lines=False),
    ".parquet": _parquet,
}
