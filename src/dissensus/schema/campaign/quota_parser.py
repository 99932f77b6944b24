"""From TOML to a quota: what nobody could fill is refused before anybody is asked."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from types import MappingProxyType
from typing import Final

from dissensus.schema.campaign.quota import HOLD, REST, SOURCES, Cell, Groups, Quota
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.ratings.columns import CROSSED

MOST_AXES: Final = 4
MOST_GROUPS: Final = 50
MOST_CELLS: Final = 500
MOST_SEATS: Final = 100_000
LONGEST_HOLD: Final = 60 * 24 * 30
"""Minutes."""

KEYS: Final = ("axes", "seats", "rest", "cells", "margin_percent", "hold_minutes", "source", "balanced")


def quota_from(table: DefinitionTable, demographics: Questionnaire | None, replication: int | None) -> Quota | None:
    """Return the quota that a table describes, None where it cannot be read; what is wrong is noted."""
    table.only(KEYS)
    if demographics is None:
        table.note("", "There is no questionnaire about raters. Give demographics, which ask the axes.")
        return None
    axes = _axes(table, {question.name: question for question in demographics.questions})
    if not axes:
        return None
    found = Quota(
        axes=axes,
        seats=table.number("seats", 10, MOST_SEATS, least=0),
        rest=table.number("rest", 0, MOST_SEATS, least=0),
        cells=_cells(table, axes),
        margin_percent=table.number("margin_percent", 0, 200, least=0),
        hold_minutes=table.number("hold_minutes", HOLD, LONGEST_HOLD),
        source=table.one_of("source", SOURCES, "screener"),
        balanced=table.flag("balanced", default=False),
    )
    _check_rest(table, found, demographics)
    _check_fillable(table, found, replication)
    return found


def _axes(table: DefinitionTable, questions: Mapping[str, Question]) -> Mapping[str, Groups]:
    every = table.table("axes", MOST_AXES)
    if every is None or not every.data:
        if "axes" not in table.wrong:
            table.note("axes", "There is none. Name each axis with its groups: [quota.axes.rater_age].")
        return {}
    axes: dict[str, Groups] = {}
    # In the order of the questions, and groups in that of their answers: databases keep tables in an order of theirs.
    for name in sorted(every.data, key=lambda name: list(questions).index(name) if name in questions else -1):
        question = questions.get(name)
        if question is None:
            every.note(
                name, f"It is not asked.{every.hint(name, list(questions))} Asked are {format_list(list(questions))}."
            )
        elif question.kind == "text" or question.when is not None or not question.required:
            every.note(name, "Not everybody chooses an answer to it. Take a question that all raters must answer.")
        elif question.decline is None:
            every.note(name, 'It cannot be declined. Give it an answer for that: decline = "Prefer not to answer".')
        elif (groups := every.table(name, MOST_GROUPS)) is not None:
            axes[name] = _groups(groups, question)
    names = [CROSSED.join(cell) for cell in product(*axes.values())] if len(axes) == len(every.data) else []
    if len(names) > MOST_CELLS:
        table.note("axes", f"They make {len(names):,} cells, and {MOST_CELLS} are possible. Take fewer groups or axes.")
    if len(set(names)) < len(names):
        table.note("axes", f"Two cells have one name. Leave {CROSSED.strip()} out of the names of groups.")
    return MappingProxyType(axes) if "axes" not in table.wrong and not every.wrong else {}


def _groups(table: DefinitionTable, question: Question) -> Groups:
    groups = {name: table.texts(name, len(question.answers), needed=True) for name in table.data}
    if not groups:
        table.note("", 'It has no group. Name each with its answers: "young" = ["18-24"].')
    if REST in groups:
        table.note(REST, "It is the name of whoever is in no group. Choose another one.")
    for name, answers in groups.items():
        unknown = [one for one in answers if one not in question.answers]
        if unknown:
            hint = table.hint(unknown[0], question.answers)
            table.note(name, f"{format_value(unknown[0])} is no answer.{hint} Answers are {format_list(question.answers)}.")
    twice = [one for one, times in Counter(one for answers in groups.values() for one in answers).items() if times > 1]
    if twice:
        table.note("", f"{format_value(twice[0])} stands in two groups. A rater is in one.")
    place = {answer: place for place, answer in enumerate(question.answers)}
    in_order = sorted(groups, key=lambda name: min((place.get(answer, -1) for answer in groups[name]), default=-1))
    return MappingProxyType({name: groups[name] for name in in_order})


def _cells(table: DefinitionTable, axes: Mapping[str, Groups]) -> tuple[Cell, ...]:
    cells = []
    for one in table.tables("cells", MOST_CELLS):
        one.only(("groups", "seats"))
        groups = one.table("groups")
        if groups is None or set(groups.data) != set(axes):
            one.note("groups", f"Name one group on each axis: {', '.join(axes)}.")
            continue
        named = {axis: groups.one_of(axis, list(axes[axis]), next(iter(axes[axis]))) for axis in axes}
        seats = one.number("seats", 0, MOST_SEATS, least=0)
        if "seats" not in one.data:
            one.note("seats", "It is missing. Write how many raters.")
        cells.append(Cell(groups=MappingProxyType(named), seats=seats))
    twice = [names for names, times in Counter(tuple(cell.groups.items()) for cell in cells).items() if times > 1]
    if twice and not table.wrong:
        table.note("cells", f"{CROSSED.join(group for _, group in twice[0])} stands there twice. Write each cell once.")
    return tuple(cells)


def _check_rest(table: DefinitionTable, quota: Quota, demographics: Questionnaire) -> None:
    """Refuse a quota that leaves nobody a seat who declines, describes themselves or gives several answers."""
    outside: list[str] = []
    for question in demographics.questions:
        known = {answer for answers in quota.axes.get(question.name, {}).values() for answer in answers}
        if question.name in quota.axes:
            outside += [answer for answer in question.answers if answer not in known]
            outside += ["several answers"] * (question.kind == "multiple" and len(quota.axes[question.name]) > 1)
    if outside and not quota.rest:
        table.note(
            "rest",
            f"Nobody has a seat who answers {format_list(list(dict.fromkeys(outside)))}. Give the rest seats, or put the "
            "answers in groups: to decline is no ground to leave somebody out.",
        )


def _check_fillable(table: DefinitionTable, quota: Quota, replication: int | None) -> None:
    total = sum(quota.targets.values())
    if not total:
        table.note("seats", "There is not one seat in all. Give some.")
    if quota.balanced and replication is None:
        table.note("balanced", "Everybody rates all, so that every item is balanced. Set replication, or leave it out.")
    if quota.balanced and replication is not None and total:
        none = [name for name, n in quota.shares(replication).items() if not n and quota.targets[name]]
        if none:
            table.note(
                "balanced",
                f"Of {replication:,} raters of each item {format_list(none)} would have none. Raise replication, or give "
                "the cells seats that are more alike.",
            )
    if replication is not None and total < replication:
        table.note("seats", f"There are {total:,} in all, and each item needs {replication:,} raters. Give more.")
