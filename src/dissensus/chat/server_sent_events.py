"""Parser of server-sent events, fed with bytes in arbitrary chunks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dissensus.errors import InvalidInput

MAX_EVENT_BYTES: Final = 2**20
"""Size limit of an event, without its line ends, and so of a line."""

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """An event: its type, and its joined lines of data."""

    type: str
    data: str


class ServerSentEventReader:
    r"""Incremental reader of a stream of events.

    Notes
    -----
    Sections 9.2.5 and 9.2.6 of the HTML standard, with three exceptions. Ids and reconnection times are ignored, as
    responses are not resumed. Invalid UTF-8 is an error, where browsers insert replacement characters. So is an event
    of more than `MAX_EVENT_BYTES` bytes.

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
        """Yield the events completed by the next bytes."""
        if not portion:
            return
        if self._after_return:
            portion = portion.removeprefix(b"\n")
        self._after_return = portion.endswith(b"\r")
        for number, part in enumerate(_LINE_END.split(portion)):
            if number:
                yield from self._end_line()
            self._extend_line(part)

    def _extend_line(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_EVENT_BYTES:
            raise InvalidInput(f"an event has more than {MAX_EVENT_BYTES:,} bytes")
        self._line.append(part)

    def _end_line(self) -> Iterator[ServerSentEvent]:
        line = self._decode(b"".join(self._line))
        self._line.clear()
        if line:
            self._read_field(line)
            return
        if self._data:
            yield ServerSentEvent(self._type or "message", "\n".join(self._data))
        self._data.clear()
        self._type, self._size = "", 0

    def _decode(self, line: bytes) -> str:
        if self._first:
            self._first, line = False, line.removeprefix(_BYTE_ORDER_MARK)
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidInput("it is not UTF-8") from None

    def _read_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif not self._data:
            # Comments and other fields before data do not count: comments keep connections open without limit.
            self._size = 0
