"""The objects of a JSON file one after the other, in memory that does not grow with the file."""

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from dissensus.errors import InvalidInput
from dissensus.files.raw import content, limits
from dissensus.schema.hints import format_value

Record = dict[str, Any]
Progress = Callable[[float], None]

_GZIP: Final = b"\x1f\x8b"
_STEP: Final = 2**20
_BLANK: Final = " \t\n\r"
_BLANKS: Final = re.compile(rf"[{_BLANK}]*+")


def records(path: Path, *, progress: Progress | None = None) -> Iterator[Record]:
    """Yield the objects of a JSON array, or of a file with one a line, compressed or not.

    What the file is is told from its first character, not from its name: the published attempts are called .jsonl and
    are one array. `progress` is called with the share of the file that objects took, before each of them, and with 1
    at the end.
    """
    content.kind_of(path)
    with content.opened(path) as (file, size):
        stream = _Counted(file, path, size)
        try:
            yield from _of(stream, path) if progress is None else _told(stream, path, progress)
        except EOFError:
            raise InvalidInput(f"{path} is cut short: its gzip data end early. Copy or download it again.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise InvalidInput(f"{path} has damaged gzip data ({error}). Copy or download it again.") from None
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{path} is not UTF-8 text: it has the byte 0x{error.object[error.start]:02x} where none can be. "
                "Save it as UTF-8."
            ) from None
        finally:
            stream.text.detach()  # so that the file is closed once, and here


class _Counted:
    """Text of a file, decompressed if it is compressed; too much of it is refused."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        packed = cast("BufferedReader", file).peek(2).startswith(_GZIP)
        stream = gzip.GzipFile(fileobj=file) if packed else file
        self.text = TextIOWrapper(cast("BinaryIO", stream), "utf-8-sig", newline="\n")
        self.path = path
        self.seen = 0
        self.used = 0
        self._file, self._size = file, size

    def read(self, size: int) -> str:
        return self._count(self.text.read(size))

    def line(self) -> str:
        return self._count(self.text.readline(limits.ROW + 1))

    @property
    def share(self) -> float:
        """Bytes of the file that were read, in as far as the text that they are was used, over all of them."""
        return self._file.tell() / self._size * (self.used / self.seen)

    def _count(self, text: str) -> str:
        self.seen += len(text)
        limits.check_bytes(self.seen, self.path, "holds text that is")
        return text


def _of(stream: _Counted, path: Path) -> Iterator[Record]:
    window, place = _ahead("", 0, stream)
    if not window:
        raise InvalidInput(f"{path} is empty.")
    if window[place] == "[":
        yield from _array(window, place + 1, stream, path)
    else:
        yield from _by_line(window[place:], stream, path)


def _told(stream: _Counted, path: Path, progress: Progress) -> Iterator[Record]:
    share = 0.0
    for record in _of(stream, path):
        share = max(share, stream.share)  # what compresses better than all before would take a little back
        progress(share)
        yield record
    progress(1.0)


def _by_line(window: str, stream: _Counted, path: Path) -> Iterator[Record]:
    number = 0
    for line in _lines(window, stream):
        if len(line) > limits.ROW:
            raise _too_long(path, number + 1)
        stream.used = min(stream.seen, stream.used + len(line) + (not line.endswith("\n")))
        if line.strip(_BLANK):
            number += 1
            yield _record(_loaded(line, path, number), path, number)


def _lines(window: str, stream: _Counted) -> Iterator[str]:
    *whole, line = window.split("\n")
    yield from whole
    line += stream.line()
    while line:
        yield line
        line = stream.line()


def _loaded(line: str, path: Path, number: int) -> object:
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        raise _refusal(error, path, number) from None


def _array(window: str, place: int, stream: _Counted, path: Path) -> Iterator[Record]:
    number, closed = 0, False
    while not closed:
        number += 1
        window, place = _ahead(window, place, stream)
        if window[place : place + 1] == "]" and number == 1:
            break
        value, window, place = _next(window, place, stream, path, number)
        stream.used = stream.seen - (len(window) - place)
        yield _record(value, path, number)
        window, place = _ahead(window, place, stream)
        mark = window[place : place + 1]
        if mark not in (",", "]"):
            raise InvalidInput(
                f"{path}, record {number:,}: after it comes {_seen(mark)} where a comma or the end of the array is due."
            )
        closed, place = mark == "]", place + (mark == ",")
    if _ahead(window, place + 1, stream)[0]:
        raise InvalidInput(f"{path}: something comes after the end of the array.")


def _ahead(window: str, place: int, stream: _Counted) -> tuple[str, int]:
    """Return the window and the place of the next character in it that is not blank; no window at the end."""
    while True:
        found = _BLANKS.match(window, place)
        place = found.end() if found else place
        if place < len(window):
            return window, place
        window, place = stream.read(_STEP), 0
        if not window:
            return window, place


def _next(window: str, place: int, stream: _Counted, path: Path, number: int) -> tuple[object, str, int]:
    """Return the value that begins at a place, reading on as long as it may only be cut."""
    if window[place : place + 1] != "{":
        raise InvalidInput(
            f"{path}, record {number:,}: it begins with {_seen(window[place : place + 1])} instead of {{."
        )
    while True:
        try:
            value, end = _DECODER.raw_decode(window, place)
        except (ValueError, RecursionError) as error:
            if len(window) - place > limits.ROW:
                raise _too_long(path, number) from None
            more = stream.read(max(_STEP, len(window) - place)) if isinstance(error, json.JSONDecodeError) else ""
            if not more:
                raise _refusal(error, path, number) from None
            window, place = window[place:] + more, 0
        else:
            return value, window, end


def _seen(mark: str) -> str:
    return format_value(mark) if mark else "the end of the file"


def _too_long(path: Path, number: int) -> InvalidInput:
    return InvalidInput(
        f"{path}, record {number:,}: longer than {limits.ROW / 2**20:.0f} MiB, the most that is read, or never closed."
    )


def _refusal(error: Exception, path: Path, number: int) -> InvalidInput:
    if isinstance(error, RecursionError):
        return InvalidInput(f"{path}, record {number:,}: the values are nested too deeply.")
    what = f"not JSON ({error.msg})" if isinstance(error, json.JSONDecodeError) else error
    return InvalidInput(f"{path}, record {number:,}: {what}.")


def _record(value: object, path: Path, number: int) -> Record:
    if not isinstance(value, dict) or not value:
        raise InvalidInput(f"{path}, record {number:,}: it is {format_value(value)}, not an object with values.")
    return value


def _unique(pairs: list[tuple[str, object]]) -> Record:
    record = dict(pairs)
    if len(record) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"it names {format_value(key)} twice")
    return record


def _not_a_number(name: str) -> object:
    raise ValueError(f"{name} is no JSON; write null for a value that is missing")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_not_a_number)
