"""Conversion of command-line arguments to plain types without pydantic.

Typer validates the value of each parameter with pydantic, defaults included. Importing pydantic and building its
schemas take an eighth of the start-up time of a command.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperOption


def install_plain_coercion() -> None:
    """Make Typer convert plain types without pydantic; it still handles other types and invalid values itself."""
    for kind in (TyperArgument, TyperOption):
        build = getattr(kind, "get_runtime_param", None)
        # Earlier versions of Typer do not use pydantic.
        if build is not None:
            kind.get_runtime_param = _replace(build)  # type: ignore[method-assign, assignment]


def _replace(build: Callable[[Any], Any]) -> Callable[[Any], "_PlainCoercion"]:
    return lambda parameter: _PlainCoercion(lambda: build(parameter))


class _PlainCoercion:
    """Conversion of the values of one parameter, with Typer's own as the fallback."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """Return the value in the type of the parameter; raise as Typer does if it is invalid."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        # AttributeError: a version of Typer with other descriptors. ValueError: more digits than int() accepts.
        with suppress(AttributeError, ValueError):
            plain = _coerce(value, param, is_list=is_list)
            if plain is not None:
                return plain
        return self._build().coerce(value, param=param, ctx=ctx)


def _coerce(value: Any, param: Any, *, is_list: bool) -> Any:
    """Return the value in the type of the parameter, or None to leave it to Typer."""
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if not is_list:
        return _convert(kind, value, info.min, info.max)
    if get_origin(kind) is not list or not isinstance(value, (list, tuple)):
        return None
    plain = [_convert(get_args(kind)[0], word, info.min, info.max) for word in value]
    return None if None in plain else plain


def _convert(kind: Any, word: Any, low: float | None, high: float | None) -> Any:
    """Return an argument in a plain type, or None to leave it to Typer."""
    if get_origin(kind) is Literal:
        return word if word in get_args(kind) else None
    if not isinstance(word, str) or kind is str:
        return word if type(word) is kind else None
    if kind is Path:
        return Path(word) if os.access(word, os.R_OK) or not os.access(word, os.F_OK) else None
    if kind is int and word.isascii() and word.isdecimal():
        number = int(word)
        return number if (low is None or number >= low) and (high is None or number <= high) else None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((choice for choice in kind if choice.value == word), None)
    return None
