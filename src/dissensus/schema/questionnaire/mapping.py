"""Serialisation of definitions to plain mappings, in the form that the parsers read."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any

from dissensus.schema.questionnaire.question import Question, When

COUNTED_KINDS = ("single", "likert")
"""Kinds that enter the overall of everything unless they say otherwise."""


def to_mapping(record: Any) -> dict[str, Any]:
    """Serialise a record to a mapping, without default values.

    A field that is added later leaves no trace where it is not used, so that digests stay what they were.
    """
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    kept = {field.name: found[field.name] for field in fields(record) if found[field.name] != _default(field)}
    if isinstance(record, Question):
        kept = _without_implied(record, kept)
    return {name: _value(value) for name, value in kept.items()}


def _default(field: "Field[Any]") -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _without_implied(question: Question, kept: dict[str, Any]) -> dict[str, Any]:
    implied = {"scale": (), "counts": question.kind in COUNTED_KINDS}
    kept = {**kept, "counts": question.counts}
    return {name: value for name, value in kept.items() if name not in implied or value != implied[name]}


def _value(value: Any) -> Any:
    match value:
        case When():
            return {"question": value.question, "is": list(value.answers)}
        case Mapping():
            return {key: _value(one) for key, one in value.items()}
        case tuple():
            return [_value(one) for one in value]
        case str() | bool() | int() | float():
            return value
    return to_mapping(value)
