"""Form of one question of a questionnaire."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

from dissensus.campaign.builder.field import FormNode, FormValues, Place
from dissensus.campaign.builder.questionnaire import QUESTION
from dissensus.campaign.builder.table import enter_table
from dissensus.errors import NotFound
from dissensus.schema.definition_errors import DefinitionFault, Path

STEP_OF_LIST: Final[Mapping[str, str]] = MappingProxyType(
    {"questionnaire.questions": "questions", "demographics.questions": "people", "care.survey.questions": "care"}
)
"""Step of each list of questions."""


def step_of_question(name: str) -> str:
    """Return the step that lists a question.

    Examples
    --------
    >>> step_of_question("care.survey.questions.2")
    'care'
    """
    step = STEP_OF_LIST.get(name.rpartition(".")[0])
    if step is None:
        raise NotFound("There is no such list of questions.")
    return step


def path_of_question(name: str) -> Path:
    """Return the path of a question."""
    step_of_question(name)
    *keys, number = name.split(".")
    return (*keys, int(number)) if number.isdecimal() and len(number) < 6 else ()


def question_faults(faults: Sequence[DefinitionFault], name: str) -> tuple[DefinitionFault, ...]:
    """Return the faults of one question."""
    path = path_of_question(name)
    return tuple(fault for fault in faults if fault.path[: len(path)] == path)


def show_question(definition: Mapping[str, Any], name: str) -> tuple[FormNode, ...]:
    """Return the fields of a question."""
    path, place, question = find_question(definition, name)
    inner = Place(name=name, path=path, languages=place.languages, root=definition, scale=place.scale)
    return QUESTION.show(question, inner).children


def read_question(form: FormValues, definition: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the definition with a question as it was typed."""
    path, _, question = find_question(definition, name)
    result = deepcopy(dict(definition))
    holder: Any = result
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = QUESTION.read_keys(form, name, question)
    return result


def find_question(definition: Mapping[str, Any], name: str) -> tuple[Path, Place, Mapping[str, Any]]:
    """Return the path of a question, the place of its questionnaire, and the question."""
    path = path_of_question(name)
    place = Place(name="", path=(), root=definition)
    value: Any = definition
    for part in path:
        known = part in value if isinstance(value, Mapping) else isinstance(value, list) and part in range(len(value))
        if not known:
            break
        place = enter_table(value, place) if isinstance(value, Mapping) else place
        value = value[part]
    else:
        if path and isinstance(value, Mapping):
            return path, place, value
    raise NotFound("There is no such question. It was moved or removed.")
