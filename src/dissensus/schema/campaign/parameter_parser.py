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
        "n": "Each response is asked for alone; for the best of several see best_of_n.",
        "api_key": "Name the variable that holds it: key_variable.",
    }
)


def parse_parameters(table: DefinitionTable) -> Mapping[str, Any]:
    """Parse the parameters of a chatbot; errors are recorded."""
    every = table.get_table("parameters", MAX_PARAMETERS)
    if every is None:
        return MappingProxyType({})
    found = {}
    for key, value in every.data.items():
        fault = RESERVED_PARAMETERS.get(key) or _find_error(key, 0) or _find_error(value, MAX_DEPTH)
        if fault is not None:
            every.add_error(key, f"It is not set here. {fault}" if key in RESERVED_PARAMETERS else fault)
        else:
            found[key] = _freeze(value)
    return MappingProxyType(found)


def _find_error(value: object, depth: int) -> str | None:
    match value:
        case bool():
            return None
        case int() | float():
            return None if abs(value) < 2**63 else "It is no number from -2^63 to 2^63. Write one."
        case str():
            fine = len(value) <= MAX_PARAMETER_LENGTH and find_unstorable_character(value) is None
            return None if fine else f"It is no text of up to {MAX_PARAMETER_LENGTH:,} characters. Shorten it."
        case Mapping() | list() | tuple() if depth:
            inside = [*value, *value.values()] if isinstance(value, Mapping) else value
            return next((fault for one in inside if (fault := _find_error(one, depth - 1)) is not None), None)
        case Mapping() | list() | tuple():
            return f"It nests deeper than {MAX_DEPTH} times. Flatten it."
    given = "a date or a time" if isinstance(value, (date, time)) else describe_type(value)
    return f"It is {given}. Write text, a number, true or false, or lists and tables of them."


def _freeze(value: Any) -> Any:
    """Return a value that cannot be changed, with whole numbers as such: one value has one digest."""
    match value:
        case Mapping():
            return MappingProxyType({str(key): _freeze(one) for key, one in value.items()})
        case list() | tuple():
            return tuple(_freeze(one) for one in value)
        case float() if value.is_integer():
            return int(value)
    return value
