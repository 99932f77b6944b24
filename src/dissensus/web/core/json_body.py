"""JSON bodies: parsed and validated in a thread, in short steps and with limits.

The compiled parser and validator hold the interpreter lock until they are done with a body, in a thread too. So large
bodies are parsed in Python, and validated entry by entry.
"""

import json
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from itertools import takewhile
from json import JSONDecodeError
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any, Final, TypeVar, get_args, get_origin

from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool

from dissensus.errors import InvalidInput

SMALL_BYTES: Final = 8 << 10
"""Bodies up to this size are validated at once."""
MAX_DEPTH: Final = 50
MAX_CONTAINERS: Final = 25_000
"""Maximum objects and arrays of a body; each garbage collection visits all of them, and all that is made of them."""
MAX_KEYS: Final = 2_000
"""Maximum keys of an object."""
MAX_NUMBER_LENGTH: Final = 1_000
MAX_ERRORS: Final = 20
"""Maximum errors in a response; after as many no further entry is validated."""

_BLANKS: Final = re.compile(r"[ \t\n\r]*")
_LONG_NUMBER: Final = re.compile(rf"[-+.\deE]{{{MAX_NUMBER_LENGTH + 1}}}", re.ASCII)
Model = TypeVar("Model", bound=BaseModel)


class _BoundedDecoder(json.JSONDecoder):
    """Decoder in Python that counts objects and arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = self.n_containers = 0
        self.parse_object = self._parse_object
        self.parse_array = self._parse_array
        self._scan_value = py_make_scanner(self)
        self.scan_once = self._scan_bounded

    def _parse_object(self, s_and_end: tuple[str, int], *arguments: Any) -> tuple[dict[str, Any], int]:
        with self:
            # The hook is the fourth argument.
            strict, _, _, _, memo = arguments
            return JSONObject(s_and_end, strict, self._scan_bounded, None, _to_object, memo)  # type: ignore[no-any-return]

    def _parse_array(self, s_and_end: tuple[str, int], _: Any) -> tuple[list[Any], int]:
        with self:
            return JSONArray(s_and_end, self._scan_bounded)  # type: ignore[no-any-return]

    def _scan_bounded(self, text: str, start: int) -> Any:
        if _LONG_NUMBER.match(text, start):
            raise InvalidInput(
                f"The request has a number of more than {MAX_NUMBER_LENGTH:,} characters. Send a shorter one."
            )
        return self._scan_value(text, start)

    def __enter__(self) -> None:
        self.depth += 1
        self.n_containers += 1
        if self.depth > MAX_DEPTH:
            raise InvalidInput(f"The request nests deeper than {MAX_DEPTH} levels. Send a simpler one.")
        if self.n_containers > MAX_CONTAINERS:
            raise InvalidInput(
                f"The request has more than {MAX_CONTAINERS:,} objects and arrays. Send less in one request."
            )

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def _to_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise InvalidInput(f"The request has an object with more than {MAX_KEYS:,} keys. Send less in one request.")
    return dict(pairs)


def decode_json(body: bytes) -> Any:
    """Decode JSON within limits; raise `InvalidInput` beyond them, or a `ValueError` as `json.loads` does.

    Examples
    --------
    >>> decode_json(b'{"a": [1, "b", null]}')
    {'a': [1, 'b', None]}
    >>> decode_json(b"[" * 10_000)
    Traceback (most recent call last):
        ...
    dissensus.errors.InvalidInput: The request nests deeper than 50 levels. Send a simpler one.
    """
    text = body.decode(json.detect_encoding(body)).removeprefix("\ufeff")
    return _BoundedDecoder().decode(text)


def iterate_json_array(text: str) -> Iterator[Any]:
    """Yield the entries of an array, each within the limits of a body; raise as `decode_json` does.

    Examples
    --------
    >>> list(iterate_json_array('[1, {"a": 2}]'))
    [1, {'a': 2}]
    """
    start = _BLANKS.match(text).end()  # type: ignore[union-attr]
    separator = "["
    while text[start : start + 1] == separator:
        start = _BLANKS.match(text, start + 1).end()  # type: ignore[union-attr]
        if separator == "[" and text[start : start + 1] == "]":
            break
        value, end = _BoundedDecoder().raw_decode(text, start)
        yield value
        start = _BLANKS.match(text, end).end()  # type: ignore[union-attr]
        separator = ","
    if text[start : start + 1] != "]" or text[start + 1 :].strip():
        raise JSONDecodeError("Expecting an array", "", start)


def parse_json(model: type[Model], body: bytes) -> Model:
    """Decode and validate a body; raise `InvalidInput`, a `ValidationError` with few errors, or a `ValueError`."""
    value = decode_json(body)
    if len(body) > SMALL_BYTES:
        value = _EntryValidator().validate_entries(model, value)
    return model.model_validate(value)


class _EntryValidator:
    """Validator of the entries of lists and mappings, one by one, until they have as many errors as are shown."""

    def __init__(self) -> None:
        self.n_errors = 0

    def validate_entries(self, model: type[BaseModel], value: Any) -> Any:
        """Return a value with instances in place of its valid entries, cut after the errors that are shown.

        The model accepts the instances as they are, and reports the faulty entries.
        """
        if not isinstance(value, dict):
            return value
        fields = {name: entry for name, entry in _entry_models(model).items() if name in value}
        return {**value, **{name: self._validate_field(entry, value[name]) for name, entry in fields.items()}}

    def _validate_field(self, model: type[BaseModel], value: Any) -> Any:
        if isinstance(value, list):
            return [self._validate_entry(model, entry) for entry in self._take(value)]
        if isinstance(value, dict):
            return {key: self._validate_entry(model, value[key]) for key in self._take(value)}
        return value

    def _take(self, entries: Iterable[Any]) -> Iterator[Any]:
        return takewhile(lambda _: self.n_errors < MAX_ERRORS, entries)

    def _validate_entry(self, model: type[BaseModel], value: Any) -> Any:
        value = self.validate_entries(model, value)
        try:
            return model.model_validate(value)
        except ValidationError as error:
            self.n_errors += error.error_count()
            return value


@cache
def _entry_models(model: type[BaseModel]) -> Mapping[str, type[BaseModel]]:
    """Return the models of entries by the fields that are lists or mappings of them."""
    models = {}
    for name, field in model.model_fields.items():
        entry = get_args(field.annotation)[-1] if get_origin(field.annotation) in (list, dict) else None
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            models[name] = entry
    return models


class JsonRoute(APIRoute):
    """Route whose JSON body is parsed and validated in a thread before its function is called."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the handler."""
        handle = super().get_route_handler()
        models = [parameter.field_info.annotation for parameter in self.dependant.body_params]
        model = next((model for model in models if isinstance(model, type) and issubclass(model, BaseModel)), None)

        async def handle_parsed(request: Request) -> Response:
            if model is not None and _is_json(request):
                body = await request.body()
                request = _ParsedRequest(request, body, await run_in_threadpool(_parse, model, body) if body else None)
            return await handle(request)

        return handle_parsed


class _ParsedRequest(Request):
    """Request with a validated body."""

    def __init__(self, request: Request, content: bytes, value: BaseModel | None) -> None:
        super().__init__(request.scope, request.receive)
        self.content = content
        self.value = value

    async def body(self) -> bytes:
        """Return the body, which was received already."""
        return self.content

    async def json(self) -> Any:
        """Return the validated body."""
        return self.value


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


def _parse(model: type[BaseModel], body: bytes) -> BaseModel:
    try:
        return parse_json(model, body)
    except ValidationError as error:
        errors = error.errors(include_url=False)[:MAX_ERRORS]
        raise RequestValidationError([{**detail, "loc": ("body", *detail["loc"])} for detail in errors]) from None
    except InvalidInput:
        raise
    except ValueError as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from error
