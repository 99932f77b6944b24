"""Kinds of form fields: each shows a value of a definition, and reads the typed value back."""

# ruff: noqa: ARG002 - all kinds of fields have the same signatures

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import tomli_w

from dissensus.schema.campaign.parser import MAX_FILE_LENGTH
from dissensus.schema.characters import normalise_line_ends
from dissensus.schema.definition_errors import InvalidToml, Path
from dissensus.schema.definition_table import read_toml

FormValues: TypeAlias = Mapping[str, str]
"""Submitted texts by the name of their form field; an unchecked box is absent."""

NUMBER: Final = re.compile(r"[-+]?\d{1,18}")
DECIMAL: Final = re.compile(r"[-+]?\d{1,18}(\.\d{1,18})?")
ACTION: Final = "action"
"""Name of the buttons that add, remove and move rows; their value is a verb and the name of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormNode:
    """A field, or a group of fields, as a page shows it."""

    kind: str  # macro of the template
    name: str  # name in the form
    path: Path  # in the definition
    label: str
    hint: str = ""
    value: str = ""
    checked: bool = False
    options: tuple[tuple[str, str], ...] = ()  # values and labels of a choice
    texts: Mapping[str, str] = field(default_factory=dict)  # by language
    rows: int = 1  # lines of a text
    rare: bool = False  # stands among further settings
    children: tuple["FormNode", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldContext:
    """Context of a value: its name in the form, its path in the definition, its languages, and the tables around it."""

    name: str
    path: Path
    languages: tuple[str, ...] = ()
    table: Mapping[str, Any] = field(default_factory=dict)  # table that holds the value
    root: Mapping[str, Any] = field(default_factory=dict)  # the whole definition
    scale: tuple[str, ...] = ()  # answers of questions without their own

    def enter(self, key: str | int, name: str | int | None = None) -> "FieldContext":
        """Return the context of a part of the value: its key, and its name in the form if that differs."""
        part = key if name is None else name
        return replace(self, name=f"{self.name}.{part}" if self.name else str(part), path=(*self.path, key))


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(ABC):
    """A kind of field; values that it cannot show are edited as TOML."""

    label: str
    hint: str = ""
    rare: bool = False  # stands among further settings

    @abstractmethod
    def _holds(self, value: Any, context: FieldContext) -> bool:
        """Return whether the field can show a value without loss."""

    @abstractmethod
    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        """Return the node of a value, which is None if it is missing."""

    @abstractmethod
    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        """Return the typed value, None if it is blank; `table` has the keys of the same table that were read before."""

    def show(self, value: Any, context: FieldContext) -> FormNode:
        """Return the node of a value; a value that the field cannot show is edited as TOML."""
        if value is None or self._holds(value, context):
            return self._draw(value, context)
        return self.node("toml", context, name=f"{context.name}.toml", value=write_value(value), rows=4)

    def read(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        """Return the value in a form, `old` if the form does not have the field."""
        text = form.get(f"{name}.toml")
        return self._parse(form, name, old, table) if text is None else read_value(text)

    def node(self, kind: str, context: FieldContext, **values: Any) -> FormNode:
        """Return a node with the label and the hint of the field."""
        own = {"label": self.label, "hint": self.hint, "rare": self.rare}
        return FormNode(**{"kind": kind, "name": context.name, "path": context.path, **own, **values})


def write_value(value: Any) -> str:
    """Return a value as TOML.

    Examples
    --------
    >>> print(write_value("many"))
    value = "many"
    <BLANKLINE>
    """
    return tomli_w.dumps({"value": value}, multiline_strings=True)


def read_value(text: str) -> Any:
    """Return a value that was edited as TOML; what is not TOML stays text, which the parser of definitions refuses.

    Examples
    --------
    >>> read_value("value = [1]"), read_value("value ="), read_value(" ")
    ([1], 'value =', None)
    """
    text = normalise_line_ends(text)
    try:
        return read_toml(text, "The value", MAX_FILE_LENGTH).get("value") if text.strip() else None
    except InvalidToml:
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField(Field):
    """A text, which may have line breaks if `lines` is more than 1."""

    lines: int = 1

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, str) and (self.lines > 1 or "\n" not in value)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        kind = "long" if self.lines > 1 else "text"
        return self.node(kind, context, value=value or "", rows=self.lines)

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        text = form.get(name)
        if text is None:
            return old
        text = normalise_line_ends(text)
        return (text if self.lines > 1 else text.strip()) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField(Field):
    """A number; another text stays text, which the parser of definitions refuses."""

    decimal: bool = False

    def _holds(self, value: Any, context: FieldContext) -> bool:
        if isinstance(value, str):
            return "\n" not in value
        # Other numbers, such as 1e-07, would be read back as text.
        return type(value) in (int, float) and type(parse_number(str(value), decimal=self.decimal)) is type(value)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        return self.node("number", context, value="" if value is None else str(value))

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        text = form.get(name)
        if text is None:
            return old
        return parse_number(text, decimal=self.decimal)


def parse_number(text: str, *, decimal: bool = False) -> int | float | str | None:
    """Return a number, else the text as typed, None if it is blank.

    Examples
    --------
    >>> parse_number(" 20 "), parse_number("many"), parse_number(""), parse_number("0.5", decimal=True)
    (20, 'many', None, 0.5)
    """
    text = text.strip()
    if NUMBER.fullmatch(text):
        return int(text)
    return float(text) if decimal and DECIMAL.fullmatch(text) else text or None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagField(Field):
    """A box to check."""

    default: bool = False

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, bool)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        return self.node("flag", context, checked=self.default if value is None else value)

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        checked = name in form
        return None if checked == self.default else checked


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceField(Field):
    """One of several words; the first option is blank and stands for the default."""

    options: tuple[tuple[str, str], ...]
    default: str = ""  # word that the first option stands for
    words: Mapping[str, Any] = field(default_factory=dict)  # values other than the words themselves

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, str) or value in self.words.values()

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        word = next((word for word, meaning in self.words.items() if meaning is value), value)
        word = None if word == self.default else word
        others = () if word is None or word in dict(self.options) else ((word, word),)
        return self.node("choice", context, value=word or "", options=(*self.options, *others))

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        if name not in form:
            return old
        return self.words.get(form[name], form[name] or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsField(Field):
    """A list of texts, one a line."""

    lines: int = 3

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, list) and all(
            isinstance(text, str) and text.strip() and "\n" not in text and "\r" not in text for text in value
        )

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        return self.node("lines", context, value="\n".join(value or ()), rows=max(self.lines, len(value or ())))

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        return old if name not in form else split_lines(form[name]) or None


def split_lines(text: str) -> list[str]:
    """Return the lines of a text that are not blank."""
    return [line.strip() for line in normalise_line_ends(text).split("\n") if line.strip()]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordingField(Field):
    """A text in each language."""

    lines: int = 1

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return bool(context.languages) if isinstance(value, str) else is_wording(value)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        return self.node("wording", context, texts=wording_texts(value, context.languages), rows=self.lines)

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        texts = {key.removeprefix(f"{name}."): normalise_line_ends(text) for key, text in part_of(form, name).items()}
        if not texts:
            return old
        return {language: text for language, text in texts.items() if text.strip()} or None


def is_wording(value: Any) -> bool:
    """Return whether a value is a table of texts."""
    return isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())


def wording_texts(value: Any, languages: Sequence[str]) -> dict[str, str]:
    """Return the text in each of the languages, blank if missing, and in others that the value has."""
    texts = {languages[0]: value} if isinstance(value, str) else dict(value or {})
    return {**dict.fromkeys(languages, ""), **texts}


def part_of(form: FormValues, name: str) -> dict[str, str]:
    """Return the values of the form fields whose names continue a name after a dot."""
    prefix = f"{name}."
    return {key: value for key, value in form.items() if key.startswith(prefix)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlField(Field):
    """A table of any keys, as TOML."""

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, Mapping)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        return self.node("toml", context, value=tomli_w.dumps(value or {}, multiline_strings=True), rows=3)

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        if name not in form:
            return old
        text = normalise_line_ends(form[name])
        try:
            return read_toml(text, "The table", MAX_FILE_LENGTH) or None
        except InvalidToml:
            return text


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsField(Field):
    """Labels of answers in each language, one a line, in the order of the scale."""

    def _holds(self, value: Any, context: FieldContext) -> bool:
        if not isinstance(value, Mapping) or not all(
            isinstance(text, str) or is_wording(text) for text in value.values()
        ):
            return False
        own = answers_of(context.table)
        texts = [part for text in value.values() for part in ([text] if isinstance(text, str) else text.values())]
        return (
            bool(context.languages) and (not own or set(value) <= set(own)) and not any("\n" in text for text in texts)
        )

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        labels = {answer: wording_texts(text, context.languages) for answer, text in (value or {}).items()}
        own = answers_of(context.table)
        answers = own or list(dict.fromkeys([*context.scale, *labels]))
        languages = dict.fromkeys([*context.languages, *(language for text in labels.values() for language in text)])
        texts = {
            language: "\n".join(labels.get(answer, {}).get(language, "") for answer in answers)
            for language in languages
        }
        return self.node(
            "labels", context, value="\n".join(answers), texts=texts, rows=max(2, len(answers)), checked=bool(own)
        )

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        columns = part_of(form, f"{name}.in")
        if not columns:
            return old
        answers = answers_of(table) or split_lines(form.get(f"{name}.answers", ""))
        labels: dict[str, dict[str, str]] = {}
        for key, text in columns.items():
            for number, line in enumerate(normalise_line_ends(text).split("\n")):
                if line.strip():
                    # Lines beyond the last answer belong to none, which the parser of definitions refuses.
                    answer = answers[number] if number < len(answers) else ""
                    labels.setdefault(answer, {})[key.removeprefix(f"{name}.in.")] = line.strip()
        return {answer: labels[answer] for answer in dict.fromkeys([*answers, *labels]) if answer in labels} or None


def answers_of(table: Mapping[str, Any]) -> list[str]:
    """Return the answers of a question with a scale of its own, the one that declines last; else none."""
    scale, decline = table.get("scale"), table.get("decline")
    own = [answer for answer in scale if isinstance(answer, str)] if isinstance(scale, list) else []
    return [*own, decline] if own and isinstance(decline, str) else own
