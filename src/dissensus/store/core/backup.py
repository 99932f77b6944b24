"""Backup of all tables to one file, and restore into an empty database of either kind.

A backup is a ZIP archive with a JSON Lines file per table, and a manifest with the number of rows and the SHA-256 of
each file.
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
from sqlalchemy.exc import DBAPIError, StatementError

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.hints import format_list, format_value
from dissensus.store.core import schema
from dissensus.store.core.metadata import METADATA
from dissensus.store.core.orm import UtcDateTime

TABLES: Final = tuple(table.name for table in METADATA.sorted_tables)
MANIFEST: Final = "manifest.json"
FORMAT: Final = "dissensus-backup-1"
BATCH_SIZE: Final = 200
LARGE_BATCH_SIZE: Final = 8
"""Rows of a table with large ones that are held in memory at once."""
LARGE_TABLES: Final = ("image",)
MAX_MANIFEST_BYTES: Final = 2**20

_ARCHIVE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPart:
    """A table in a backup."""

    rows: int
    sha256: str  # Hexadecimal digest of its lines


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """Manifest of a backup."""

    format: str
    version: str  # Version of Dissensus
    revision: str  # Schema revision
    written_at: str  # Time in ISO 8601
    parts: Mapping[str, BackupPart]  # By the name of the table

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(part.rows for part in self.parts.values())


def write_backup(tx: Connection, file: BinaryIO, *, version: str, now: datetime) -> BackupManifest:
    """Write all tables, as a read transaction sees them."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = {table.name: _write_part(tx, table, archive) for table in METADATA.sorted_tables}
        result = BackupManifest(
            format=FORMAT,
            version=version,
            revision=schema.find_revision(tx) or "",
            written_at=now.isoformat(),
            parts=parts,
        )
        archive.writestr(MANIFEST, json.dumps(asdict(result), indent=2))
    return result


def _write_part(tx: Connection, table: Table, archive: zipfile.ZipFile) -> BackupPart:
    rows, digest = 0, hashlib.sha256()
    query = select(table).order_by(*table.primary_key).execution_options(yield_per=_batch_size(table))
    with archive.open(_file_name(table), "w", force_zip64=True) as out:
        for row in tx.execute(query):
            line = json.dumps([_to_json(value) for value in row], ensure_ascii=False, separators=(",", ":")).encode()
            out.write(line + b"\n")
            digest.update(line + b"\n")
            rows += 1
    return BackupPart(rows=rows, sha256=digest.hexdigest())


def _batch_size(table: Table) -> int:
    return LARGE_BATCH_SIZE if table.name in LARGE_TABLES else BATCH_SIZE


def _file_name(table: Table) -> str:
    return f"{table.name}.jsonl"


def _to_json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def read_manifest(archive: zipfile.ZipFile) -> BackupManifest:
    """Return the manifest; InvalidInput if it is damaged, or of another format or revision."""
    try:
        n_bytes = archive.getinfo(MANIFEST).file_size
        fields = json.loads(archive.read(MANIFEST)) if n_bytes <= MAX_MANIFEST_BYTES else {}
        parts = {name: BackupPart(**part) for name, part in fields["parts"].items()}
        result = BackupManifest(**{**fields, "parts": parts})
    except (*_ARCHIVE_ERRORS, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"It is not a backup of Dissensus, or it is damaged: its {MANIFEST} cannot be read."
        ) from error
    _check_manifest(result)
    return result


def _check_manifest(manifest: BackupManifest) -> None:
    if manifest.format != FORMAT:
        raise InvalidInput(
            f"It is of the format {format_value(manifest.format)}, and {FORMAT} is read. Upgrade Dissensus."
        )
    latest = schema.find_latest_revision()
    if manifest.revision != latest:
        raise InvalidInput(
            f"It is of revision {format_value(manifest.revision)}, and this version works with {latest}. Restore it "
            f"with Dissensus {format_value(manifest.version)}, then upgrade: dissensus db upgrade"
        )
    missing = [name for name in TABLES if name not in manifest.parts]
    if missing:
        raise InvalidInput(f"It is damaged: its manifest lacks {format_list(missing)}. Take another backup.")


def verify_backup(archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
    """Compare all parts with the manifest; InvalidInput names the first that differs."""
    for table in METADATA.sorted_tables:
        rows, digest = 0, hashlib.sha256()
        for line in _iterate_lines(archive, table):
            rows += 1
            digest.update(line)
        if BackupPart(rows=rows, sha256=digest.hexdigest()) != manifest.parts[table.name]:
            raise _damage_error(table)


def restore_backup(tx: Connection, archive: zipfile.ZipFile) -> None:
    """Insert all rows of a verified backup into an empty database."""
    filled = [table.name for table in METADATA.sorted_tables if tx.execute(select(table).limit(1)).first()]
    if filled:
        raise Conflict(
            f"The database is not empty: there are rows in {format_list(filled)}. A backup is restored into an empty "
            "one; name another with DISSENSUS_DATABASE_URL."
        )
    for table in METADATA.sorted_tables:
        try:
            _restore_part(tx, table, archive)
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            raise InvalidInput(
                f"This database cannot store {_file_name(table)}: {error.orig}. Nothing was restored."
            ) from error
        except (ValueError, TypeError, StatementError) as error:
            raise _damage_error(table) from error


def _restore_part(tx: Connection, table: Table, archive: zipfile.ZipFile) -> None:
    lines = _iterate_lines(archive, table)
    while rows := [_parse_row(line, table) for line in islice(lines, _batch_size(table))]:
        tx.execute(insert(table), rows)
    counter = table.autoincrement_column
    if counter is not None and tx.dialect.name == "postgresql":
        # Inserting explicit numbers does not advance the sequence of PostgreSQL.
        last = select(func.max(counter)).scalar_subquery()
        tx.execute(select(func.setval(func.pg_get_serial_sequence(table.name, counter.name), last)))


def _iterate_lines(archive: zipfile.ZipFile, table: Table) -> Iterator[bytes]:
    try:
        with archive.open(_file_name(table)) as part:
            yield from part
    except _ARCHIVE_ERRORS as error:
        raise _damage_error(table) from error


def _damage_error(table: Table) -> InvalidInput:
    return InvalidInput(f"It is damaged: {_file_name(table)} is not what was written. Take another backup.")


def _parse_row(line: bytes, table: Table) -> dict[str, Any]:
    values = zip(table.columns, json.loads(line), strict=True)
    return {
        column.name: datetime.fromisoformat(value)
        if isinstance(column.type, UtcDateTime) and value is not None
        else value
        for column, value in values
    }
