"""Key-by-key validation of TOML tables; errors are collected, so that one message lists all of them."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from dissensus.schema.characters import find_control_character, normalise_line_ends
from dissensus.schema.definition_errors import (
    DefinitionErrors,
    DefinitionFault,
    InvalidDefinition,
    InvalidToml,
    Path,
    format_path,
)
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.faults import MAX_LISTED, describe_type
from dissensus.schema.questionnaire.question import MAX_ANSWER_LENGTH, MAX_WORDING_LENGTH, Wording, empty_wording

SLUG: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?")
"""Names that are part of a URL."""

LINE_CHARACTERS: Final = "\n\t"
"""Control characters allowed in a wording."""

MAX_KEYS: Final = 1_000
"""Labels or headings in a table."""

MAX_KEY_PARTS: Final = 6
"""Parts of a dotted key. The TOML parser stores every prefix of a key, so its memory grows with their square."""

MAX_CONTAINERS: Final = 25_000
"""Characters that begin a value, a table or an array in a TOML text."""

MAX_LINE_LENGTH: Final = 150_000
"""Characters of a line of TOML; the search for long keys in a longer one would hold up other threads."""

_NAME: Final = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED: Final = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})"
# Dotted keys of more than MAX_KEY_PARTS parts where TOML has keys, and chains of more than 30 names anywhere: the
# parser reads those as a key before it finds that none is allowed there.
_LONG_KEY: Final = re.compile(
    rf"(?:^|[\[{{,])[ \t]*({_DOTTED}{{{MAX_KEY_PARTS},30}})[ \t]*[=\]]|(?<![\w-])({_DOTTED}{{30}})"
)

_LINE: Final = re.compile(r"at line (\d+)")
"""Place in the message of the TOML parser."""
_NUMBERED: Final = re.compile(r"(.+)\[(\d+)\]")
"""Key of a wording in a list."""

Choice = TypeVar("Choice", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionTable:
    """One table of a definition file, with typed getters that record errors."""

    data: Mapping[str, object]
    notes: DefinitionErrors  # shared by all tables of the file
    keys: Path = ()  # path in the file, empty for the file itself
    question: str = ""  # name of the question that it describes
    invalid_keys: set[str] = field(default_factory=set)  # keys with unusable values

    def path_of(self, key: str) -> Path:
        """Return the path of a key in the file, or of the table itself."""
        return (*self.keys, key) if key else self.keys

    def add_error(self, key: str, message: str, cause: Exception | None = None) -> None:
        """Record that the value of a key is invalid; the faults of an invalid definition are parts of it."""
        self.invalid_keys.add(key)
        parts = cause.faults if isinstance(cause, InvalidDefinition) else ()
        text = f"{self.describe(key)}: {message}"
        self.notes.faults.append(DefinitionFault(_split_number(self.path_of(key)), message, text, parts))

    def describe(self, key: str) -> str:
        """Return the path of a key, or of the table itself, with the name of the question."""
        path = format_path(self.path_of(key)) or "The file"
        return f"{path} ({self.question})" if self.question else path

    def suggest(self, value: object, allowed: Sequence[str]) -> str:
        """Suggest the nearest allowed text; the search is slow, so only for errors that will be listed."""
        if not isinstance(value, str) or len(self.notes.faults) >= MAX_LISTED:
            return ""
        return suggest(value, allowed)

    def check_keys(self, allowed: Sequence[str]) -> None:
        """Record unknown keys."""
        self.notes.keys[self.keys] = tuple(allowed)
        unknown = [key for key in self.data if key not in allowed]
        for key in unknown[:MAX_LISTED]:
            hint = self.suggest(key, allowed)
            self.add_error("", f"There is no key {format_value(key)}.{hint} Keys are {format_list(allowed, 30)}.")
        if len(unknown) > MAX_LISTED:
            self.add_error("", f"There are {len(unknown) - MAX_LISTED:,} more unknown keys.")

    def get_text(self, key: str, default: str | None = None) -> str | None:
        """Return a text of one line, None if it is missing or invalid."""
        value = self.data.get(key, default)
        if value is None:
            return None
        fault = find_text_error(value)
        if fault is None:
            return str(value)
        self.add_error(key, fault)
        return None

    def get_choice(self, key: str, allowed: Sequence[Choice], default: Choice) -> Choice:
        """Return one of the words that a key allows."""
        value = self.data.get(key, default)
        for word in allowed:
            if word == value:
                return word
        description = format_value(value) if isinstance(value, str) else describe_type(value)
        hint = self.suggest(value, allowed)
        self.add_error(key, f"It is {description}.{hint} Allowed are {format_list(allowed)}.")
        return default

    def get_flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self.data.get(key, default)
        if isinstance(value, bool):
            return value
        self.add_error(key, f"It is {describe_type(value)}. Write true or false, without quotes.")
        return default

    def get_number(self, key: str, default: int, most: int, *, least: int = 1) -> int:
        """Return a whole number from `least` to `most`."""
        value = self.data.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        short = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18
        description = f"{value:,}" if short else describe_type(value)
        self.add_error(key, f"It is {description}. Write a whole number from {least:,} to {most:,}, without quotes.")
        return default

    def get_texts(self, key: str, most: int, *, needed: bool = False) -> tuple[str, ...]:
        """Return a list of distinct texts of one line; with `needed`, an empty list is an error."""
        value = self.data.get(key, ())
        if not isinstance(value, (list, tuple)):
            self.add_error(key, f'It is {describe_type(value)}. Write a list of texts: {key} = ["…", "…"].')
            return ()
        if len(value) > most or (needed and key in self.data and not value):
            self.add_error(key, f"It has {len(value):,} texts. Write 1 to {most:,}.")
            return ()
        checked = [(number, find_text_error(text)) for number, text in enumerate(value, 1)]
        faults = [f"Text {number}: {fault}" for number, fault in checked if fault is not None]
        if not faults and len(set(value)) < len(value):
            duplicate = next(text for text, count in Counter(value).items() if count > 1)
            faults = [f"{format_value(duplicate)} is listed twice. Write each text once."]
        for fault in faults:
            self.add_error(key, fault)
        return () if faults else tuple(value)

    def get_table(self, key: str, most: int = MAX_KEYS) -> "DefinitionTable | None":
        """Return a table, None if it is missing or invalid."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, Mapping) and len(value) <= most:
            return make_table(value, self.notes, keys=self.path_of(key), question=self.question)
        if isinstance(value, Mapping):
            self.add_error(key, f"It has {len(value):,} keys, and at most {most:,} are possible. Remove some.")
        else:
            self.add_error(key, f"It is {describe_type(value)}. Write a table.")
        return None

    def get_tables(self, key: str, most: int) -> tuple["DefinitionTable", ...]:
        """Return a list of tables."""
        value = self.data.get(key, ())
        if not isinstance(value, (list, tuple)):
            self.add_error(
                key, f"It is {describe_type(value)}. Write one table [[{format_path(self.path_of(key))}]] for each."
            )
            return ()
        if len(value) > most:
            self.add_error(key, f"There are {len(value):,}, and at most {most:,} are possible. Remove some.")
            return ()
        tables = []
        for number, data in enumerate(value):
            keys = (*self.path_of(key), number)
            if isinstance(data, Mapping):
                tables.append(make_table(data, self.notes, keys=keys, question=_name(data)))
            else:
                DefinitionTable(data={}, notes=self.notes, keys=keys).add_error(
                    "", f"It is {describe_type(data)}. Write a table."
                )
        return tuple(tables)

    def get_wording(self, key: str, *, first: bool = True) -> Wording:
        """Return a wording by language; a plain text is in the first language, which is required with `first`."""
        value = self.data.get(key)
        if value is None:
            return empty_wording()
        if not self.notes.languages:
            self.notes.without_language.append(self.describe(key))
            return empty_wording()
        texts = {self.notes.languages[0]: value} if isinstance(value, str) else value
        if not isinstance(texts, Mapping):
            self.add_error(key, f'It is {describe_type(value)}. Write one text per language: {{ en = "…" }}.')
            return empty_wording()
        for language in self.notes.languages[not first :]:
            if language not in texts:
                self.notes.add_missing_wording(language, _split_number(self.path_of(key)), self.describe(key))
        return MappingProxyType(self._check_wording(key, texts))

    def _check_wording(self, key: str, texts: Mapping[Any, object]) -> dict[str, str]:
        """Return the valid texts of a wording in the order of the languages."""
        for language in texts:
            if language not in self.notes.languages:
                allowed = format_list(self.notes.languages)
                name = format_value(language) if isinstance(language, str) else describe_type(language)
                self.add_error(
                    key, f"{name} is not among languages, which are {allowed}. Add it there, or take it out here."
                )
        wording = {}
        for language in self.notes.languages:
            fault = _find_wording_error(texts[language]) if language in texts else None
            if fault is not None:
                self.add_error(key, f"{language}: {fault}")
            elif language in texts:
                wording[language] = normalise_line_ends(str(texts[language])).strip()
        return wording


def read_toml(text: str, subject: str, max_length: int) -> dict[str, Any]:
    """Parse a TOML text of limited length, depth and number of keys; messages begin with the subject."""
    if len(text) > max_length:
        raise InvalidToml(f"{subject} has {len(text):,} characters, and {max_length:,} are allowed. Shorten it.")
    n_containers = sum(map(text.count, "=[{"))
    if n_containers > MAX_CONTAINERS:
        raise InvalidToml(
            f"{subject} has {n_containers:,} of the characters '=', '[' and '{{', and {MAX_CONTAINERS:,} are allowed. "
            "Shorten it."
        )
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE_LENGTH:
            raise InvalidToml(
                f"{subject} has {len(line):,} characters in line {number}, and {MAX_LINE_LENGTH:,} are allowed. "
                "Break the line.",
                number,
            )
        long_key = _LONG_KEY.search(line)
        if long_key is not None:
            key = format_value(long_key[1] or long_key[2])
            raise InvalidToml(
                f"{subject} has a key of more than {MAX_KEY_PARTS} parts in line {number}: {key}. Shorten it.",
                number,
            )
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "it nests too deep" if isinstance(error, RecursionError) else error
        place = _LINE.search(str(error))
        message = f"{subject} is not TOML: {reason}. See https://toml.io."
        raise InvalidToml(message, int(place[1]) if place else None) from None


def make_table(
    data: Mapping[Any, object], notes: DefinitionErrors, *, keys: Path = (), question: str = ""
) -> DefinitionTable:
    """Make a table; keys that are not text are recorded as errors."""
    table = DefinitionTable(
        data={key: value for key, value in data.items() if isinstance(key, str)},
        notes=notes,
        keys=keys,
        question=question,
    )
    for key in data:
        if not isinstance(key, str):
            table.add_error("", f"A key is {describe_type(key)}. Keys are text.")
    return table


def check_distinct_names(table: DefinitionTable, key: str, names: Sequence[str]) -> None:
    """Record that tables of a list have the same name; missing names are errors of their own."""
    if any(count > 1 for name, count in Counter(names).items() if name):
        table.add_error(key, "Two have the same name. Rename one.")


def find_text_error(value: object) -> str | None:
    """Return the error of a text of one line that is stored verbatim, None if it is valid."""
    if not isinstance(value, str):
        return f'It is {describe_type(value)}, not text. Put it in quotes: "…".'
    if not value.strip() or value != value.strip():
        return f"{format_value(value)} is blank, or has blanks around it. Remove them."
    if len(value) > MAX_ANSWER_LENGTH:
        allowed = f"{MAX_ANSWER_LENGTH:,} are allowed"
        return f"It has {len(value):,} characters, and {allowed}. Shorten it; a label may say more."
    bad = find_control_character(value)
    return None if bad is None else f"{format_value(value)} holds {bad}, which is not readable. Remove it."


def _find_wording_error(value: object) -> str | None:
    if not isinstance(value, str):
        return f"It is {describe_type(value)}, not text. Put it in quotes."
    if not value.strip():
        return "It is blank. Write it, or leave it out in all languages."
    if len(value) > MAX_WORDING_LENGTH:
        return f"It has {len(value):,} characters, and {MAX_WORDING_LENGTH:,} are allowed. Shorten it."
    bad = find_control_character(normalise_line_ends(value), but=LINE_CHARACTERS)
    return None if bad is None else f"It holds {bad}, which is not readable. Remove it."


def _split_number(path: Path) -> Path:
    """Return a path with the number of a wording in a list as a part of its own."""
    numbered = _NUMBERED.fullmatch(str(path[-1])) if path else None
    return path if numbered is None else (*path[:-1], numbered[1], int(numbered[2]) - 1)


def _name(data: Mapping[str, object]) -> str:
    """Return the name of a table, shortened for messages."""
    name = data.get("name")
    return format_value(name)[1:-1] if isinstance(name, str) else ""
