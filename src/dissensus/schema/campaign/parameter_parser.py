"""What is sent along with every request to a chatbot: plain values, under names that are not ours to set."""

from collections.abc import Mapping
from datetime import date, time
from types import MappingProxyType
from typing import Any, Final

from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.questionnaire.faults import describe_type, find_unstorable_character

MOST_PARAMETERS: Final = 100
DEEPEST: Final = 5
LONGEST_VALUE: Final = 10_000
RESERVED: Final[Mapping[str, str]] = MappingProxyType(
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


def parameters_from(table: DefinitionTable) -> Mapping[str, Any]:
    """Return the parameters of a chatbot; what is wrong is noted."""
    every = table.table("parameters", MOST_PARAMETERS)
    if every is None:
        return MappingProxyType({})
    found = {}
    for key, value in every.data.items():
        fault = RESERVED.get(key) or _fault(key, 0) or _fault(value, DEEPEST)
        if fault is not None:
            every.note(key, f"It is not set here. {fault}" if key in RESERVED else fault)
        else:
            found[key] = _frozen(value)
    return MappingProxyType(found)


def _fault(value: object, depth: int) -> str | None:
    match value:
        case bool():
            return None
        case int() | float():
            return None if abs(value) < 2**63 else "It is no number from -2^63 to 2^63. Write one."
        case str():
            fine = len(value) <= LONGEST_VALUE and find_unstorable_character(value) is None
            return None if fine else f"It is no text of up to {LONGEST_VALUE:,} characters. Shorten it."
        case Mapping() | list() | tuple() if depth:
            inside = [*value, *value.values()] if isinstance(value, Mapping) else value
            return next((fault for one in inside if (fault := _fault(one, depth - 1)) is not None), None)
        case Mapping() | list() | tuple():
            return f"It nests deeper than {DEEPEST} times. Flatten it."
    given = "a date or a time" if isinstance(value, (date, time)) else describe_type(value)
    return f"It is {given}. Write text, a number, true or false, or lists and tables of them."


def _frozen(value: Any) -> Any:
    """Return a value that cannot be changed, with whole numbers as such: one value has one digest."""
    match value:
        case Mapping():
            return MappingProxyType({str(key): _frozen(one) for key, one in value.items()})
        case list() | tuple():
            return tuple(_frozen(one) for one in value)
        case float() if value.is_integer():
            return int(value)
    return value
