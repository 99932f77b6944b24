"""All tables as one file, and back into an empty database of either kind.

A backup is a ZIP archive with a part a table, one row a line as JSON, and a manifest that tells how many rows each part
has and what its SHA-256 is.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO, Final

from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.exc import DBAPIError

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.store.core import schema
from dissensus.store.core.columns import Moment
from dissensus.store.tables import Base

MANIFEST: Final = "manifest.json"
FORMAT: Final = "dissensus-backup-1"
ROWS_AT_ONCE: Final = 200
LARGEST_MANIFEST: Final = 2**20
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A table in a backup."""

    rows: int  # How many there are
    sha256: str  # Of its lines, in hexadecimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup holds."""

    format: str
    version: str  # Of the Dissensus that wrote it
    revision: str
    written_at: str  # When, in ISO 8601
    parts: Mapping[str, Part]  # By the name of the table

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(part.rows for part in self.parts.values())


def write(tx: Connection, file: BinaryIO, *, version: str, now: datetime) -> Manifest:
    """Write all tables as they are in a transaction that reads."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = {table.name: _write_part(tx, table, archive) for table in Base.metadata.sorted_tables}
        found = Manifest(
            format=FORMAT,
            version=version,
            revision=schema.revision(tx) or "",
            written_at=now.isoformat(),
            parts=parts,
        )
        archive.writestr(MANIFEST, json.dumps(asdict(found), indent=2))
    return found


def _write_part(tx: Connection, table: Table, archive: zipfile.ZipFile) -> Part:
    rows, digest = 0, hashlib.sha256()
    query = select(table).order_by(*table.primary_key).execution_options(yield_per=ROWS_AT_ONCE)
    with archive.open(_name(table), "w", force_zip64=True) as out:
        for row in tx.execute(query):
            line = json.dumps([_plain(value) for value in row], ensure_ascii=False, separators=(",", ":")).encode()
            out.write(line + b"\n")
            digest.update(line + b"\n")
            rows += 1
    return Part(rows=rows, sha256=digest.hexdigest())


def _name(table: Table) -> str:
    return f"{table.name}.jsonl"


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Return what a backup says that it holds."""
    try:
        if archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
            raise InvalidInput("Its manifest is far too long: it is no backup of Dissensus.")
        told = json.loads(archive.read(MANIFEST))
        parts = {name: Part(**part) for name, part in told["parts"].items()}
        found = Manifest(**{**told, "parts": parts})
    except (*_DAMAGED, TypeError, AttributeError) as error:
        raise InvalidInput(f"It is no backup of Dissensus, or damaged: its {MANIFEST} cannot be read.") from error
    _check(found)
    return found


def _check(found: Manifest) -> None:
    if found.format != FORMAT:
        raise InvalidInput(f"It is of the format {format_value(found.format)}, and {FORMAT} is read. Upgrade Dissensus.")
    if found.revision != schema.latest():
        raise InvalidInput(
            f"It is of revision {format_value(found.revision)}, and this version works with {schema.latest()}. Restore it "
            f"with Dissensus {format_value(found.version)}, then upgrade: dissensus db upgrade"
        )
    missing = [table.name for table in Base.metadata.sorted_tables if table.name not in found.parts]
    if missing:
        raise InvalidInput(f"It is damaged: its manifest lacks {format_list(missing)}. Take another backup.")


def verify(archive: zipfile.ZipFile, found: Manifest) -> None:
    """Refuse a backup of which any part is not what was written."""
    for table in Base.metadata.sorted_tables:
        rows, digest = 0, hashlib.sha256()
        for line in _lines(archive, table):
            rows += 1
            digest.update(line)
        if Part(rows=rows, sha256=digest.hexdigest()) != found.parts[table.name]:
            raise _damaged(table)


def restore(tx: Connection, archive: zipfile.ZipFile) -> None:
    """Write all rows of a backup that was verified into a database that has all tables, and no row."""
    filled = [table.name for table in Base.metadata.sorted_tables if tx.execute(select(table).limit(1)).first()]
    if filled:
        raise Conflict(
            f"The database is not empty: there are rows in {format_list(filled)}. A backup is restored into an empty one; "
            "name another with DISSENSUS_DATABASE_URL."
        )
    for table in Base.metadata.sorted_tables:
        try:
            _restore_part(tx, table, archive)
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            raise InvalidInput(
                f"This database cannot hold {_name(table)}: {error.orig}. Nothing was restored."
            ) from error


def _restore_part(tx: Connection, table: Table, archive: zipfile.ZipFile) -> None:
    lines = _lines(archive, table)
    while rows := [_row(line, table) for line in islice(lines, ROWS_AT_ONCE)]:
        tx.execute(insert(table), rows)
    counter = table.autoincrement_column
    if counter is not None and tx.dialect.name == "postgresql":
        # PostgreSQL counts on by itself from where nobody has told it to.
        last = select(func.max(counter)).scalar_subquery()
        tx.execute(select(func.setval(func.pg_get_serial_sequence(table.name, counter.name), last)))


def _lines(archive: zipfile.ZipFile, table: Table) -> Iterator[bytes]:
    try:
        with archive.open(_name(table)) as part:
            yield from part
    except _DAMAGED as error:
        raise _damaged(table) from error


def _damaged(table: Table) -> InvalidInput:
    return InvalidInput(f"It is damaged: {_name(table)} is not what was written. Take another backup.")


def _row(line: bytes, table: Table) -> dict[str, Any]:
    given = zip(table.columns, json.loads(line), strict=True)
    return {
        column.name: datetime.fromisoformat(value) if isinstance(column.type, Moment) and value is not None else value
        for column, value in given
    }
