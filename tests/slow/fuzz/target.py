"""Run one fuzz target: `python target.py NAME FOLDER -runs=N …`.

Ends with 0 once N inputs were read, or refused in words. Otherwise libFuzzer says what happened, and keeps the input.
"""

import csv
import gzip
import io
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]
import polars as pl

with atheris.instrument_imports(include=["dissensus.files", "dissensus.schema"], enable_loader_override=False):
    from dissensus.files.ratings.reader import read_ratings
    from dissensus.files.raw.content import decompress
    from dissensus.files.raw.delimited import SEPARATORS
from dissensus.errors import DissensusError
from dissensus.files.raw.table_reader import PARSERS

CHAIN = (".csv", ".tsv", ".jsonl", ".json", ".csv.gz")
ANYWHERE = Path("ratings")
LONGEST = 1000
"""Characters of a message, which the input must not be able to fill."""


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


def target(name: str, folder: Path) -> Callable[[bytes], object]:
    return {
        "csv": lambda data: check_separated(data, "csv", ","),
        "tsv": lambda data: check_separated(data, "tsv", "\t"),
        "jsonl": lambda data: parse_columns(data, "json"),
        "json": lambda data: parse_columns(data, "json"),
        "gzip": parse_gzip,
        "ratings": lambda data: chain(data, folder),
    }[name]


def main() -> None:
    name, folder = sys.argv.pop(1), Path(sys.argv[1])
    reader, tally = target(name, folder.parent), {"inputs": 0, "read": 0}

    def feed(data: bytes) -> None:
        tally["inputs"] += 1
        try:
            reader(data)
            tally["read"] += 1
        except DissensusError:
            pass
        if tally["inputs"] % 1000 == 0:
            (folder.parent / "tally").write_text(f"{tally['inputs']} {tally['read']}")

    warnings.simplefilter("error")
    atheris.Setup(sys.argv, feed)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
