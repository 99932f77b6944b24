"""Line numbers of keys, against a search in the text."""

import tomllib
from importlib.resources import files
from typing import Any

import pytest
from tests.support.growth import grows_linearly

from dissensus.schema.definition_errors import Path
from dissensus.schema.definition_lines import find_lines, line_of

FILES = [
    entry
    for folder in ("campaigns", "questionnaires")
    for entry in (files("dissensus.schema") / folder).iterdir()
    if entry.name.endswith(".toml")
]


def paths_of(value: Any, path: Path = ()) -> set[Path]:
    """The paths of all parts of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {path}.union(*(paths_of(part, (*path, key)) for key, part in parts))


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry.name)
def test_every_part_of_a_shipped_file_has_the_line_that_names_it(entry: Any) -> None:
    text = entry.read_text("utf-8")
    lines, found = text.split("\n"), find_lines(text)
    assert set(found) == paths_of(tomllib.loads(text)) - {()}
    for path, number in found.items():
        keys = [part for part in path if isinstance(part, str)]
        line = lines[number - 1]
        assert keys[-1] in line, (path, line)


def test_lines_in_values_of_several_lines_and_odd_keys() -> None:
    text = 'a = [\n  "]",\n  "b" ]\n"x y".z = """\n[c]\n= 1 # no\n"""\n[[d.e]]\nf = { g = 1 }\n[[d.e]]\nf = 2\n'
    found = find_lines(text)
    assert found["a",] == found["a", 1] == 1
    assert found["x y", "z"] == 4
    assert ("c",) not in found
    assert found["d", "e", 0, "f", "g"] == 9
    assert (found["d", "e", 1], found["d", "e", 1, "f"]) == (10, 11)
    assert line_of(found, ("d", "e", 1, "missing")) == 10
    assert line_of(found, ("missing",)) is None


def test_line_ends_of_windows_change_no_line() -> None:
    text = 'name = "pilot"\n[[checks]]\nscale = [\n  "A",\n  "B" ]\nafter = 3\n'
    assert find_lines(text.replace("\n", "\r\n")) == find_lines(text)


def test_long_lists_take_linear_time() -> None:
    def find_last(length: int) -> None:
        text = "x = [\n" + "{ a = [1] },\n" * length + "]\nlast = 1\n"
        assert find_lines(text)["last",] == length + 3

    assert grows_linearly(find_last, 1_000)


def test_a_number_that_is_too_long_has_no_line() -> None:
    assert find_lines("a = " + "1" * 5_000 + "\nb = 1") == {("b",): 2}
