"""Presentation of an item to a judge: order of questions and answers, wording, length of the response."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.questionnaire.question import Question

Probe = Literal["repeat", "options", "questions", "wording", "length", "responses"]
PROBES: Final[tuple[Probe, ...]] = get_args(Probe)
"""Changes of one thing in a request: ``repeat`` changes the seed, ``options`` the order of answers, ``questions`` the
order of questions, ``wording`` the instructions, ``length`` the length of the response, and ``responses`` the order of
the two responses of a pair."""
ALL: Final = "all"
N_WORDINGS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """Presentation of an item in one request."""

    questions: tuple[str, ...]  # Names in the order in which they are asked
    is_reversed: bool = False  # True if the answers of each question are listed from last to first
    wording: int = 0  # Number of the wording of the instructions
    is_lengthened: bool = False  # True if neutral sentences follow the response
    is_swapped: bool = False  # True if response B of a pair stands first


def check_probes(names: Sequence[str]) -> tuple[Probe, ...]:
    """Return the named probes in their order; ``all`` names every one."""
    for name in names:
        if name not in (*PROBES, ALL):
            raise InvalidInput(
                f"{format_value(name)} is not a probe; probes are {format_list([*PROBES, ALL])}."
                f"{suggest(name, [*PROBES, ALL])}"
            )
    return PROBES if ALL in names else tuple(name for name in PROBES if name in names)


def draw_presentation(
    questions: Sequence[Question], random: np.random.Generator, *, is_pair: bool = False
) -> Presentation:
    """Draw the order of questions, answers and responses; a question that depends on another one follows it."""
    order = _shuffle_questions(questions, random)
    is_reversed = bool(random.integers(2))
    return Presentation(
        questions=order, is_reversed=is_reversed, is_swapped=bool(random.integers(2)) if is_pair else False
    )


def change_presentation(
    presentation: Presentation, probe: Probe, questions: Sequence[Question], random: np.random.Generator
) -> Presentation:
    """Return a presentation in which one thing differs."""
    match probe:
        case "options":
            return replace(presentation, is_reversed=not presentation.is_reversed)
        case "questions":
            return replace(presentation, questions=_reverse_questions(presentation.questions, questions))
        case "wording":
            return replace(presentation, wording=1 + int(random.integers(N_WORDINGS - 1)))
        case "length":
            return replace(presentation, is_lengthened=True)
        case "responses":
            return replace(presentation, is_swapped=not presentation.is_swapped)
    return presentation


def _shuffle_questions(questions: Sequence[Question], random: np.random.Generator) -> tuple[str, ...]:
    """Return names in random order of blocks, each a question with those that depend on it."""
    blocks = _list_blocks(questions)
    order = random.permutation(len(blocks))
    return tuple(name for number in order for name in blocks[number])


def _reverse_questions(order: Sequence[str], questions: Sequence[Question]) -> tuple[str, ...]:
    blocks = {block[0]: block for block in _list_blocks(questions)}
    return tuple(name for first in reversed(order) if first in blocks for name in blocks[first])


def _list_blocks(questions: Sequence[Question]) -> list[tuple[str, ...]]:
    blocks: dict[str, list[str]] = {}
    root: dict[str, str] = {}
    for question in questions:
        condition = None if question.when is None else root.get(question.when.question)
        root[question.name] = condition or question.name
        blocks.setdefault(root[question.name], []).append(question.name)
    return [tuple(names) for names in blocks.values()]
