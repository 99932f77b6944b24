"""Tables in the forms of the campaign builder."""

from typing import Any

import pytest

from dissensus.campaign.builder.field import TextField
from dissensus.campaign.builder.table import NamesField

TOPICS = NamesField(label="Topics", row=TextField(label="Text"), noun="topic")
FORM = {"topics.n": "2", **{f"topics.{n}.{key}": f"{key} {n}" for n in range(2) for key in ("name", "value")}}


@pytest.mark.parametrize("old", [None, {}, {"name 0": "value"}, {"name 0": "", "name 1": "", "name 2": ""}])
def test_a_form_may_have_other_numbers_of_rows_than_the_draft(old: Any) -> None:
    assert TOPICS.read(FORM, "topics", old, {}) == {"name 0": "value 0", "name 1": "value 1"}
