"""Errors of definitions: collected while a file is parsed, each with its path, and raised as one."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from dissensus.errors import InvalidInput
from dissensus.schema.hints import count_noun, format_value
from dissensus.schema.questionnaire.faults import combine_problems

Path: TypeAlias = tuple[str | int, ...]
"""Keys, and indices in lists, that lead from the file to a value."""

BARE_KEY: Final = re.compile(r"[\w\[\]-]+")
"""Keys that messages show without quotes."""

MAX_MISSING_WORDINGS: Final = 40
"""Missing wordings listed for each language."""


@dataclass(frozen=True, slots=True)
class DefinitionFault:
    """An error of a definition, with its place."""

    path: Path
    message: str  # without the place
    text: str  # with the place, as listed in errors
    parts: tuple["DefinitionFault", ...] = ()  # errors that the text sums up
    line: int | None = None  # line of a text that is not TOML

    def flatten(self, prefix: Path = ()) -> Iterator["DefinitionFault"]:
        """Yield the fault, or the errors that it sums up, with complete paths."""
        path = (*prefix, *self.path)
        if not self.parts:
            yield replace(self, path=path)
        for part in self.parts:
            yield from part.flatten(path)


class InvalidDefinition(InvalidInput):
    """Invalid definition; the message lists the faults, and `faults` has each with its path."""

    def __init__(self, subject: str, faults: Sequence[DefinitionFault]) -> None:
        super().__init__(str(combine_problems(subject, [fault.text for fault in faults])))
        self.faults = tuple(part for fault in faults for part in fault.flatten())


class InvalidToml(InvalidInput):
    """A text that is not TOML, or too large; `line` is the place if it is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True)
class DefinitionErrors:
    """Errors collected while a definition is parsed, and the wordings that are missing in each language."""

    languages: tuple[str, ...] = ()
    faults: list[DefinitionFault] = field(default_factory=list)
    missing: dict[str, list[DefinitionFault]] = field(default_factory=dict)
    n_missing: Counter[str] = field(default_factory=Counter)
    without_language: list[str] = field(default_factory=list)
    """Paths of wordings in a file that names no languages."""
    keys: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    """Keys that each table allows, by its path."""

    def add_missing_wording(self, language: str, path: Path, description: str) -> None:
        """Record a wording that is missing in a language."""
        self.n_missing[language] += 1
        if self.n_missing[language] <= MAX_MISSING_WORDINGS:
            fault = DefinitionFault((*path, language), f"It is missing in {language}.", description)
            self.missing.setdefault(language, []).append(fault)

    def list_faults(self) -> list[DefinitionFault]:
        """Return all errors, with one for each language that lacks wordings."""
        return self.faults + [self._sum_missing(language) for language in self.missing]

    def _sum_missing(self, language: str) -> DefinitionFault:
        count, missing = self.n_missing[language], self.missing[language]
        suffix = f" and {count - len(missing):,} more" if count > len(missing) else ""
        message = (
            f"{language} lacks {count_noun(count, 'wording')}: {', '.join(fault.text for fault in missing)}"
            f"{suffix}. Write all, or take {format_value(language)} out of languages."
        )
        return DefinitionFault((), message, f"languages: {message}", tuple(missing))


def format_path(path: Path) -> str:
    """Return a path as messages show it; lists count from 1.

    Examples
    --------
    >>> format_path(("consent", "purposes", 1, "text")), format_path(("labels", "Not sure"))
    ('consent.purposes[2].text', "labels.'Not sure'")
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        else:
            text += ("." if text else "") + (part if BARE_KEY.fullmatch(part) else format_value(part))
    return text
