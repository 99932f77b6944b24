"""Locks of files and folders between processes."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dissensus.errors import DissensusError, Unavailable


@contextmanager
def hold_lock(path: Path, busy: DissensusError | None = None) -> Iterator[None]:
    """Hold the lock of a file or folder; while another process holds it, wait, or raise `busy` if that is given."""
    with ExitStack() as stack:
        try:
            # NFS locks files only for those who opened them for writing; folders cannot be opened so.
            handle = os.open(path, os.O_RDWR if path.is_file() and os.access(path, os.W_OK) else os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if busy is None else fcntl.LOCK_NB))
        except OSError as error:
            if busy is not None and isinstance(error, BlockingIOError):
                raise busy from None
            raise Unavailable(
                f"{path} cannot be locked: {error.strerror}. Change its permissions, or use a disk of this machine."
            ) from None
        yield
