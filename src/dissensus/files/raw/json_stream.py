"""Streaming reader of JSON objects, in constant memory."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Final, cast

from dissensus.errors import InvalidInput
from dissensus.files.raw import content, limits
from dissensus.files.raw.json_decoder import (
    BLANK,
    JsonObject,
    check_object,
    describe_decode_error,
    max_row_size,
    strict_decoder,
)
from dissensus.schema.hints import format_value

Record = JsonObject
Progress = Callable[[float], None]

_STEP: Final = 2**20
_BLANKS: Final = re.compile(rf"[{BLANK}]*+")


def stream_records(path: Path, *, progress: Progress | None = None) -> Iterator[Record]:
    """Yield the objects of a JSON array or of JSON Lines, compressed or not.

    The form is detected from the first character, not from the name: the published attempts are called .jsonl and are
    one array. `progress` is called with the share of the file that was read, before each object, and with 1 at the
    end.
    """
    content.detect_format(path)
    with content.open_checked(path) as (file, size):
        stream = _CountedText(file, path, size)
        try:
            with content.translate_gzip_errors(path):
                yield from _read(stream, path) if progress is None else _read_with_progress(stream, path, progress)
        except UnicodeDecodeError as error:
            raise InvalidInput(
                f"{path} is not UTF-8 text: it has the invalid byte 0x{error.object[error.start]:02x}. "
                "Save it as UTF-8."
            ) from None
        finally:
            stream.text.detach()  # the context manager closes the file


class _CountedText:
    """Decompressed text of a file, within the size limit."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        is_gzip = cast("BufferedReader", file).peek(2).startswith(content.GZIP)
        stream = gzip.GzipFile(fileobj=file) if is_gzip else file
        self.text = TextIOWrapper(cast("BinaryIO", stream), "utf-8-sig", newline="\n")
        self.path = path
        self.n_read = 0  # characters
        self.n_used = 0
        self._file, self._size = file, size

    def read(self, size: int) -> str:
        return self._count(self.text.read(size))

    def line(self) -> str:
        return self._count(self.text.readline(limits.max_row() + 1))

    @property
    def share(self) -> float:
        """Share of the file whose text was used."""
        return self._file.tell() / self._size * (self.n_used / self.n_read)

    def _count(self, text: str) -> str:
        self.n_read += len(text)
        limits.check_bytes(self.n_read, self.path, "holds text that is")
        return text


def _read(stream: _CountedText, path: Path) -> Iterator[Record]:
    window, position = _skip_blanks("", 0, stream)
    if not window:
        raise InvalidInput(f"{path} is empty.")
    if window[position] == "[":
        yield from _read_array(window, position + 1, stream, path)
    else:
        yield from _read_lines(window[position:], stream, path)


def _read_with_progress(stream: _CountedText, path: Path, progress: Progress) -> Iterator[Record]:
    share = 0.0
    for record in _read(stream, path):
        share = max(share, stream.share)  # better compressed text would decrease it
        progress(share)
        yield record
    progress(1.0)


def _read_lines(window: str, stream: _CountedText, path: Path) -> Iterator[Record]:
    number = 0
    for line in _split_lines(window, stream):
        if len(line) > limits.max_row():
            raise _too_long_error(path, number + 1)
        stream.n_used = min(stream.n_read, stream.n_used + len(line) + (not line.endswith("\n")))
        if line.strip(BLANK):
            number += 1
            yield _check_record(_decode(line, path, number), path, number)


def _split_lines(window: str, stream: _CountedText) -> Iterator[str]:
    *lines, line = window.split("\n")
    yield from lines
    line += stream.line()
    while line:
        yield line
        line = stream.line()


def _decode(line: str, path: Path, number: int) -> object:
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError) as error:
        raise _decode_error(error, path, number) from None


def _read_array(window: str, position: int, stream: _CountedText, path: Path) -> Iterator[Record]:
    number, closed = 0, False
    while not closed:
        number += 1
        window, position = _skip_blanks(window, position, stream)
        if window[position : position + 1] == "]" and number == 1:
            break
        value, window, position = _read_value(window, position, stream, path, number)
        stream.n_used = stream.n_read - (len(window) - position)
        yield _check_record(value, path, number)
        window, position = _skip_blanks(window, position, stream)
        mark = window[position : position + 1]
        if mark not in (",", "]"):
            raise InvalidInput(
                f"{path}, record {number:,}: after it comes {_describe_character(mark)} where a comma or the end of "
                "the array is due."
            )
        closed, position = mark == "]", position + (mark == ",")
    if _skip_blanks(window, position + 1, stream)[0]:
        raise InvalidInput(f"{path}: text follows the end of the array.")


def _skip_blanks(window: str, position: int, stream: _CountedText) -> tuple[str, int]:
    """Return the window and the position of the next character that is not blank; an empty window at the end."""
    while True:
        match = _BLANKS.match(window, position)
        position = match.end() if match else position
        if position < len(window):
            return window, position
        window, position = stream.read(_STEP), 0
        if not window:
            return window, position


def _read_value(window: str, position: int, stream: _CountedText, path: Path, number: int) -> tuple[object, str, int]:
    """Return the value at a position, the window and the end; read on while the value may be truncated."""
    first = window[position : position + 1]
    if first != "{":
        raise InvalidInput(f"{path}, record {number:,}: it begins with {_describe_character(first)} instead of {{.")
    while True:
        try:
            value, end = _DECODER.raw_decode(window, position)
        except (ValueError, RecursionError) as error:
            if len(window) - position > limits.max_row():
                raise _too_long_error(path, number) from None
            text = stream.read(max(_STEP, len(window) - position)) if isinstance(error, json.JSONDecodeError) else ""
            if not text:
                raise _decode_error(error, path, number) from None
            window, position = window[position:] + text, 0
        else:
            return value, window, end


def _describe_character(mark: str) -> str:
    return format_value(mark) if mark else "the end of the file"


def _too_long_error(path: Path, number: int) -> InvalidInput:
    return InvalidInput(f"{path}, record {number:,}: longer than {max_row_size()}, or never closed.")


def _decode_error(error: Exception, path: Path, number: int) -> InvalidInput:
    return InvalidInput(f"{path}, record {number:,}: {describe_decode_error(error)}.")


def _check_record(value: object, path: Path, number: int) -> Record:
    return check_object(value, f"{path}, record {number:,}: it is {format_value(value)}, not an object with values.")


_DECODER = strict_decoder("it")
