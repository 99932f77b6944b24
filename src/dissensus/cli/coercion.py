"""Coercion of the words of a command to plain types.

Typer checks the value of each option by pydantic, also one that was not given. Its import and its schemas take an
eighth of the start of a command.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperArgument, TyperOption


def coerce_plainly() -> None:
    """Let options and arguments convert words to plain types themselves, and leave others, and faults, to typer."""
    for kind in (TyperArgument, TyperOption):
        build = getattr(kind, "get_runtime_param", None)
        # Earlier versions of typer check without pydantic.
        if build is not None:
            kind.get_runtime_param = _replace(build)  # type: ignore[method-assign, assignment]


def _replace(build: Callable[[Any], Any]) -> Callable[[Any], "_PlainCoercion"]:
    return lambda parameter: _PlainCoercion(lambda: build(parameter))


class _PlainCoercion:
    """Coercion of the values of one parameter, before typer's own."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    def coerce(self, value: Any, param: Any, ctx: typer.Context) -> Any:
        """Return a value of the type of the parameter; raise, as typer does, if there is none."""
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        # Another version of typer may describe parameters otherwise, and Python refuses a number of too many digits.
        with suppress(AttributeError, ValueError):
            plain = _coerce(value, param, is_list=is_list)
            if plain is not None:
                return plain
        return self._build().coerce(value, param=param, ctx=ctx)


def _coerce(value: Any, param: Any, *, is_list: bool) -> Any:
    """Return a value of the type of the parameter; None if there may be none."""
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    if not is_list:
        return _convert(kind, value, info.min, info.max)
    if get_origin(kind) is not list or not isinstance(value, (list, tuple)):
        return None
    plain = [_convert(get_args(kind)[0], word, info.min, info.max) for word in value]
    return None if None in plain else plain


def _convert(kind: Any, word: Any, low: float | None, high: float | None) -> Any:
    """Return a word as a value of a plain type; None if it may be none."""
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
