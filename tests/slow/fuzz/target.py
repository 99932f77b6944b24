"""One target of the fuzzer, in a process of its own: `python target.py NAME FOLDER -runs=N …`.

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
from dissensus.errors import DissensusError
from dissensus.files.raw.table_reader import PARSERS

CHAIN = (".csv", ".tsv", ".jsonl", ".json", ".csv.gz")
ANYWHERE = Path("ratings")
LONGEST = 1000
"""Characters of a message, which the input must not be able to fill."""


def parsed(data: bytes, kind: str) -> pl.DataFrame:
    """Return what a parser makes of bytes, all of it text; where it refuses, the input does not garble the message."""
    try:
        frame = PARSERS[kind](decompress(data, ANYWHERE), ANYWHERE)
    except DissensusError as error:
        if not str(error).isprintable() or len(str(error)) > LONGEST:
            raise AssertionError(f"message {error!r}") from error
        raise
    assert set(frame.dtypes) <= {pl.String}
    return frame


def separated(data: bytes, kind: str, separator: str) -> None:
    """Make sure that a table has the rows that the standard library reads, where that one can."""
    frame = parsed(data, kind)
    text = io.StringIO(data.decode().removeprefix("\ufeff"), newline="")
    try:
        header, *rows = (row for row in csv.reader(text, delimiter=separator, strict=True) if row)
    except csv.Error:
        return
    assert frame.columns == header
    assert filled(frame.rows()) == filled(rows)


def filled(rows: list[list[str]] | list[tuple[str | None, ...]]) -> list[list[str]]:
    return [[cell or "" for cell in row] for row in rows if any(row)]


def packed(data: bytes) -> None:
    """Read text in gzip, of which the first three bytes change one: which, and how."""
    data = data.ljust(3, b"\0")
    whole = bytearray(gzip.compress(data[3:], 1, mtime=0))
    whole[int.from_bytes(data[:2]) % len(whole)] ^= data[2]
    parsed(bytes(whole), "csv")


def chain(data: bytes, folder: Path) -> None:
    """Read ratings from a file, whose kind the first byte says."""
    path = folder / f"ratings{CHAIN[data[0] % len(CHAIN) if data else 0]}"
    path.write_bytes(gzip.compress(data[1:], 1) if path.suffix == ".gz" else data[1:])
    str(read_ratings(path))


def target(name: str, folder: Path) -> Callable[[bytes], object]:
    return {
        "csv": lambda data: separated(data, "csv", ","),
        "tsv": lambda data: separated(data, "tsv", "\t"),
        "jsonl": lambda data: parsed(data, "json"),
        "json": lambda data: parsed(data, "json"),
        "gzip": packed,
        "ratings": lambda data: chain(data, folder),
    }[name]


def main() -> None:
    name, folder = sys.argv.pop(1), Path(sys.argv[1])
    read, tally = target(name, folder.parent), {"inputs": 0, "read": 0}

    def one(data: bytes) -> None:
        tally["inputs"] += 1
        try:
            read(data)
            tally["read"] += 1
        except DissensusError:
            pass
        if tally["inputs"] % 1000 == 0:
            (folder.parent / "tally").write_text(f"{tally['inputs']} {tally['read']}")

    warnings.simplefilter("error")
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
