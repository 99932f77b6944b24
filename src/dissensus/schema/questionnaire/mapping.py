"""Serialisation of definitions to plain mappings, in the form that the parsers read."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from dissensus.schema.questionnaire.question import Question, When

COUNTED_KINDS = ("single", "likert")
"""Kinds that count towards the overall by default."""


def to_mapping(record: Any) -> dict[str, Any]:
    """Serialise a record to a mapping, without default values.

    Digests therefore stay stable when a field is added.
    """
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    values = {field.name: values[field.name] for field in fields(record) if values[field.name] != _default(field)}
    if isinstance(record, Question):
        values = _without_implied(record, values)
    return {name: _to_plain(value) for name, value in values.items()}


def _default(field: "Field[Any]") -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _without_implied(question: Question, values: dict[str, Any]) -> dict[str, Any]:
    """Leave out the scale of a text, and `in_overall` where it follows from the kind, as in the parser."""
    implied = {"scale": (), "in_overall": question.kind in COUNTED_KINDS}
    values = {**values, "in_overall": question.in_overall}
    return {name: value for name, value in values.items() if name not in implied or value != implied[name]}


def _to_plain(value: Any) -> Any:
    match value:
        case When():
            return {"question": value.question, "is": list(value.answers)}
        case Mapping():
            return {key: _to_plain(part) for key, part in value.items()}
        case tuple():
            return [_to_plain(part) for part in value]
        case str() | bool() | int() | float():
            return value
    return to_mapping(value)
