"""Parser of the table ``[quota]`` of a campaign; quotas that cannot be filled are rejected."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Final

from dissensus.schema.campaign.quota import DEFAULT_HOLD, REST, SOURCES, Groups, Quota, QuotaCell
from dissensus.schema.definition_table import DefinitionTable
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.ratings.columns import CROSSED

MAX_AXES: Final = 4
MAX_GROUPS: Final = 50
MAX_CELLS: Final = 500
MAX_SEATS: Final = 100_000
MAX_MARGIN: Final = 200
"""Percent of the target of a cell."""
MAX_HOLD: Final = 60 * 24 * 30
"""Minutes for which the seat of an idle rater may be held: 30 days."""

KEYS: Final = ("axes", "seats", "rest", "cells", "margin_percent", "hold_minutes", "source", "balanced")


def parse_quota(table: DefinitionTable, demographics: Questionnaire | None, replication: int | None) -> Quota | None:
    """Parse the table ``[quota]``, None if it is invalid; errors are recorded."""
    table.check_keys(KEYS)
    if demographics is None:
        table.add_error("", "There is no questionnaire about raters. Add demographics with questions for the axes.")
        return None
    axes = _axes(table, {question.name: question for question in demographics.questions})
    if not axes:
        return None
    quota = Quota(
        axes=axes,
        seats=table.get_number("seats", 10, MAX_SEATS, least=0),
        rest=table.get_number("rest", 0, MAX_SEATS, least=0),
        cells=_cells(table, axes),
        margin_percent=table.get_number("margin_percent", 0, MAX_MARGIN, least=0),
        hold_minutes=table.get_number("hold_minutes", DEFAULT_HOLD, MAX_HOLD),
        source=table.get_choice("source", SOURCES, "screener"),
        balanced=table.get_flag("balanced", default=False),
    )
    _check_rest(table, quota, demographics)
    _check_fillable(table, quota, replication)
    return quota


def _axes(table: DefinitionTable, questions: Mapping[str, Question]) -> Mapping[str, Groups]:
    rows = table.get_table("axes", MAX_AXES)
    if rows is None or not rows.data:
        if "axes" not in table.invalid_keys:
            table.add_error("axes", "There is none. Name each axis with its groups: [quota.axes.rater_age].")
        return {}
    axes: dict[str, Groups] = {}
    order = {name: index for index, name in enumerate(questions)}
    # Sorted by question, and groups by answer, since databases do not keep the order of keys.
    for name in sorted(rows.data, key=lambda axis: order.get(axis, -1)):
        question = questions.get(name)
        if question is None:
            rows.add_error(
                name,
                f"It is not asked.{rows.suggest(name, list(questions))} Asked are {format_list(list(questions))}.",
            )
        elif question.kind == "text" or question.when is not None or not question.required:
            rows.add_error(name, "Not everybody chooses an answer to it. Take a question that all raters must answer.")
        elif question.decline is None:
            rows.add_error(name, 'It cannot be declined. Give it an answer for that: decline = "Prefer not to answer".')
        elif (groups := rows.get_table(name, MAX_GROUPS)) is not None:
            axes[name] = _groups(groups, question)
    if len(axes) == len(rows.data):
        _check_cell_names(table, axes)
    valid = "axes" not in table.invalid_keys and not rows.invalid_keys and all(axes.values())
    return MappingProxyType(axes) if valid else {}


def _check_cell_names(table: DefinitionTable, axes: Mapping[str, Groups]) -> None:
    """Record too many cells, or two with one name."""
    # Counted before they are listed: four axes of fifty groups make six million.
    n_cells = prod(map(len, axes.values()))
    if n_cells > MAX_CELLS:
        table.add_error("axes", f"They make {n_cells:,} cells, and {MAX_CELLS} are possible. Use fewer groups or axes.")
    elif len({CROSSED.join(cell) for cell in product(*axes.values())}) < n_cells:
        table.add_error("axes", f"Two cells have one name. Leave {CROSSED.strip()} out of the names of groups.")


def _groups(table: DefinitionTable, question: Question) -> Groups:
    groups = {name: table.get_texts(name, len(question.answers), needed=True) for name in table.data}
    if not groups:
        table.add_error("", 'It has no group. Name each with its answers: "young" = ["18-24"].')
    if REST in groups:
        table.add_error(REST, "It is the name of the cell of raters in no group. Choose another name.")
    for name, answers in groups.items():
        unknown = [answer for answer in answers if answer not in question.answers]
        if unknown:
            hint = table.suggest(unknown[0], question.answers)
            table.add_error(
                name, f"{format_value(unknown[0])} is not an answer.{hint} Answers are {format_list(question.answers)}."
            )
    counts = Counter(answer for answers in groups.values() for answer in answers)
    duplicates = [answer for answer, count in counts.items() if count > 1]
    if duplicates:
        table.add_error("", f"{format_value(duplicates[0])} is in two groups. Leave it in one.")
    index = {answer: i for i, answer in enumerate(question.answers)}
    names = sorted(groups, key=lambda name: min((index.get(answer, -1) for answer in groups[name]), default=-1))
    return MappingProxyType({name: groups[name] for name in names})


def _cells(table: DefinitionTable, axes: Mapping[str, Groups]) -> tuple[QuotaCell, ...]:
    cells = []
    for row in table.get_tables("cells", MAX_CELLS):
        row.check_keys(("groups", "seats"))
        groups = row.get_table("groups")
        if groups is None or set(groups.data) != set(axes):
            row.add_error("groups", f"Name one group on each axis: {', '.join(axes)}.")
            continue
        choices = {axis: groups.get_choice(axis, list(axes[axis]), next(iter(axes[axis]))) for axis in axes}
        seats = row.get_number("seats", 0, MAX_SEATS, least=0)
        if "seats" not in row.data:
            row.add_error("seats", "It is missing. Write how many raters.")
        cells.append(QuotaCell(groups=MappingProxyType(choices), seats=seats))
    counts = Counter(tuple(cell.groups.items()) for cell in cells)
    duplicates = [groups for groups, count in counts.items() if count > 1]
    if duplicates and not table.invalid_keys:
        table.add_error(
            "cells", f"{CROSSED.join(group for _, group in duplicates[0])} is listed twice. Write each cell once."
        )
    return tuple(cells)


def _check_rest(table: DefinitionTable, quota: Quota, demographics: Questionnaire) -> None:
    """Record a quota without seats for raters who decline, describe themselves or give several answers."""
    outside: list[str] = []
    for question in demographics.questions:
        grouped = {answer for answers in quota.axes.get(question.name, {}).values() for answer in answers}
        if question.name in quota.axes:
            outside += [answer for answer in question.answers if answer not in grouped]
            outside += ["several answers"] * (question.kind == "multiple" and len(quota.axes[question.name]) > 1)
    if outside and not quota.rest:
        table.add_error(
            "rest",
            f"There is no seat for raters who answer {format_list(list(dict.fromkeys(outside)))}. Give the rest seats, "
            "or put the answers in groups: declining must not exclude a rater.",
        )


def _check_fillable(table: DefinitionTable, quota: Quota, replication: int | None) -> None:
    """Record a quota without seats, with too few for the replication, or that cannot be balanced."""
    total = sum(quota.targets.values())
    if not total:
        table.add_error("seats", "There are no seats. Give some.")
    if quota.balanced and replication is None:
        table.add_error(
            "balanced", "All raters rate all items, so every item is balanced. Set replication, or leave it out."
        )
    if quota.balanced and replication is not None and total:
        empty = [name for name, n in quota.shares(replication).items() if not n and quota.targets[name]]
        if empty:
            table.add_error(
                "balanced",
                f"Of {replication:,} raters of each item {format_list(empty)} would have none. Raise replication, or "
                "give the cells more similar numbers of seats.",
            )
    if replication is not None and total < replication:
        table.add_error("seats", f"There are {total:,} in all, and each item needs {replication:,} raters. Give more.")
