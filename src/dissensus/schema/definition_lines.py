"""Line numbers of the keys of a TOML text."""

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dissensus.schema.characters import normalise_line_ends
from dissensus.schema.definition_errors import Path

FEW_LINES: Final = 30
"""Lines of a value whose end is searched at every bracket; later only where the brackets are balanced."""
MAX_WORK: Final = 3_000_000
"""Characters that are parsed at most; lines after that are not known."""


def find_lines(text: str) -> dict[Path, int]:
    r"""Return the line on which each key or table begins, from 1, by its path.

    Each statement of TOML is also valid by itself, so the parser of TOML reads them one by one.

    Examples
    --------
    >>> find_lines('name = "pilot"\n[[checks]]\nafter = 3')
    {('name',): 1, ('checks',): 2, ('checks', 0): 2, ('checks', 0, 'after'): 3}
    """
    lines: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, statement, data in _iterate_statements(text):
        if statement.lstrip().startswith("["):
            table = _enter_table(data, counts)
            _record(lines, table, number)
        else:
            for path in _iterate_paths(data):
                _record(lines, (*table, *path), number)
    return lines


def line_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """Return the line of a path, or of the nearest table around it.

    Examples
    --------
    >>> line_of({("title",): 4}, ("title", "de"))
    4
    """
    return next((lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in lines), None)


def _iterate_statements(text: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield each statement with its first line and its data."""
    lines = normalise_line_ends(text).split("\n")
    index = work = 0
    while index < len(lines) and work < MAX_WORK:
        size, data = 1, dict[str, Any]()
        balance = 0
        for end in range(index, len(lines)):
            line = lines[end]
            balance += line.count("[") + line.count("{") - line.count("]") - line.count("}")
            if end > index and not _may_end(line, balance, end - index):
                continue
            statement = "\n".join(lines[index : end + 1])
            work += len(statement)
            try:
                size, data = end + 1 - index, tomllib.loads(statement)
                break
            except (ValueError, RecursionError):
                if work >= MAX_WORK or not _continues(lines[index]):
                    break
        if data:
            yield index + 1, statement, data
        index += size


def _may_end(line: str, balance: int, n_lines: int) -> bool:
    """Return whether a value of several lines may end on a line."""
    if any(mark in line for mark in ('"""', "'''")):
        return True
    return ("]" in line or "}" in line) and (balance <= 0 or n_lines < FEW_LINES)


def _continues(line: str) -> bool:
    """Return whether a line may begin a value of several lines."""
    return any(mark in line for mark in ('"""', "'''", "[", "{")) and "=" in line


def _enter_table(data: Mapping[str, Any], counts: dict[Path, int]) -> Path:
    """Return the path of the table that a header opens."""
    path: Path = ()
    value: Any = data
    while isinstance(value, Mapping) and value:
        key, value = next(iter(value.items()))
        path = (*path, key)
        if isinstance(value, list):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _iterate_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of a value and its parts."""
    if path:
        yield path
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _iterate_paths(part, (*path, key))


def _record(lines: dict[Path, int], path: Path, number: int) -> None:
    """Record a path and those around it that were not seen before."""
    for n in range(1, len(path) + 1):
        lines.setdefault(path[:n], number)
