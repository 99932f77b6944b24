"""Parser of model parameters that are passed through to a chatbot."""

from collections.abc import Mapping
from datetime import date, time
from types import MappingProxyType
from typing import Any, Final

from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.questionnaire.faults import describe_type, find_unstorable_character

MAX_PARAMETERS: Final = 100
MAX_DEPTH: Final = 5
MAX_PARAMETER_LENGTH: Final = 10_000
RESERVED_PARAMETERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "model": "Write it in [openai_compatible].",
        "messages": "They are the conversation, and system_prompt before it.",
        "stream": "All responses are streamed.",
        "stream_options": "They ask for the number of tokens.",
        "seed": "Each request has its own.",
        "n": "Each response is a separate request; for the best of several see best_of_n.",
        "api_key": "Name the variable that holds it: key_variable.",
    }
)


def parse_parameters(table: DefinitionTable) -> Mapping[str, Any]:
    """Parse the parameters of a chatbot; errors are recorded."""
    rows = table.get_table("parameters", MAX_PARAMETERS)
    if rows is None:
        return MappingProxyType({})
    parameters = {}
    for key, value in rows.data.items():
        fault = RESERVED_PARAMETERS.get(key) or _find_error(key, 0) or _find_error(value, MAX_DEPTH)
        if fault is not None:
            rows.add_error(key, f"It is not set here. {fault}" if key in RESERVED_PARAMETERS else fault)
        else:
            parameters[key] = _freeze(value)
    return MappingProxyType(parameters)


def _find_error(value: object, depth: int) -> str | None:
    match value:
        case bool():
            return None
        case int() | float():
            return None if abs(value) < 2**63 else "It is out of range. Write a number from -2^63 to 2^63."
        case str():
            valid = len(value) <= MAX_PARAMETER_LENGTH and find_unstorable_character(value) is None
            return (
                None if valid else f"It is not storable text of up to {MAX_PARAMETER_LENGTH:,} characters. Correct it."
            )
        case Mapping() | list() | tuple() if depth:
            parts = [*value, *value.values()] if isinstance(value, Mapping) else value
            return next((fault for part in parts if (fault := _find_error(part, depth - 1)) is not None), None)
        case Mapping() | list() | tuple():
            return f"It nests deeper than {MAX_DEPTH} times. Flatten it."
    description = "a date or a time" if isinstance(value, (date, time)) else describe_type(value)
    return f"It is {description}. Write text, a number, true or false, or lists and tables of them."


def _freeze(value: Any) -> Any:
    """Return an immutable value, with whole floats as integers, so that equal values have one digest."""
    match value:
        case Mapping():
            return MappingProxyType({str(key): _freeze(part) for key, part in value.items()})
        case list() | tuple():
            return tuple(_freeze(part) for part in value)
        case float() if value.is_integer():
            return int(value)
    return value
