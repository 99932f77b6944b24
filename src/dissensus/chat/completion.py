"""Parser of chat completions, streamed as events or sent as one JSON object."""

import json
from abc import ABC, abstractmethod
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
CONTENT_FILTER_CODES: Final = frozenset(
    {
        *("content_filter", "content_policy_violation", "data_inspection_failed", "moderation_blocked"),
        "responsibleaipolicyviolation",
    }
)
"""Codes of errors by which servers report a content filter, in lower case."""
MAX_JSON_BYTES: Final = 2**24
"""Size limit of a response that is not streamed."""
MAX_NAME_LENGTH: Final = 200
MAX_REFUSAL_LENGTH: Final = 2**14
DONE: Final = "[DONE]"
REPLACEMENT_CHARACTER: Final = "\ufffd"


class CompletionReader(ABC):
    """Incremental reader of a completion: yields its text, and collects finish reason, token counts and model."""

    def __init__(self) -> None:
        self.finish: str | None = None  # Finish reason of the server; None until it is sent, then the text is complete
        self.done = False  # True if nothing more needs to be read
        self.alive = False  # True if the latest bytes had text, a refusal or reasoning
        self.cost = Cost()
        self.model = ""
        self.refusal = ""  # Refusal sent in its own field instead of text
        self._has_choice = False

    @abstractmethod
    def feed(self, portion: bytes) -> Iterator[str]:
        """Yield the text in the next bytes."""

    @abstractmethod
    def end(self) -> Iterator[str]:
        """Yield the remaining text at the end of the bytes."""

    def _read_completion(self, value: object, key: str) -> str:
        """Return the text of a chunk (key `delta`) or of a whole completion (key `message`)."""
        if not isinstance(value, dict):
            raise InvalidInput(f"{format_value(value)} is not an object")
        if value.get("error") is not None:
            raise Unavailable(f"it reports an error: {server_error_detail(value) or format_value(value['error'])}")
        self.model = self.model or _short_text(value.get("model"))
        self.cost = _parse_cost(value.get("usage")) or self.cost
        choices = value.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise InvalidInput("its choices are not a list of objects")
        self._has_choice = self._has_choice or bool(choices)
        return self._read_choice(choices[0], key) if choices else ""

    def _finish(self) -> None:
        if not self._has_choice:
            raise InvalidInput("it has no choice")
        self.done, self.finish = True, self.finish or ""

    def _read_choice(self, choice: Mapping[str, Any], key: str) -> str:
        message = choice.get(key) or {}
        text = message.get("content") if isinstance(message, dict) else message
        if not isinstance(message, dict) or not isinstance(text, str | None):
            raise InvalidInput(f"its {key} is {format_value(text)}, which is not text")
        finish = choice.get("finish_reason")
        if self.finish is None and finish is not None:
            self.finish = _short_text(finish)
        refusal = message.get("refusal")
        if isinstance(refusal, str):
            self.refusal = to_storable_text(self.refusal + refusal)[:MAX_REFUSAL_LENGTH]
        reasoning = any(message.get(name) for name in ("reasoning_content", "reasoning"))
        self.alive = self.alive or bool(text or refusal) or reasoning
        return text or ""


class StreamedCompletionReader(CompletionReader):
    """Reader of a completion streamed as events."""

    def __init__(self) -> None:
        super().__init__()
        self._events = ServerSentEventReader()
        self._surrogate = ""

    def feed(self, portion: bytes) -> Iterator[str]:
        """Yield the text in the next bytes, in complete characters."""
        self.alive = False
        for event in self._events.feed(portion):
            if self.done:
                return
            if event.data.strip() == DONE:
                self._finish()
                yield from self._replace_surrogate()
            elif event.data.strip():
                yield from self._join_surrogates(self._read_completion(_parse_json(event.data), "delta"))

    def end(self) -> Iterator[str]:
        """Yield a replacement for an incomplete character, if any."""
        if self.finish is None:
            raise Unavailable("it broke off in mid-stream")
        self.done = True
        yield from self._replace_surrogate()

    def _replace_surrogate(self) -> Iterator[str]:
        if self._surrogate:
            yield REPLACEMENT_CHARACTER

    def _join_surrogates(self, text: str) -> Iterator[str]:
        """Hold half of a surrogate pair back until the other half arrives, since servers may split anywhere."""
        text = self._surrogate + text
        self._surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = to_storable_text(text.removesuffix(self._surrogate) if self._surrogate else text)
        if text:
            yield text


class JsonCompletionReader(CompletionReader):
    """Reader of a completion sent as one object, by servers that do not stream."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = bytearray()

    def feed(self, portion: bytes) -> Iterator[str]:
        """Store the bytes."""
        self._bytes += portion
        if len(self._bytes) > MAX_JSON_BYTES:
            raise InvalidInput(f"it has more than {MAX_JSON_BYTES:,} bytes")
        yield from ()

    def end(self) -> Iterator[str]:
        """Yield the text."""
        try:
            text = self._read_completion(_parse_json(self._bytes.decode("utf-8")), "message")
        except UnicodeDecodeError:
            raise InvalidInput("it is not UTF-8") from None
        self._finish()
        if text:
            yield to_storable_text(text)


def completion_reader_for(content_type: str, encoding: str) -> CompletionReader:
    """Return the reader for a content type."""
    media_type = content_type.partition(";")[0].strip().lower()
    if encoding not in ("", "identity"):
        raise InvalidInput(f"it is encoded as {format_value(encoding)}, which was not requested")
    if media_type == "text/event-stream":
        return StreamedCompletionReader()
    if media_type == "application/json":
        return JsonCompletionReader()
    raise InvalidInput(f"its content type is {format_value(content_type)}")


def to_finish(reason: str | None) -> Finish:
    """Return the reason of the end for the finish reason of a server."""
    return FINISH_REASONS.get(reason or "", "other")


def to_storable_text(text: str) -> str:
    """Return text with surrogate pairs joined, and replacements for characters that databases cannot store."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\0", REPLACEMENT_CHARACTER)


def is_content_filter(body: object) -> bool:
    """Return whether the JSON of an error reports a content filter.

    Examples
    --------
    >>> is_content_filter({"error": {"code": "content_filter"}}), is_content_filter({"error": {"code": "no_model"}})
    (True, False)
    """
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return False
    # Azure has the code in innererror, OpenRouter the filtered text in metadata.
    nested = (error.get(name) for name in ("innererror", "metadata"))
    parts = [error, *(part for part in nested if isinstance(part, dict))]
    names = {str(part[key]).lower() for part in parts for key in ("code", "type") if key in part}
    return bool(names & CONTENT_FILTER_CODES) or any("flagged_input" in part for part in parts)


def server_error_detail(body: object) -> str:
    """Return the message in the JSON of an error; empty if it has none."""
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, str) else error_detail(body)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{format_value(text)} is not JSON") from None


def _short_text(value: object) -> str:
    return to_storable_text(str(value))[:MAX_NAME_LENGTH] if value is not None else ""


def _parse_cost(usage: object) -> Cost | None:
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
    prompt, response = (count if type(count) is int and 0 <= count < 2**31 else None for count in counts)
    return Cost(prompt_tokens=prompt, response_tokens=response)
