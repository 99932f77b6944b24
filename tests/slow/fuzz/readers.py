"""Readers of files as fuzz targets: an input is read, or refused in words."""

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl

from dissensus.errors import DissensusError
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.content import decompress
from dissensus.files.raw.delimited import SEPARATORS
from dissensus.files.raw.table_reader import PARSERS

CHAIN = (".csv", ".tsv", ".jsonl", ".json", ".csv.gz")
ANYWHERE = Path("ratings")
LONGEST = 1000
"""Characters of a message, which the input must not be able to fill."""

TABLE = pl.DataFrame(
    {
        "item_id": ["7", "7", "8"],
        "rater_id": ["ann", "bé", "ann"],
        "rater_x": ["a", None, "a"],
        "Q_overall": ["Yes", "No", None],
    }
)
TEXTS = {
    "csv": TABLE.write_csv().encode(),
    "tsv": TABLE.write_csv(separator="\t").encode(),
    "jsonl": TABLE.write_ndjson().encode(),
    "json": TABLE.write_json().encode(),
}
QUOTED = b'\xef\xbb\xbf"a","b ""c"""\r\n1,"x\ny"\r\n'
NESTED = b'{"a": [1e5, {"b": null}], "\\u00e9": "\\ud83d\\ude00"}'

SEEDS: dict[str, list[bytes]] = {
    "csv": [TEXTS["csv"], QUOTED],
    "tsv": [TEXTS["tsv"], QUOTED.replace(b",", b"\t")],
    "jsonl": [TEXTS["jsonl"], NESTED + b"\n\n" + NESTED],
    "json": [TEXTS["json"], b"[" + NESTED + b",\n" + NESTED + b"]"],
    "gzip": [b"\0\0\0" + TEXTS["csv"], b"\0\1\1" + QUOTED],
    "ratings": [bytes([kind]) + text for kind, text in enumerate([*TEXTS.values(), TEXTS["csv"]])],
}
"""Valid inputs of each target, which fuzzing begins with."""


def parse_columns(data: bytes, kind: str) -> pl.DataFrame:
    """Parse bytes to text columns; check that an error message has no control characters."""
    try:
        frame = PARSERS[kind](decompress(data, ANYWHERE), ANYWHERE)
    except DissensusError as error:
        if not str(error).isprintable() or len(str(error)) > LONGEST:
            raise AssertionError(f"message {error!r}") from error
        raise
    assert set(frame.dtypes) <= {pl.String}
    return frame


def check_separated(data: bytes, kind: str, separator: str) -> None:
    """Check that a table has the rows that the csv module reads, if it can read them.

    Another usual separator may be read where this one gives a single column.
    """
    frame = parse_columns(data, kind)
    header, *rows = read_with_csv(data, separator)
    if len(header) == 1:
        others = (read_with_csv(data, other) for other in SEPARATORS if other in header[0])
        header, *rows = next((other for other in others if other[0] == frame.columns), [header, *rows])
    assert not header or frame.columns == header
    assert not header or non_empty_rows(frame.rows()) == non_empty_rows(rows)


def read_with_csv(data: bytes, separator: str) -> list[list[str]]:
    """Return the rows that the csv module reads; one empty row if it cannot read them."""
    text = io.StringIO(data.decode().removeprefix("\ufeff"), newline="")
    try:
        return [row for row in csv.reader(text, delimiter=separator, strict=True) if row]
    except csv.Error:
        return [[]]


def non_empty_rows(rows: list[list[str]] | list[tuple[str | None, ...]]) -> list[list[str]]:
    return [[cell or "" for cell in row] for row in rows if any(row)]


def parse_gzip(data: bytes) -> None:
    """Read text in gzip, of which the first three bytes change one: which, and how."""
    data = data.ljust(3, b"\0")
    compressed = bytearray(gzip.compress(data[3:], 1, mtime=0))
    compressed[int.from_bytes(data[:2]) % len(compressed)] ^= data[2]
    parse_columns(bytes(compressed), "csv")


def chain(data: bytes, folder: Path) -> None:
    """Read ratings from a file whose kind is given by the first byte."""
    path = folder / f"ratings{CHAIN[data[0] % len(CHAIN) if data else 0]}"
    path.write_bytes(gzip.compress(data[1:], 1) if path.suffix == ".gz" else data[1:])
    str(read_ratings(path))


def find_target(name: str, folder: Path) -> Callable[[bytes], bool]:
    """Return a function that tells whether an input is read; it raises anything but a refusal."""
    read: Callable[[bytes], object] = {
        "csv": lambda data: check_separated(data, "csv", ","),
        "tsv": lambda data: check_separated(data, "tsv", "\t"),
        "jsonl": lambda data: parse_columns(data, "json"),
        "json": lambda data: parse_columns(data, "json"),
        "gzip": parse_gzip,
        "ratings": lambda data: chain(data, folder),
    }[name]

    def is_read(data: bytes) -> bool:
        try:
            read(data)
        except DissensusError:
            return False
        return True

    return is_read
