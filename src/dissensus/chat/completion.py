"""Parser of chat completions, streamed as events or sent as one JSON object."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from dissensus.chat.response import Cost, Finish
from dissensus.chat.server_sent_events import ServerSentEventReader
from dissensus.errors import InvalidInput, Unavailable
from dissensus.http_client import error_detail
from dissensus.schema.hints import format_value

FINISH_REASONS: Final[Mapping[str, Finish]] = MappingProxyType(
    {"stop": "stop", "length": "length", "content_filter": "filter"}
)
MAX_JSON_BYTES: Final = 2**24
"""Bytes of a response that is one object."""
MAX_NAME_LENGTH: Final = 200
DONE: Final = "[DONE]"
REPLACEMENT_CHARACTER: Final = "\ufffd"


class CompletionReader:
    """Incremental reader of a completion: text so far, end reason, usage."""

    def __init__(self) -> None:
        self.finish: str | None = None
        self.done = False
        self.alive = False
        self.cost = Cost()
        self.model = ""
        self._chosen = False

    def feed(self, portion: bytes) -> Iterator[str]:
        """Yield the text that the next bytes hold."""
        raise NotImplementedError

    def end(self) -> Iterator[str]:
        """Yield the text that the end of all bytes makes whole."""
        raise NotImplementedError

    def _take(self, read: object, part: str) -> str:
        """Return the text of a chunk, or of a whole completion, of which one holds a `delta` and one a `message`."""
        if not isinstance(read, dict):
            raise InvalidInput(f"{format_value(read)} is no object")
        if read.get("error") is not None:
            raise Unavailable(f"it tells of an error: {server_error_detail(read) or format_value(read['error'])}")
        self.model = self.model or _short_text(read.get("model"))
        self.cost = _parse_cost(read.get("usage")) or self.cost
        choices = read.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise InvalidInput("its choices are no list of objects")
        self._chosen = self._chosen or bool(choices)
        return self._choice(choices[0], part) if choices else ""

    def _finished(self) -> None:
        """Note that nothing more is to come."""
        if not self._chosen:
            raise InvalidInput("it has no choice")
        self.done, self.finish = True, self.finish or ""

    def _choice(self, choice: Mapping[str, Any], part: str) -> str:
        said = choice.get(part) or {}
        text = said.get("content") if isinstance(said, dict) else said
        if not isinstance(said, dict) or not isinstance(text, str | None):
            raise InvalidInput(f"its {part} is {format_value(text)}, which is no text")
        finish = choice.get("finish_reason")
        if self.finish is None and finish is not None:
            self.finish = _short_text(finish)
        thought = any(said.get(key) for key in ("reasoning_content", "reasoning"))
        self.alive = self.alive or bool(text) or thought
        return text or ""


class StreamedCompletionReader(CompletionReader):
    """A completion that comes as events."""

    def __init__(self) -> None:
        super().__init__()
        self._events = ServerSentEventReader()
        self._half = ""

    def feed(self, portion: bytes) -> Iterator[str]:
        """Yield the text that the next bytes hold, sign by sign whole."""
        self.alive = False
        for event in self._events.feed(portion):
            if self.done:
                return
            if event.data.strip() == DONE:
                self._finished()
            elif event.data.strip():
                yield from self._whole(self._take(_parse_json(event.data), "delta"))

    def end(self) -> Iterator[str]:
        """Yield what is left of a sign that never became whole."""
        if self.finish is None:
            raise Unavailable("it broke off in mid-stream")
        self.done = True
        if self._half:
            yield REPLACEMENT_CHARACTER

    def _whole(self, text: str) -> Iterator[str]:
        """Keep half of a surrogate pair back until the other half comes: servers cut anywhere."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = to_storable_text(text.removesuffix(self._half) if self._half else text)
        if text:
            yield text


class JsonCompletionReader(CompletionReader):
    """A completion that comes as one object, since some servers do not stream."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = bytearray()

    def feed(self, portion: bytes) -> Iterator[str]:
        """Keep the bytes."""
        self._bytes += portion
        if len(self._bytes) > MAX_JSON_BYTES:
            raise InvalidInput(f"it has more than {MAX_JSON_BYTES:,} bytes")
        yield from ()

    def end(self) -> Iterator[str]:
        """Yield the text."""
        try:
            text = self._take(_parse_json(self._bytes.decode("utf-8")), "message")
        except UnicodeDecodeError:
            raise InvalidInput("it is not UTF-8") from None
        self._finished()
        if text:
            yield to_storable_text(text)


def completion_reader_for(content_type: str, encoding: str) -> CompletionReader:
    """Return what reads a response of this kind."""
    kind = content_type.partition(";")[0].strip().lower()
    if encoding not in ("", "identity"):
        raise InvalidInput(f"it is encoded as {format_value(encoding)}, which was not asked for")
    if kind == "text/event-stream":
        return StreamedCompletionReader()
    if kind == "application/json":
        return JsonCompletionReader()
    raise InvalidInput(f"its content type is {format_value(content_type)}")


def to_finish_reason(said: str | None) -> Finish:
    """Return why a response ended, by what the server says."""
    return FINISH_REASONS.get(said or "", "other")


def to_storable_text(text: str) -> str:
    """Return text with whole surrogate pairs joined, and a sign in place of what no database stores."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", REPLACEMENT_CHARACTER)


def server_error_detail(read: object) -> str:
    """Return why a server refuses something, in its words."""
    error = read.get("error") if isinstance(read, dict) else None
    return error if isinstance(error, str) else error_detail(read)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{format_value(text)} is no JSON") from None


def _short_text(value: object) -> str:
    return to_storable_text(str(value))[:MAX_NAME_LENGTH] if value is not None else ""


def _parse_cost(usage: object) -> Cost | None:
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
    prompt, response = (count if type(count) is int and 0 <= count < 2**31 else None for count in counts)
    return Cost(prompt_tokens=prompt, response_tokens=response)
