"""Key-by-key validation of one TOML table; errors are collected, so that one message lists all of them."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.faults import MAX_LISTED, describe_type, find_control_character
from dissensus.schema.questionnaire.question import MAX_ANSWER_LENGTH, MAX_WORDING_LENGTH, Wording, empty_wording

BARE_KEY: Final = re.compile(r"[\w\[\]-]+")
"""Keys that messages show without quotes."""

SLUG: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?")
"""Names that stand in addresses."""

LINE_CHARACTERS: Final = "\n\t"
"""Control characters that a wording may hold."""

MAX_KEYS: Final = 1_000
"""How many labels or headings a table may hold."""

MAX_MISSING_WORDINGS: Final = 40
"""How many wordings that a language lacks one message lists."""

Choice = TypeVar("Choice", bound=str)


@dataclass(slots=True)
class DefinitionErrors:
    """Errors collected while a definition is parsed, and the wordings that are missing in each language."""

    languages: tuple[str, ...] = ()
    messages: list[str] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    n_missing: Counter[str] = field(default_factory=Counter)
    without_language: list[str] = field(default_factory=list)
    """Places of wordings where there are no languages."""

    def add_missing_wording(self, language: str, place: str) -> None:
        """Note a wording that a language lacks."""
        self.n_missing[language] += 1
        if self.n_missing[language] <= MAX_MISSING_WORDINGS:
            self.missing.setdefault(language, []).append(place)

    def list_messages(self) -> list[str]:
        """Return all faults, with one for each language that lacks something."""
        return self.messages + [self._describe_missing(language) for language in self.missing]

    def _describe_missing(self, language: str) -> str:
        count, places = self.n_missing[language], self.missing[language]
        rest = f" and {count - len(places):,} more" if count > len(places) else ""
        return (
            f"languages: {language} lacks {count:,} wording{'s' * (count > 1)}: {', '.join(places)}{rest}. "
            f"Write all, or take {format_value(language)} out of languages."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionTable:
    """One table of a definition file, with typed getters that record errors."""

    data: Mapping[str, object]
    notes: DefinitionErrors  # shared by all tables of the file
    path: str = ""  # path in the file, empty for the file itself
    question: str = ""  # name of the question that it describes
    invalid_keys: set[str] = field(default_factory=set)  # keys with unusable values

    def path_of(self, key: str) -> str:
        """Return the place of a key."""
        key = key if BARE_KEY.fullmatch(key) else format_value(key)
        return f"{self.path}.{key}" if self.path else key

    def add_error(self, key: str, what: str) -> None:
        """Note that the value of a key cannot be used."""
        self.invalid_keys.add(key)
        self.notes.messages.append(f"{self.describe(key)}: {what}")

    def describe(self, key: str) -> str:
        """Return the place of a key, or of the table itself, with the name of the question."""
        place = self.path_of(key) if key else self.path or "The file"
        return f"{place} ({self.question})" if self.question else place

    def suggest(self, value: object, allowed: Sequence[str]) -> str:
        """Name the allowed text nearest to a value, as long as the fault will be shown: the search takes time."""
        wanted = isinstance(value, str) and len(self.notes.messages) < MAX_LISTED
        return suggest(str(value), allowed) if wanted else ""

    def check_keys(self, allowed: Sequence[str]) -> None:
        """Note the keys that mean nothing."""
        unknown = [key for key in self.data if key not in allowed]
        for key in unknown[:MAX_LISTED]:
            hint = self.suggest(key, allowed)
            self.add_error("", f"There is no key {format_value(key)}.{hint} Keys are {format_list(allowed, 30)}.")
        if len(unknown) > MAX_LISTED:
            self.add_error("", f"There are {len(unknown) - MAX_LISTED:,} more keys that mean nothing.")

    def get_text(self, key: str, default: str | None = None) -> str | None:
        """Return a text of one line, None where it is missing or wrong."""
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
        given = format_value(value) if isinstance(value, str) else describe_type(value)
        hint = self.suggest(value, allowed)
        self.add_error(key, f"It is {given}.{hint} Allowed are {format_list(allowed)}.")
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
        given = f"{value:,}" if short else describe_type(value)
        self.add_error(key, f"It is {given}. Write a whole number from {least:,} to {most:,}, without quotes.")
        return default

    def get_texts(self, key: str, most: int, *, needed: bool = False) -> tuple[str, ...]:
        """Return a list of different texts of one line."""
        value = self.data.get(key, ())
        if not isinstance(value, (list, tuple)):
            self.add_error(key, f'It is {describe_type(value)}. Write a list of texts: {key} = ["…", "…"].')
            return ()
        if len(value) > most or (needed and key in self.data and not value):
            self.add_error(key, f"It has {len(value):,} texts. Write 1 to {most:,}.")
            return ()
        checked = [(place, find_text_error(one)) for place, one in enumerate(value, 1)]
        faults = [f"Text {place}: {fault}" for place, fault in checked if fault is not None]
        if not faults and len(set(value)) < len(value):
            twice = next(one for one, times in Counter(value).items() if times > 1)
            faults = [f"{format_value(twice)} stands there twice. Write each text once."]
        for fault in faults:
            self.add_error(key, fault)
        return () if faults else tuple(value)

    def get_table(self, key: str, most: int = MAX_KEYS) -> "DefinitionTable | None":
        """Return a table, None where it is missing or wrong."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, Mapping) and len(value) <= most:
            return make_table(value, self.notes, path=self.path_of(key), question=self.question)
        if isinstance(value, Mapping):
            self.add_error(key, f"It has {len(value):,} keys, and at most {most:,} are possible. Take some out.")
        else:
            self.add_error(key, f"It is {describe_type(value)}. Write a table.")
        return None

    def get_tables(self, key: str, most: int) -> tuple["DefinitionTable", ...]:
        """Return a list of tables, with places that count from 1."""
        value = self.data.get(key, ())
        if not isinstance(value, (list, tuple)):
            self.add_error(key, f"It is {describe_type(value)}. Write one table [[{self.path_of(key)}]] for each.")
            return ()
        if len(value) > most:
            self.add_error(
                key, f"There are {len(value):,}, and at most {most:,} are possible. Make several questionnaires."
            )
            return ()
        places = [(f"{self.path_of(key)}[{place}]", one) for place, one in enumerate(value, 1)]
        for place, one in places:
            if not isinstance(one, Mapping):
                self.notes.messages.append(f"{place}: It is {describe_type(one)}. Write a table.")
        return tuple(
            make_table(one, self.notes, path=place, question=_name(one))
            for place, one in places
            if isinstance(one, Mapping)
        )

    def get_wording(self, key: str, *, first: bool = True) -> Wording:
        """Return what raters read in each language; a text alone is in the first language.

        `first` tells whether the first language needs it too.
        """
        value = self.data.get(key)
        if value is None:
            return empty_wording()
        if not self.notes.languages:
            self.notes.without_language.append(self.describe(key))
            return empty_wording()
        given = {self.notes.languages[0]: value} if isinstance(value, str) else value
        if not isinstance(given, Mapping):
            self.add_error(key, f'It is {describe_type(value)}. Write one text a language: {{ en = "…" }}.')
            return empty_wording()
        for language in self.notes.languages[not first :]:
            if language not in given:
                self.notes.add_missing_wording(language, self.describe(key))
        return MappingProxyType(self._texts_of(key, given))

    def _texts_of(self, key: str, given: Mapping[Any, object]) -> dict[str, str]:
        """Return the texts of a wording in the order of the languages."""
        for language in given:
            if language not in self.notes.languages:
                known = format_list(self.notes.languages)
                named = format_value(language) if isinstance(language, str) else describe_type(language)
                self.add_error(
                    key, f"{named} is not among languages, which are {known}. Add it there, or take it out here."
                )
        texts = {}
        for language in self.notes.languages:
            fault = _find_wording_error(given[language]) if language in given else None
            if fault is not None:
                self.add_error(key, f"{language}: {fault}")
            elif language in given:
                texts[language] = _normalise_newlines(str(given[language])).strip()
        return texts


def read_toml(text: str, what: str, most: int) -> dict[str, Any]:
    """Return what a TOML text of at most so many characters holds; `what` names it in messages."""
    if len(text) > most:
        raise InvalidInput(f"{what} has {len(text):,} characters, and {most:,} are allowed. Shorten it.")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        why = "it nests too deep" if isinstance(error, RecursionError) else error
        raise InvalidInput(f"{what} is not TOML: {why}. https://toml.io shows what TOML is.") from None


def make_table(
    data: Mapping[Any, object], notes: DefinitionErrors, *, path: str = "", question: str = ""
) -> DefinitionTable:
    """Return a table of the keys that are text; nothing else is a key in TOML or JSON."""
    table = DefinitionTable(
        data={key: value for key, value in data.items() if isinstance(key, str)},
        notes=notes,
        path=path,
        question=question,
    )
    for key in data:
        if not isinstance(key, str):
            table.add_error("", f"A key is {describe_type(key)}. Keys are text.")
    return table


def find_text_error(value: object, longest: int = MAX_ANSWER_LENGTH) -> str | None:
    """Say what is wrong with a text that is stored as it is, None where nothing is."""
    if not isinstance(value, str):
        return f'It is {describe_type(value)}, not text. Put it in quotes: "…".'
    if not value.strip() or value != value.strip():
        return f"{format_value(value)} is blank, or has blanks around it. Remove them."
    if len(value) > longest:
        return f"It has {len(value):,} characters, and {longest:,} are allowed. Shorten it; a label may say more."
    bad = find_control_character(value)
    return None if bad is None else f"{format_value(value)} holds {bad}, which nobody can read. Remove it."


def _find_wording_error(value: object) -> str | None:
    if not isinstance(value, str):
        return f"It is {describe_type(value)}, not text. Put it in quotes."
    if not value.strip():
        return "It is blank. Write it, or leave it out in all languages."
    if len(value) > MAX_WORDING_LENGTH:
        return f"It has {len(value):,} characters, and {MAX_WORDING_LENGTH:,} are allowed. Shorten it."
    bad = find_control_character(_normalise_newlines(value), but=LINE_CHARACTERS)
    return None if bad is None else f"It holds {bad}, which nobody can read. Remove it."


def _normalise_newlines(text: str) -> str:
    """Return a text with one way to end a line."""
    return text.replace("\r\n", "\n")


def _name(data: Mapping[str, object]) -> str:
    """Return the name that a table gives itself, short enough to stand in a message."""
    name = data.get("name")
    return format_value(name)[1:-1] if isinstance(name, str) else ""
