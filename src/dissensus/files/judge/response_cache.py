"""Cache of the raw responses of a judge: JSON Lines, appended one by one, so that an interruption loses none."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

from dissensus.errors import InvalidInput, Unavailable
from dissensus.files.raw.lock import hold_lock
from dissensus.pipeline.judge.response import RawResponse

PRIVATE: Final = 0o600
"""Mode of the file, since responses may quote items."""


class ResponseCache:
    """Raw responses by key of their request; an incomplete last line of an interrupted run is cut off.

    One process at a time writes to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._responses = {response.key: response for response in _read_responses(path)}
        self._file: BinaryIO | None = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        busy = Unavailable(f"Another run writes to {self._path.parent}. Wait until it ends, or name another folder.")
        with ExitStack() as on_error:
            try:
                self._path.touch(PRIVATE)
                on_error.enter_context(hold_lock(self._path, busy))
                file = on_error.enter_context(self._path.open("r+b"))
                file.truncate(file.read().rfind(b"\n") + 1)
                file.seek(0, os.SEEK_END)
            except OSError as error:
                raise Unavailable(f"{self._path} cannot be written: {error.strerror}.") from None
            self._responses = {response.key: response for response in _read_responses(self._path)}
            self._file = file
            self._open = on_error.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def __len__(self) -> int:
        return len(self._responses)

    def get(self, key: str) -> RawResponse | None:
        """Return the response to a request, None before it is answered."""
        return self._responses.get(key)

    def add(self, response: RawResponse) -> None:
        """Store a response at once."""
        self._responses[response.key] = response
        if self._file is not None:
            self._file.write((json.dumps(asdict(response), ensure_ascii=False) + "\n").encode())
            self._file.flush()


def _read_responses(path: Path) -> Iterator[RawResponse]:
    if not path.exists():
        return
    lines = path.read_bytes().split(b"\n")[:-1]  # Without an incomplete last line
    for number, line in enumerate(lines, start=1):
        try:
            row: dict[str, Any] = json.loads(line)
            yield RawResponse(**row)
        except (ValueError, TypeError, RecursionError):
            raise InvalidInput(
                f"{path}, line {number:,} is not a response of a judge. Name a new folder, or restore the file."
            ) from None
