"""Online backup of the whole platform to one file, and restore into an empty database."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, BinaryIO

import dissensus
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.raw.atomic_write import replace_atomically
from dissensus.files.raw.table_writer import check_overwrite
from dissensus.schema.advice import error_message, join_messages
from dissensus.store.core import backup as store
from dissensus.store.core import schema
from dissensus.store.core.backup import BackupManifest
from dissensus.store.core.database import Database, connect
from dissensus.workflows.platform.platform import Platform


def write_backup(platform: Platform, path: Path, *, overwrite: bool = False, now: datetime) -> BackupManifest:
    """Write a consistent snapshot of all tables to a file."""
    check_overwrite(path, overwrite=overwrite)
    with replace_atomically(path) as part, part.open("wb") as file:
        return stream_backup(platform, file, now=now)


def stream_backup(platform: Platform, file: BinaryIO, *, now: datetime) -> BackupManifest:
    """Write a consistent snapshot of all tables to a stream, such as a pipe to a program that encrypts it."""
    with platform.database.reading() as tx:
        manifest = store.write_backup(tx, file, version=dissensus.__version__, now=now)
    if not manifest.rows:
        raise NotFound("There is nothing in the database to back up. Check DISSENSUS_DATABASE_URL.")
    return manifest


def restore_stream(url: str, stream: BinaryIO) -> BackupManifest:
    """Restore a backup from a stream; it is kept in a temporary file without a name meanwhile."""
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(stream, file)
        return restore_backup(url, file)


def restore_backup(url: str, source: Path | IO[bytes]) -> BackupManifest:
    """Restore a backup into an empty database, all or nothing."""
    with _open_archive(source) as archive:
        manifest = store.read_manifest(archive)
        store.verify_backup(archive, manifest)
        database = connect(url, pool_size=1)
        try:
            _prepare_tables(database)
            with database.writing() as tx:
                store.restore_backup(tx, archive)
            database.update_statistics(tables=store.TABLES)
        finally:
            database.dispose()
    return manifest


def _prepare_tables(database: Database) -> None:
    """Create the tables of a blank database and refuse one with any other revision."""
    with database.reading() as tx:
        blank = schema.find_revision(tx) is None
    if blank:
        schema.upgrade(database)
    schema.check_revision(database)


@contextmanager
def _open_archive(source: Path | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    path = source if isinstance(source, Path) else "The input"
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from None
    # A damaged directory of the archive may name another version or encoding of ZIP.
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError):
        raise InvalidInput(f"{path} is not a backup of Dissensus, or it is truncated.") from None
    except InvalidInput as error:
        raise InvalidInput(join_messages(f"{path}:", error_message(error))) from error.__cause__
