"""Downloads of staff: spooled to a temporary file, so that a slow reader holds no slot and no database transaction."""

import tempfile
from collections.abc import AsyncIterator, Iterable
from threading import Lock
from typing import BinaryIO, Final
from weakref import WeakKeyDictionary

from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from dissensus.errors import DissensusError, TooManyRequests, Unavailable

MAX_DOWNLOADS: Final = 3
"""Unfinished downloads of one person in one worker."""
CHUNK_BYTES: Final = 1 << 16
RETRY_AFTER_S: Final = 60


class DownloadSpool:
    """Unfinished downloads of one worker by person."""

    def __init__(self) -> None:
        self._people: WeakKeyDictionary[BinaryIO, str] = WeakKeyDictionary()
        self._lock = Lock()

    def respond(self, person: str, parts: Iterable[bytes], *, media_type: str, name: str) -> StreamingResponse:
        """Write all parts to a temporary file, and return a response that sends it."""
        with self._lock:
            self._check_limit(person)
            file = tempfile.TemporaryFile(prefix="dissensus-download-")  # noqa: SIM115 - the response closes it
            self._people[file] = person
        try:
            file.writelines(parts)
            size = file.tell()
            file.seek(0)
        except BaseException as error:
            file.close()
            if isinstance(error, OSError) and not isinstance(error, DissensusError):
                raise Unavailable(f"There is no room for this download on the site: {error.strerror}.") from error
            raise
        headers = {"content-length": str(size), "content-disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(_read(file), media_type=media_type, headers=headers)

    def _check_limit(self, person: str) -> None:
        n_unfinished = sum(owner == person and not file.closed for file, owner in self._people.items())
        if n_unfinished >= MAX_DOWNLOADS:
            raise TooManyRequests(
                f"You have {n_unfinished} unfinished downloads, and {MAX_DOWNLOADS} are allowed. Finish or cancel one "
                "of them first.",
                retry_after_s=RETRY_AFTER_S,
            )


async def _read(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := await run_in_threadpool(file.read, CHUNK_BYTES):
            yield chunk
