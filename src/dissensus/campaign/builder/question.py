"""Form of one question, mode or chatbot, on a page of its own; all three are called questions here."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Final

from dissensus.campaign.builder.chat import CHATBOT, MODE
from dissensus.campaign.builder.field import FieldContext, FormNode, FormValues
from dissensus.campaign.builder.questionnaire import QUESTION
from dissensus.campaign.builder.table import TableField, enter_table
from dissensus.errors import NotFound
from dissensus.schema.definition_errors import DefinitionFault, Path
from dissensus.schema.numbers import parse_digits

LISTS: Final[Mapping[str, tuple[str, TableField]]] = MappingProxyType(
    {
        "questionnaire.questions": ("questions", QUESTION),
        "demographics.questions": ("people", QUESTION),
        "care.survey.questions": ("care", QUESTION),
        "chat.modes": ("kind", MODE),
        "chat.chatbots": ("kind", CHATBOT),
    }
)
"""Step and fields of each list whose rows have pages, by the path of the list."""


def step_of_question(name: str) -> str:
    """Return the step that lists a question, whose name is the path of its list and its index.

    Examples
    --------
    >>> step_of_question("care.survey.questions.2")
    'care'
    """
    return _find_list(name)[0]


def title_of_question(name: str) -> str:
    """Return the title of the page of a question.

    Examples
    --------
    >>> title_of_question("chat.modes.0")
    'Mode'
    """
    return _find_list(name)[1].label


def _find_list(name: str) -> tuple[str, TableField]:
    step_and_field = LISTS.get(name.rpartition(".")[0])
    if step_and_field is None:
        raise NotFound("There is no such list of questions.")
    return step_and_field


def path_of_question(name: str) -> Path:
    """Return the path of a question; empty if the name does not end with an index."""
    step_of_question(name)
    *keys, number = name.split(".")
    index = parse_digits(number)
    return () if index is None else (*keys, index)


def question_faults(faults: Sequence[DefinitionFault], name: str) -> tuple[DefinitionFault, ...]:
    """Return the faults of one question."""
    path = path_of_question(name)
    return tuple(fault for fault in faults if fault.path[: len(path)] == path)


def show_question(definition: Mapping[str, Any], name: str) -> tuple[FormNode, ...]:
    """Return the nodes of the fields of a question."""
    path, context, question = find_question(definition, name)
    inner = FieldContext(name=name, path=path, languages=context.languages, root=definition, scale=context.scale)
    return _find_list(name)[1].show(question, inner).children


def read_question(form: FormValues, definition: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the definition with the question in a form."""
    path, _, question = find_question(definition, name)
    result = deepcopy(dict(definition))
    holder: Any = result
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = _find_list(name)[1].read_keys(form, name, question)
    return result


def find_question(definition: Mapping[str, Any], name: str) -> tuple[Path, FieldContext, Mapping[str, Any]]:
    """Return the path of a question, the context of its questionnaire, and the question."""
    path = path_of_question(name)
    context = FieldContext(name="", path=(), root=definition)
    value: Any = definition
    for part in path:
        known = part in value if isinstance(value, Mapping) else isinstance(value, list) and part in range(len(value))
        if not known:
            break
        context = enter_table(value, context) if isinstance(value, Mapping) else context
        value = value[part]
    else:
        if path and isinstance(value, Mapping):
            return path, context, value
    raise NotFound("There is no such question. It was moved or removed.")
