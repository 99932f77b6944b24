"""Folder of a release: written whole or not at all, with the digest of every file."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from dissensus.errors import Conflict, DissensusError, InvalidInput, Unavailable
from dissensus.files.attempts.tables import write_attempts
from dissensus.files.images import write_images
from dissensus.files.pairs.release import write_pairs
from dissensus.files.raw.content import digest_file
from dissensus.files.raw.table_reader import read_frame
from dissensus.files.raw.table_writer import write_content
from dissensus.pipeline.release.derivation import DerivedRecords
from dissensus.pipeline.release.description import DataFile
from dissensus.pipeline.release.documents import ATTEMPTS, ATTEMPTS_TWIN, CSV, IMAGES, PAIRS, PARQUET, RECORD
from dissensus.schema.hints import format_list
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.image import StoredImage
from dissensus.schema.release.plan import MAX_CELL

MANIFEST: Final = "SHA256SUMS"
SIGNATURE: Final = "SHA256SUMS.sig"
"""Detached signature of the manifest, which its owner may add."""
DATA_FILES: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz", ".parquet")
"""Ends of the names of data files."""
_LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)")
Documents = Callable[[Mapping[str, DataFile]], Mapping[str, str]]
"""Documents by path, given all files with data."""


def write_release(
    table: pl.DataFrame,
    derived: DerivedRecords,
    documents: Documents,
    folder: Path,
    *,
    images: Iterable[StoredImage] = (),
    register: Callable[[str], None],
) -> str:
    """Write a release into a new folder, and return the SHA-256 of its manifest.

    `register` is called with this digest once the folder exists, so that only releases that exist are logged. If
    `register` fails, the folder is removed.
    """
    check_new_folder(folder)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        manifest = _write_files(table, derived, documents, temporary, images)
        temporary.rename(folder)
        try:
            register(manifest)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    except DissensusError:
        raise  # Raised by documents and register; some are OSError too
    except (OSError, PolarsError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise Unavailable(f"{folder} cannot be written: {reason}. Nothing was left there.") from None
    finally:
        with suppress(OSError):
            shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def _write_files(
    table: pl.DataFrame, derived: DerivedRecords, documents: Documents, folder: Path, images: Iterable[StoredImage]
) -> str:
    """Write all files, and return the SHA-256 of their manifest."""
    (folder / "data").mkdir(parents=True)
    write_content(table, folder / CSV, overwrite=False)
    _plain(table).write_parquet(folder / PARQUET)
    if derived.pairs is not None:
        write_pairs(derived.pairs, folder / PAIRS)
    if derived.attempts:
        write_attempts(derived.attempts, folder / ATTEMPTS)
        write_attempts(derived.attempts, folder / ATTEMPTS_TWIN)
    write_images(images, folder / IMAGES)
    data = {path: _describe_file(folder / path) for path in _list_files(folder)}
    for path, text in documents(data).items():
        (folder / path).write_text(text, "utf-8", newline="\n")
    manifest = _manifest(folder)
    (folder / MANIFEST).write_bytes(manifest)
    return hashlib.sha256(manifest).hexdigest()


def _describe_file(path: Path) -> DataFile:
    columns = pl.read_parquet_schema(path) if path.suffix == ".parquet" else None
    return DataFile(sha256=digest_file(path), size=path.stat().st_size, columns=columns)


def check_new_folder(folder: Path) -> None:
    """Raise if a folder exists, or its parent does not."""
    if folder.exists():
        raise Conflict(f"{folder} is there already. A release is never changed: name a new folder.")
    if not folder.parent.is_dir():
        raise InvalidInput(f"{folder.parent} is not a folder. Create it, or name another one.")


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table without dictionaries, which not every reader of Parquet takes for text."""
    return table.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


def _manifest(folder: Path) -> bytes:
    """Return the lines of `sha256sum` for all files of a folder."""
    files = (file for file in _list_files(folder) if file != MANIFEST)
    return "".join(f"{digest_file(folder / file)}  {file}\n" for file in files).encode()


def _list_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def is_release(folder: Path) -> bool:
    """Return whether a folder is a release of this program."""
    return (folder / MANIFEST).is_file() and (folder / RECORD).is_file()


def list_data_files(path: Path) -> list[Path]:
    """Return a file or a release as it is, and of another folder the data files."""
    if not path.is_dir() or is_release(path):
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.lower().endswith(DATA_FILES))
    if not files:
        raise InvalidInput(f"{path} has no data file. Name a file, or a folder with {', '.join(DATA_FILES)}.")
    return files


def read_manifest(folder: Path) -> dict[str, str]:
    """Return the digest of each file, as the manifest states it."""
    try:
        lines = (folder / MANIFEST).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{folder / MANIFEST} cannot be read: {error}.") from None
    digests = {}
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        path = Path(match[2]) if match else None
        if match is None or path is None or path.is_absolute() or ".." in path.parts:
            raise InvalidInput(
                f"{folder / MANIFEST}: Line {number} is not a digest and a path in the folder. Get the release again."
            )
        digests[match[2]] = match[1]
    return digests


def read_record(folder: Path) -> dict[str, Any]:
    """Return what `release.json` states."""
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{folder / RECORD} cannot be read: {error}. Get the release again.") from None
    if not isinstance(record, dict):
        record = {}
    for key in ("name", "version", "question"):
        if not isinstance(record.get(key), str):
            raise InvalidInput(f"{folder / RECORD} does not state {key} as a text. Get the release again.")
    k = record.get("k")
    if type(k) is not int or not 1 <= k <= MAX_CELL:
        raise InvalidInput(f"{folder / RECORD} does not state k as a whole number up to {MAX_CELL:,}. Get it again.")
    return record


def read_release_table(folder: Path) -> pl.DataFrame:
    """Return the ratings of a release; raise if a file does not have its digest."""
    if not is_release(folder):
        raise InvalidInput(
            f"{folder} is not a release: it has no {MANIFEST} with {RECORD}. Name a folder that `dissensus release` "
            "wrote."
        )
    for path, digest in read_manifest(folder).items():
        if not (folder / path).is_file() or digest_file(folder / path) != digest:
            raise InvalidInput(
                f"{folder / path} is missing or was changed after the release was written. `dissensus validate "
                f"{folder}` lists all such files; get the release again."
            )
    return read_plain_table(folder / PARQUET)


def list_release_files(folder: Path) -> set[str]:
    """Return the files that the manifest of a release has to list: all but itself, its signature and those of Git."""
    return {file for file in _list_files(folder) if not file.startswith(".git/")} - {MANIFEST, SIGNATURE}


def check_files(folder: Path) -> None:
    """Raise if a release has a file that its manifest does not list."""
    unlisted = list_release_files(folder) - read_manifest(folder).keys()
    if unlisted:
        raise InvalidInput(
            f"{folder} has files that its {MANIFEST} does not list: {format_list(sorted(unlisted), 5)}. Remove them."
        )


def read_derived_tables(folder: Path) -> dict[str, pl.DataFrame]:
    """Return the pairs and attempts of a release, reduced to the columns by which versions are compared."""
    tables = {}
    if paths := sorted((folder / PAIRS).rglob("*.parquet")):
        tables["pairs"] = pl.concat(read_columns(path, "pair_id", "chosen_answer") for path in paths)
    if (folder / ATTEMPTS_TWIN).is_file():
        tables["attempts"] = read_columns(folder / ATTEMPTS_TWIN, "transcript", "rating")
    return tables


def read_columns(path: Path, *columns: str) -> pl.DataFrame:
    """Return some columns of a file of a release."""
    table = read_frame(path)
    _check_columns(table, path, columns)
    return table.select(columns)


def _check_columns(table: pl.DataFrame, path: Path, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in table.columns:
            raise InvalidInput(f"{path} has no column {name}, as each release has. Get the release again.")
        _check_plain(name, table.schema[name], path)


def _check_plain(name: str, dtype: pl.DataType, path: Path) -> None:
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        raise InvalidInput(
            f"{path} has {dtype} in {name}; a release has texts, numbers, and yes or no. Get the release again."
        )


def read_plain_table(path: Path) -> pl.DataFrame:
    """Read a table of a release: ids are texts, and no cell is nested or binary."""
    table = read_frame(path)
    _check_columns(table, path, (names.ITEM_ID, names.RATER_ID))
    for name, dtype in table.schema.items():
        _check_plain(name, dtype, path)
        if name in (names.ITEM_ID, names.RATER_ID) and dtype != pl.String:
            raise InvalidInput(f"{path} has {dtype} in {name}; a release has texts there. Get the release again.")
    return table
