"""Comparison of two recordings, but for renames that are listed.

`python -m tests.behaviour.compare OLD NEW --renames renames.toml`, where the file has tables such as

    [[rename]]
    old = "rater_flagged"
    new = "rater_excluded"
    files = "platform/*"   # default: every file
    word = true            # default: whole words alone; regex = true reads `old` as a regular expression

They are applied to the text and the paths of OLD, in their order. Files that end in `.lines.txt` are compared as sets
of lines, and JSON by keys, so that a rename may move what is sorted. With --ignore-space tables may be wider. The exit
code is 1 where anything differs.
"""

import argparse
import difflib
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

LINES: Final = 40
"""Lines of a difference that are shown."""


@dataclass(frozen=True, slots=True)
class Rename:
    """A text that became another one.

    Parameters
    ----------
    old, new
        The texts.
    files
        A pattern for the paths of OLD to which it applies.
    word
        Whether it replaces whole words alone.
    regex
        Whether `old` is a regular expression, and `new` its replacement.
    """

    old: str
    new: str
    files: str = "*"
    word: bool = True
    regex: bool = False

    def apply(self, text: str) -> str:
        """Return a text with it applied."""
        if self.regex:
            return re.sub(self.old, self.new, text, flags=re.MULTILINE)
        pattern = rf"(?<!\w){re.escape(self.old)}(?!\w)" if self.word else re.escape(self.old)
        return re.sub(pattern, lambda _: self.new, text)


@dataclass(frozen=True, slots=True)
class Difference:
    """A file that differs, with the lines that do."""

    path: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        n_hidden = len(self.lines) - LINES
        more = [f"… {n_hidden} more lines"] if n_hidden > 0 else []
        return "\n".join([*self.lines[:LINES], *more])


def read_renames(path: Path | None) -> list[Rename]:
    """Return the renames that a file lists."""
    document = tomllib.loads(path.read_text("utf-8")) if path else {}
    return [Rename(**one) for one in document.get("rename", [])]


def canonical(text: str, name: str, *, loose: bool = False) -> str:
    """Return a text without what a rename may change: the order of sorted lines and keys, and the width of tables."""
    if name.endswith(".json"):
        return json.dumps(json.loads(text), indent=1, sort_keys=True)
    lines = text.splitlines()
    if loose:
        lines = [re.sub(r"[\s─━│┃-]+", " ", line).strip() for line in lines]
    return "\n".join(sorted(lines) if name.endswith(".lines.txt") else lines)


def differences(old: Path, new: Path, renames: Sequence[Rename] = (), *, loose: bool = False) -> Iterator[Difference]:
    """Yield the files in which two recordings differ, with renames applied to the old one."""
    before = {_apply_renames(name, name, renames): (name, path) for name, path in _files(old).items()}
    after = _files(new)
    for name in sorted({*before, *after}):
        if name not in after:
            yield Difference(name, ("missing in the new recording",))
        elif name not in before:
            yield Difference(name, ("missing in the old recording",))
        else:
            first, path = before[name]
            texts = _apply_renames(path.read_text("utf-8"), first, renames), after[name].read_text("utf-8")
            a, b = (canonical(text, name, loose=loose).splitlines() for text in texts)
            if a != b:
                yield Difference(name, tuple(difflib.unified_diff(a, b, "old", "new", n=1, lineterm="")))


def main(words: list[str] | None = None) -> int:
    """Print how two recordings differ, and return the exit code."""
    parser = argparse.ArgumentParser(description="Compare two recordings of behaviour.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--renames", type=Path, help="TOML with renames that are forgiven")
    parser.add_argument("--summary", action="store_true", help="print the names of files alone")
    parser.add_argument("--ignore-space", action="store_true", help="forgive other widths of tables")
    arguments = parser.parse_args(words)
    changes = list(
        differences(arguments.old, arguments.new, read_renames(arguments.renames), loose=arguments.ignore_space)
    )
    out = [] if arguments.summary else [f"=== {one.path}\n{one}\n" for one in changes]
    out += [f"{len(one.lines):6} {one.path}" for one in changes]
    sys.stdout.write("\n".join([*out, f"{len(changes)} files differ, of {len(_files(arguments.new))}."]) + "\n")
    return 1 if changes else 0


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise SystemExit(f"There is no folder {folder}.")
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def _apply_renames(text: str, name: str, renames: Sequence[Rename]) -> str:
    for rename in renames:
        if fnmatchcase(name, rename.files):
            text = rename.apply(text)
    return text


if __name__ == "__main__":
    sys.exit(main())
