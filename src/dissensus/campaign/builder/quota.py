"""Fields of a quota: groups of answers on each axis, and seats of single cells."""

# ruff: noqa: ARG002 - all kinds of fields have the same signatures

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from dissensus.campaign.builder.field import Field, FieldContext, FormNode, FormValues, parse_number, part_of
from dissensus.schema.campaign.quota_parser import MAX_CELLS
from dissensus.schema.questionnaire.shipped import load_questionnaire, questionnaires
from dissensus.schema.ratings.columns import CROSSED


@dataclass(frozen=True, slots=True, kw_only=True)
class AxesField(Field):
    """Groups of the answers to questions about raters; an answer without a group counts to the rest."""

    def _holds(self, value: Any, context: FieldContext) -> bool:
        questions = axis_questions(context.root)
        return isinstance(value, Mapping) and all(
            axis in questions and has_disjoint_groups(groups, questions[axis]) for axis, groups in value.items()
        )

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        children = [
            self._draw_axis(axis, answers, (value or {}).get(axis), context)
            for axis, answers in axis_questions(context.root).items()
        ]
        return self.node("axes", context, children=tuple(children))

    def _draw_axis(self, axis: str, answers: tuple[str, ...], groups: Any, context: FieldContext) -> FormNode:
        inner = context.enter(axis)
        names = {answer: group for group, listed in (groups or {}).items() for answer in listed}
        # A new axis begins with a group for each answer except the last one, which declines.
        names = dict.fromkeys(answers, "") | (names if groups else {answer: answer for answer in answers[:-1]})
        fields = tuple(
            FormNode(kind="group", name=f"{inner.name}.{number}", path=inner.path, label=answer, value=names[answer])
            for number, answer in enumerate(answers)
        )
        return FormNode(
            kind="axis", name=inner.name, path=inner.path, label=axis, checked=groups is not None, children=fields
        )

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        if f"{name}.shown" not in form:
            return old
        checked = [key.removesuffix(".on") for key in part_of(form, name) if key.endswith(".on")]
        return {axis.removeprefix(f"{name}."): read_groups(form, axis) for axis in checked} or None


def axis_questions(root: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the answers to the questions about raters that can be axes: required choices that may be declined."""
    value = root.get("demographics")
    if isinstance(value, str) and value in questionnaires(about="rater"):
        value = load_questionnaire(value).as_mapping()
    if not isinstance(value, Mapping) or not isinstance(value.get("questions"), list):
        return {}
    axes = {}
    for question in value["questions"]:
        if isinstance(question, Mapping) and question.get("required", True) and "when" not in question:
            scale, decline = question.get("scale", value.get("scale")), question.get("decline")
            if isinstance(scale, list) and isinstance(decline, str) and question.get("kind") != "text":
                axes[str(question.get("name"))] = (*map(str, scale), decline)
    return axes


def has_disjoint_groups(groups: Any, answers: tuple[str, ...]) -> bool:
    """Return whether no answer is in two groups, and all are among the answers of the question."""
    if not isinstance(groups, Mapping) or not all(isinstance(listed, list) and listed for listed in groups.values()):
        return False
    listed = [answer for group in groups.values() for answer in group]
    return len(set(map(str, listed))) == len(listed) and set(map(str, listed)) <= set(answers)


def read_groups(form: FormValues, name: str) -> dict[str, list[str]]:
    """Return the answers in each group of an axis."""
    groups: dict[str, list[str]] = {}
    for number in range(len(part_of(form, name))):
        group = form.get(f"{name}.{number}", "").strip()
        if group:
            groups.setdefault(group, []).append(form.get(f"{name}.{number}.answer", ""))
    return groups


@dataclass(frozen=True, slots=True, kw_only=True)
class CellsField(Field):
    """Seats of single cells; a blank cell has as many as every cell."""

    def _holds(self, value: Any, context: FieldContext) -> bool:
        cells = [dict(cell) for cell in cells_of(context.table)]
        return isinstance(value, list) and all(
            isinstance(cell, Mapping) and set(cell) == {"groups", "seats"} and cell["groups"] in cells for cell in value
        )

    def _draw(self, value: Any, context: FieldContext) -> FormNode:
        seats = {json.dumps(cell["groups"], sort_keys=True): str(cell["seats"]) for cell in value or ()}
        children = []
        for number, cell in enumerate(cells_of(context.table)):
            key, inner = json.dumps(dict(cell), sort_keys=True), context.enter(number)
            label = CROSSED.join(group for _, group in cell)
            children.append(
                FormNode(
                    kind="cell", name=inner.name, path=context.path, label=label, value=seats.get(key, ""), hint=key
                )
            )
        return self.node("cells", context, children=tuple(children))

    def _parse(self, form: FormValues, name: str, old: Any, table: Mapping[str, Any]) -> Any:
        if f"{name}.shown" not in form:
            return old
        allowed = [dict(cell) for cell in cells_of(table)]
        cells = []
        for number in range(MAX_CELLS):
            groups, seats = form.get(f"{name}.{number}.groups"), parse_number(form.get(f"{name}.{number}", ""))
            if groups is None:
                break
            chosen = next((cell for cell in allowed if json.dumps(cell, sort_keys=True) == groups), None)
            if chosen is not None and seats is not None:
                cells.append({"groups": chosen, "seats": seats})
        return cells or None


def cells_of(quota: Mapping[str, Any]) -> list[tuple[tuple[str, str], ...]]:
    """Return the cells of a quota, each as pairs of axis and group; none if there are more than `MAX_CELLS`."""
    axes = quota.get("axes")
    if not isinstance(axes, Mapping) or not all(isinstance(groups, Mapping) and groups for groups in axes.values()):
        return []
    n_cells = 1
    for groups in axes.values():
        n_cells *= len(groups)
    names = [[(axis, str(group)) for group in groups] for axis, groups in axes.items()]
    return list(product(*names)) if axes and n_cells <= MAX_CELLS else []
