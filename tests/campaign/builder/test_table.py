"""Tables in the forms of the campaign builder."""

from typing import Any

import pytest

from dissensus.campaign.builder.field import FormNode, TextField
from dissensus.campaign.builder.table import NamesField, iterate_nodes

TOPICS = NamesField(label="Topics", row=TextField(label="Text"), noun="topic")
FORM = {"topics.n": "2", **{f"topics.{n}.{key}": f"{key} {n}" for n in range(2) for key in ("name", "value")}}


@pytest.mark.parametrize("old", [None, {}, {"name 0": "value"}, {"name 0": "", "name 1": "", "name 2": ""}])
def test_a_form_may_have_other_numbers_of_rows_than_the_draft(old: Any) -> None:
    assert TOPICS.read(FORM, "topics", old, {}) == {"name 0": "value 0", "name 1": "value 1"}


@pytest.mark.parametrize(
    ("kind", "checked", "is_hidden"),
    [("optional", False, True), ("optional", True, False), ("axis", False, True), ("table", False, False)],
)
def test_fields_below_a_box_that_is_not_checked_are_hidden(kind: str, checked: bool, is_hidden: bool) -> None:
    seats = FormNode(kind="number", name="quota.seats", path=("quota", "seats"), label="Seats")
    quota = FormNode(kind=kind, name="quota", path=("quota",), label="Quota", checked=checked, children=(seats,))
    assert list(iterate_nodes(quota)) == ([quota] if is_hidden else [quota, seats])
