"""Parser of server-sent events, fed with bytes in arbitrary chunks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput

MAX_EVENT_BYTES: Final = 2**20
"""Bytes of an event, or of a line of one."""

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: its type, and its lines of data joined."""

    type: str
    data: str


class ServerSentEventReader:
    r"""Read a stream of events.

    Notes
    -----
    As the HTML standard says in 9.2.5 and 9.2.6, but for three things. Ids and times to reconnect are passed over,
    since a response is not taken up again. What is not UTF-8 is refused, where browsers would put a sign in its place.
    So is an event of more than `MAX_EVENT_BYTES` bytes.

    Examples
    --------
    >>> reader = ServerSentEventReader()
    >>> list(reader.feed(b"data: one\nda")), list(reader.feed(b"ta: two\n\n"))
    ([], [ServerSentEvent(type='message', data='one\ntwo')])
    """

    def __init__(self) -> None:
        self._first = True
        self._after_return = False
        self._line: list[bytes] = []
        self._data: list[str] = []
        self._type = ""
        self._size = 0

    def feed(self, portion: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that are whole now."""
        if not portion:
            return
        if self._after_return:
            portion = portion.removeprefix(b"\n")
        self._after_return = portion.endswith(b"\r")
        for number, part in enumerate(_LINE_END.split(portion)):
            if number:
                yield from self._end_of_line()
            self._grow(part)

    def _grow(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_EVENT_BYTES:
            raise InvalidInput(f"an event has more than {MAX_EVENT_BYTES:,} bytes")
        self._line.append(part)

    def _end_of_line(self) -> Iterator[ServerSentEvent]:
        line = self._decoded(b"".join(self._line))
        self._line.clear()
        if line:
            self._field(line)
            return
        if self._data:
            yield ServerSentEvent(self._type or "message", "\n".join(self._data))
        self._data.clear()
        self._type, self._size = "", 0

    def _decoded(self, line: bytes) -> str:
        if self._first:
            self._first, line = False, line.removeprefix(_MARK)
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput("it is not UTF-8") from None

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif not self._data:
            # A comment that keeps the connection open belongs to no event, and there may be any number of them.
            self._size = 0
