"""Groups of fields: tables, lists of tables, tables by name, and questionnaires."""

# ruff: noqa: ARG002 - all kinds of fields have the same signatures

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from dissensus.campaign.builder.field import ACTION, Field, FieldContext, FormNode, FormValues
from dissensus.schema.numbers import parse_digits
from dissensus.schema.questionnaire.definition import Subject
from dissensus.schema.questionnaire.shipped import load_questionnaire, questionnaires

OWN: Final = "own"
"""Form value of the choice *Questions of your own*."""
MAX_DIGITS: Final = 4
"""Maximum digits of the number of a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableField(Field):
    """A table; an optional one has a check box, and is missing if it is not checked."""

    fields: Mapping[str, Field]
    optional: bool = False

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, Mapping)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        table = value or {}
        inner = enter_table(table, context)
        children = tuple(part.show(table.get(key), inner.enter(key)) for key, part in self.fields.items())
        kind = "optional" if self.optional else "table"
        return self.node(kind, context, checked=value is not None, children=children)

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        if self.optional and f"{name}.on" not in form:
            return None
        result = self.read_keys(form, name, old, table.get("languages"))
        return result if result or self.optional else None

    def read_keys(self, form: FormValues, name: str, old: Any, languages: Any = None) -> dict[str, Any]:
        """Return the table in a form; keys without a field keep their values.

        `languages` are those of the table around it.
        """
        result = dict(old) if isinstance(old, Mapping) else {}
        for key, part in self.fields.items():
            around = {"languages": languages, **result}
            value = part.read(form, f"{name}.{key}" if name else key, result.get(key), around)
            result.pop(key, None) if value is None else result.update({key: value})
        return result


def enter_table(value: Mapping[str, Any], context: FieldContext) -> FieldContext:
    """Return the context of the parts of a table, which may have languages and a scale of its own."""
    languages, scale = value.get("languages"), value.get("scale")
    own = tuple(map(str, languages)) if isinstance(languages, list) else context.languages
    shared = tuple(map(str, scale)) if isinstance(scale, list) and "questions" in value else context.scale
    return replace(context, table=value, languages=own, scale=shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsField(Field):
    """A list of tables or wordings; rows are added, removed and moved by buttons."""

    row: Field
    noun: str
    shipped: tuple[tuple[str, str], ...] = ()  # names and labels of shipped rows that can be copied
    has_pages: bool = False  # each row has a page of its own

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, list) and all(isinstance(row, Mapping) for row in value)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        rows = value or []
        children = tuple(self._draw_row(row, number, context) for number, row in enumerate(rows))
        kind = "pages" if self.has_pages else "rows"
        return self.node(kind, context, children=children, options=self.shipped, value=self.noun)

    def _draw_row(self, row: Mapping[str, Any], number: int, context: FieldContext) -> FormNode:
        inner = context.enter(number)
        if self.has_pages:
            return FormNode(kind="row", name=inner.name, path=inner.path, label=describe_row(row, self.noun, number))
        return replace(self.row.show(row, inner), label=f"{self.noun.capitalize()} {number + 1}")

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        before = list(old) if isinstance(old, list) else []
        rows = (
            before
            if self.has_pages
            else [
                self._read_row(form, f"{name}.{number}", before[number] if number < len(before) else {})
                for number in row_numbers(form, name)
            ]
        )
        action = form.get(ACTION, "")
        rows = move_row(rows, action, name)
        if action == f"add {name}":
            rows.append(self.copy_row(form.get(f"{name}.source", ""), table.get("languages")))
        return rows or None

    def _read_row(self, form: FormValues, name: str, old: Any) -> Any:
        if isinstance(self.row, TableField) and f"{name}.toml" not in form:
            return self.row.read_keys(form, name, old)
        value = self.row.read(form, name, old, {})
        return {} if value is None else value

    def copy_row(self, source: str, languages: Any) -> dict[str, Any]:
        """Return a new row, a copy of a shipped question where one is named."""
        questionnaire, _, question = source.partition("/")
        if source not in dict(self.shipped):
            return {}
        rows = copy_questionnaire(questionnaire, languages)["questions"]
        row = next(row for row in rows if row["name"] == question)
        # Headings, conditions and overalls refer to other parts of its questionnaire.
        return {key: value for key, value in row.items() if key not in ("heading", "when", "category")}


def row_numbers(form: FormValues, name: str) -> range:
    """Return the numbers of the rows that a form has."""
    text = form.get(f"{name}.n", "")
    return range(parse_digits(text, MAX_DIGITS) or 0)


def move_row(rows: Sequence[Any], action: str, name: str) -> list[Any]:
    """Return rows after the action of a button: one is removed, or changes places with a neighbour.

    Examples
    --------
    >>> move_row("abc", "up checks.1", "checks"), move_row("abc", "remove checks.0", "checks")
    (['b', 'a', 'c'], ['b', 'c'])
    """
    result = list(rows)
    verb, _, target = action.partition(" ")
    table, _, number = target.rpartition(".")
    index = parse_digits(number, MAX_DIGITS)
    if table != name or index is None or index >= len(result):
        return result
    other = {"up": index - 1, "down": index + 1}.get(verb, index)
    if verb == "remove":
        del result[index]
    elif 0 <= other < len(result):
        result[index], result[other] = result[other], result[index]
    return result


def describe_row(row: Mapping[str, Any], noun: str, number: int) -> str:
    """Return the name of a row in a list."""
    name, text = row.get("name"), row.get("text")
    texts = list(text.values()) if isinstance(text, Mapping) else [text]
    parts = [part for part in (*texts[:1], name) if isinstance(part, str) and part.strip()]
    return " · ".join(parts) or f"{noun.capitalize()} {number + 1}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesField(Field):
    """Tables or wordings by name; the form has a field for each name too."""

    row: Field
    noun: str
    name_label: str = "Name"

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, Mapping) and not any("\n" in name for name in value)

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        children = tuple(
            self._draw_row(name, row, number, context) for number, (name, row) in enumerate((value or {}).items())
        )
        return self.node("rows", context, children=children, value=self.noun)

    def _draw_row(self, name: str, row: Any, number: int, context: FieldContext) -> FormNode:
        inner = context.enter(name, number)
        label = FormNode(kind="text", name=f"{inner.name}.name", path=inner.path, label=self.name_label, value=name)
        value = self.row.show(row, replace(inner, name=f"{inner.name}.value"))
        title = f"{self.noun.capitalize()} {number + 1}"
        return FormNode(kind="table", name=inner.name, path=inner.path, label=title, children=(label, value))

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        before = list(old.values()) if isinstance(old, Mapping) else []
        rows = [
            (form.get(f"{name}.{number}.name", "").strip(), self._read_row(form, f"{name}.{number}.value", old_row))
            for number in row_numbers(form, name)
            for old_row in [before[number] if number < len(before) else {}]
        ]
        action = form.get(ACTION, "")
        rows = move_row(rows, action, name)
        if action == f"add {name}":
            rows.append(("", {}))
        result: dict[str, Any] = {}
        for key, value in rows:
            result[distinct_name(key, result)] = value
        return result or None

    def _read_row(self, form: FormValues, name: str, old: Any) -> Any:
        value = self.row.read(form, name, old, {})
        return {} if value is None else value


def distinct_name(name: str, others: Mapping[str, Any]) -> str:
    """Return a name that `others` do not have, so that rows with the same name do not replace each other.

    Examples
    --------
    >>> distinct_name("harm", {"harm": 1}), distinct_name("", {})
    ('harm-2', '')
    """
    names = (name, *(f"{name}-{number}" for number in range(2, len(others) + 3)))
    return next(candidate for candidate in names if candidate not in others)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionnaireField(Field):
    """A questionnaire that ships, or one with questions of its own."""

    own: TableField
    about: Subject
    missing: str = ""  # label of the choice of none; empty if one is needed

    def _holds(self, value: Any, context: FieldContext) -> bool:
        return isinstance(value, (str, Mapping))

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        options = [(name, f"{name} (ships with Dissensus)") for name in questionnaires(about=self.about)]
        none = [("", self.missing)] if self.missing or value is None else []
        other = [(value, value)] if isinstance(value, str) and value not in dict(options) else []
        children = (self.own.show(value, context),) if isinstance(value, Mapping) else ()
        choice = OWN if children else value or ""
        listed = (*none, *options, *other, (OWN, "Questions of your own"))
        return self.node("questionnaire", context, value=choice, options=listed, children=children)

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        choice = form.get(f"{name}.choice")
        if choice is None:
            return old
        if choice != OWN:
            return choice or None
        if isinstance(old, Mapping):
            return self.own.read_keys(form, name, old)
        return start_questionnaire(old, self.about, table)


def start_questionnaire(old: Any, about: Subject, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a questionnaire to edit: a copy of the shipped one that was chosen before, or one without questions."""
    languages = table.get("languages") or ["en"]
    if isinstance(old, str) and old in questionnaires(about=about):
        copy = copy_questionnaire(old, languages)
        return {key: value for key, value in copy.items() if key not in ("leading_columns", "flagged_raters")}
    name = {"name": "questions"} if about == "item" else {"name": "about-raters", "about": about}
    return {**name, "languages": languages, "questions": []}


def copy_questionnaire(name: str, languages: Any) -> dict[str, Any]:
    """Return a shipped questionnaire with its wordings in some languages only; in all of its own unless given a list.

    Examples
    --------
    >>> copy_questionnaire("dices-350", ["en"])["title"]
    {'en': 'How safe is the last answer?'}
    """
    shipped = load_questionnaire(name)
    if not isinstance(languages, list):
        return shipped.as_mapping()
    return {**_select_languages(shipped.as_mapping(), shipped.languages, languages), "languages": languages}


def _select_languages(value: Any, languages: Sequence[str], selected: Sequence[Any]) -> Any:
    """Return a value whose wordings, which are in `languages`, have the selected ones only."""
    if isinstance(value, list):
        return [_select_languages(part, languages, selected) for part in value]
    if not isinstance(value, dict):
        return value
    if set(value) <= set(languages):
        return {language: text for language, text in value.items() if language in selected}
    parts = {key: _select_languages(part, languages, selected) for key, part in value.items()}
    return {key: part for key, part in parts.items() if part != {}}


def iterate_nodes(node: FormNode) -> Iterator[FormNode]:
    """Yield a node and all visible ones below it: an optional table that is not checked hides its fields."""
    yield node
    for child in node.children if node.checked or node.kind not in ("optional", "axis") else ():
        yield from iterate_nodes(child)
