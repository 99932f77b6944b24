"""Download of public data sets: resumable, verified by SHA-256, never overwriting silently."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx

from dissensus.errors import Conflict, InvalidInput, NotFound, Unavailable
from dissensus.files.catalogue import RECORD, Dataset, DatasetFile, load_dataset
from dissensus.files.fetch.download import Download, discard, download, open_client, without_password
from dissensus.files.raw.atomic_write import write_atomically
from dissensus.files.raw.content import digest_file
from dissensus.files.raw.lock import hold_lock
from dissensus.pipeline.release.source_notices import describe_source_notice
from dissensus.schema.hints import format_list, format_value

NOTICE = "NOTICE.md"
"""What the authors say of the data, in the folder."""

Source = Literal["catalogue", "record"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A verified local file."""

    path: Path
    size: int
    sha256: str
    checked_against: Source | None  # None on a first download without a known hash
    downloaded: bool  # False if it existed already


def fetch(  # noqa: PLR0913 - options are keyword-only
    dataset: str | Dataset,
    folder: str | os.PathLike[str],
    *,
    only: str | None = None,
    mirror: str | None = None,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
    timeout: float = 30.0,
    tries: int = 4,
    sleep: Callable[[float], None] = time.sleep,
    now: datetime | None = None,
) -> tuple[Fetched, ...]:
    """Fetch the missing files of a data set with what its authors say of them, and verify all files.

    A file is downloaded as `NAME.part` and renamed once it is verified. An interrupted download is resumed if that is
    safe: the hash is known, or the server confirms by its ETag that nothing changed. Size and hash are compared with
    the catalogue, or, if it has no hash, with `fetched.json` in the folder, which records every download.

    Parameters
    ----------
    dataset
        Name of a data set in the catalogue, or a `Dataset`.
    folder
        Target folder; created if missing.
    only
        Pattern with ``*``, ``?`` and ``[…]`` that selects files by their paths. Default: all files.
    mirror
        Base address of the file paths, in place of that of the data set.
    force
        Replace existing files that fail verification, and their records.
    progress
        Called with the fraction that is done, from 0 to 1; all files count equally.
    timeout
        Seconds to wait for data from the server.
    tries
        Attempts per file if the connection fails or the server is busy (429 and 5xx).
    sleep
        Called with the seconds to wait between attempts: 1, 2, 4 …, or as long as the server asks, up to 60.
    now
        Time to record; default: the current time.

    Returns
    -------
    tuple of Fetched
        In the order of the catalogue.

    Raises
    ------
    NotFound
        No such data set, no file matches, or the server has no such file.
    InvalidInput
        The mirror is not an address, the record is damaged, or a number is out of range.
    Conflict
        A file exists and fails verification, or differs from the one fetched before.
    Unavailable
        The server does not respond, or does not send the file; or the folder cannot be written.

    Examples
    --------
    >>> fetch("hh-rlhf", "data/hh-rlhf", only="helpful-base/*.csv")
    Traceback (most recent call last):
    dissensus.errors.NotFound: No file of hh-rlhf matches 'helpful-base/*.csv'. There are ...
    """
    if timeout <= 0 or tries < 1:
        raise InvalidInput(f"timeout is {timeout:g} and tries is {tries}; both are above 0.")
    dataset = load_dataset(dataset) if isinstance(dataset, str) else dataset
    folder, files = Path(folder), _select_files(dataset, only)
    base = _base(dataset.base if mirror is None else mirror)
    date = (now or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    fetched = []
    with open_client(timeout) as client, _storage(folder), _lock_folder(folder):
        for number, file in enumerate(files):
            report = partial(_report, progress, number, len(files))
            result = _find_existing(file, folder, force=force)
            if result is None:
                part = folder / f"{file.path}.part"
                job = Download(client, base.join(file.path), part, file.size, file.sha256, report)
                download(job, tries=tries, sleep=sleep)
                entry = {"date": date, "dataset": dataset.name}
                result = _accept(job, file, folder, entry, force=force)
            fetched.append(result)
            report(1, 1)
        write_atomically(_write_notice(dataset).encode(), folder / NOTICE)
    return tuple(fetched)


def _select_files(dataset: Dataset, only: str | None) -> list[DatasetFile]:
    matches = [file for file in dataset.files if only is None or fnmatchcase(file.path, only)]
    if not matches:
        paths = format_list([file.path for file in dataset.files])
        raise NotFound(f"No file of {dataset.name} matches {format_value(only)}. There are {paths}.")
    return matches


def _base(address: str) -> httpx.URL:
    with suppress(httpx.InvalidURL):
        url = httpx.URL(address.rstrip("/") + "/")
        if url.scheme in ("http", "https") and url.host and not url.query and not url.fragment:
            return url
    raise InvalidInput(
        f"{format_value(address)} is not the address of a folder. Write it like https://example.org/data"
    )


@contextmanager
def _storage(folder: Path) -> Iterator[None]:
    """Translate errors of the target folder."""
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"{error.filename or folder} cannot be read or written: {error.strerror or error}. "
            "Make room there, or name another folder; partial downloads are kept."
        ) from None


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against a second fetch."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # Some network file systems cannot lock folders; fetch without a lock.
        with suppress(Unavailable):
            busy = Conflict(f"Another fetch is writing to {folder}. Wait for it, or name another folder.")
            stack.enter_context(hold_lock(folder, busy))
        yield


def _report(progress: Callable[[float], None] | None, number: int, n_files: int, done: int, total: int | None) -> None:
    if progress is not None and total:
        progress((number + done / total) / n_files)


def _find_existing(file: DatasetFile, folder: Path, *, force: bool) -> Fetched | None:
    """Return an existing, verified file; None if it must be downloaded."""
    target = folder / file.path
    if not target.exists():
        return None
    size, sha256 = _measure(target)
    expected, source = _expect_file(file, folder)
    if sha256 == expected.sha256:
        return Fetched(path=target, size=size, sha256=sha256, checked_against=source, downloaded=False)
    if force:
        return None
    difference = _difference(size, sha256, expected, source)
    raise Conflict(f"{target} is there, and {difference}. Move it away, or replace it with --force.")


def _write_notice(dataset: Dataset) -> str:
    return "\n".join((f"# {dataset.title or dataset.name}", "", *describe_source_notice(dataset.notice))) + "\n"


def _accept(job: Download, file: DatasetFile, folder: Path, entry: Mapping[str, str], *, force: bool) -> Fetched:
    """Rename a downloaded file if it is verified, else remove it."""
    size, sha256 = _measure(job.part)
    expected, source = (file, None) if force and not file.sha256 else _expect_file(file, folder)
    if expected.size not in (None, size) or expected.sha256 not in (None, sha256):
        discard(job.part)
        raise _mismatch(job.url, _difference(size, sha256, expected, source), source)
    # Record first: without a record the file could not be told from a foreign one.
    _record(folder, file.path, {**entry, "sha256": sha256, "size": size, "url": without_password(job.url)})
    target = job.part.replace(folder / file.path)
    discard(job.part)
    return Fetched(path=target, size=size, sha256=sha256, checked_against=source, downloaded=True)


def _expect_file(file: DatasetFile, folder: Path) -> tuple[DatasetFile, Source | None]:
    """Return the expected size and hash of a file, and their source."""
    if file.sha256 is not None:
        return file, "catalogue"
    recorded = _records(folder).get(file.path)
    if recorded is None:
        return file, None
    return DatasetFile(path=file.path, size=recorded["size"], sha256=recorded["sha256"]), "record"


def _difference(size: int, sha256: str, expected: DatasetFile, source: Source | None) -> str:
    expectations = [] if expected.size is None else [f"{expected.size:,} bytes"]
    expectations += [] if expected.sha256 is None else [f"SHA-256 {expected.sha256}"]
    if expected.sha256 is None and expected.size in (None, size):
        return f"no SHA-256 is known to check it with: {RECORD} does not name it"
    where = RECORD if source == "record" else "the catalogue"
    return f"it has {size:,} bytes and SHA-256 {sha256}, while {where} says {' and '.join(expectations)}"


def _mismatch(url: httpx.URL, difference: str, source: Source | None) -> Conflict | Unavailable:
    if source == "record":
        return Conflict(
            f"{without_password(url)} is another file than before: {difference}. To accept it, use --force."
        )
    return Unavailable(
        f"{without_password(url)} sent a damaged file: {difference}. It is removed. Try again, or another mirror."
    )


def _measure(path: Path) -> tuple[int, str]:
    return path.stat().st_size, digest_file(path)


def _records(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / RECORD
    if not path.exists():
        return {}
    with suppress(AttributeError, KeyError, RecursionError, TypeError, ValueError):
        records: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
        if all(isinstance(entry["sha256"] + entry["url"], str) and entry["size"] >= 0 for entry in records.values()):
            return records
    raise InvalidInput(f"{path} is damaged. Restore it, or remove it: files are then not compared with earlier ones.")


def _record(folder: Path, path: str, entry: dict[str, Any]) -> None:
    part = folder / f"{RECORD}.part"
    part.write_text(json.dumps({**_records(folder), path: entry}, indent=2, sort_keys=True) + "\n", "utf-8")
    part.replace(folder / RECORD)
