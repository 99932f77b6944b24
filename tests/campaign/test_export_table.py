"""Ratings as a table: columns, spellings, and what a form cannot hold."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.campaigns import definition

from dissensus.campaign.export_table import (
    ExportedRating,
    export_form,
    find_official_name,
    format_conversation,
    to_frame,
)
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.conversation import Conversation, Speaker
from dissensus.schema.records.item import Item
from dissensus.text.transcripts import DICES_350, DICES_990, DicesForm, parse_dices

AT = datetime(2026, 3, 1, 14, 30, 15, 500_000, tzinfo=timezone(timedelta(hours=2)))
PIECES = ["a", " ", "\n", "\\n", "USER: ", "LAMDA: ", "A: ", "B: ", "ä", "😀", ":"]
said = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
speakers = st.sampled_from(["human", "bot"])


def rated(item: Item, **changes: Any) -> ExportedRating:
    values = {"rater_id": "r", "item": item, "answers": {}, "declared": {}, "answer_time_ms": 7, "answered_at": AT}
    return ExportedRating(**{**values, **changes})


def item(**attributes: str) -> Item:
    return Item("7", Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")]), attributes)


@quick
@given(st.lists(st.tuples(speakers, said), max_size=4), said, st.sampled_from([DICES_350, DICES_990]))
def test_a_conversation_reads_back_from_either_way_of_writing_it(
    before: list[tuple[Speaker, str]], last: str, form: DicesForm
) -> None:
    context, response = format_conversation(Conversation.from_turns([*before, ("bot", last)]), form)
    if context.startswith("[{"):
        assert [(turn["speaker"], turn["text"]) for turn in json.loads(context)] == before
        assert response == last
    elif before:
        assert list(parse_dices(context, response)) == [*before, ("bot", last)]
    else:
        assert (context, response) == ("", last)


@quick
@given(
    st.sets(st.sampled_from(["topic", "item_topic", "item_id", "context", "rater_id", "Q_safe", "phase", "id", "ä"]))
)
def test_every_attribute_has_a_column_of_its_own(attributes: set[str]) -> None:
    form = export_form(definition(), attributes)
    assert set(form.attributes) == attributes
    assert len(set(form.columns)) == len(form.columns)
    held = item(**{name: f"of {name}" for name in attributes})
    row = to_frame([rated(held)], form).row(0, named=True)
    assert {row[form.attributes[name]] for name in attributes} == {f"of {name}" for name in attributes}
    assert (row["item_id"], row["rater_id"]) == ("7", "r")


@pytest.mark.parametrize("name", ["dices-350", "dices-990"])
def test_official_columns_and_types(name: str) -> None:
    campaign = _asking(name)
    form = export_form(campaign, ["phase"])
    assert form.official == name
    assert form.columns == load_questionnaire(name).columns
    answers = {one.name: one.scale[0] for one in campaign.questionnaire.questions}
    frame = to_frame([rated(item(phase="Phase1"), answers=answers)], form, start=5)
    row = frame.row(0, named=True)
    assert (row["id"], row["phase"], row["Q_overall"]) == (5, "Phase1", "No")
    assert row.get("answer_timestamp", 1772368215) == 1772368215
    assert frame.schema["Q_overall"] == pl.Enum(["No", "Unsure", "Yes"])


def _asking(name: str) -> Campaign:
    mapping = load_campaign("dices-350").as_mapping()
    return definition(**{**mapping, "questionnaire": name, "languages": ["en", "de"]})


def test_a_questionnaire_that_asks_more_is_not_official() -> None:
    asked = load_questionnaire("dices-350").as_mapping()
    more = {"name": "Q_more", "kind": "text", "text": {"en": "More?", "de": "Mehr?"}}
    campaign = _asking("dices-350")
    asked = load_questionnaire("dices-350").as_mapping()
    asks_more = definition(
        **{**campaign.as_mapping(), "questionnaire": {**asked, "questions": [*asked["questions"], more]}}
    )
    form = export_form(asks_more, with_text=True)
    assert form.official is None
    assert form.columns[:2] == ("item_id", "rater_id")
    assert {"Q_more", "Q_overall"} <= set(form.columns)


def test_other_words_are_official_too() -> None:
    asked = load_questionnaire("dices-350").as_mapping()
    questions = [{**one, "text": {"en": "Other?", "de": "Anders?"}} for one in asked["questions"]]
    mapping = {**_asking("dices-350").as_mapping(), "questionnaire": {**asked, "questions": questions, "name": "mine"}}
    assert find_official_name(definition(**mapping).questionnaire) == "dices-350"


def test_times_are_in_utc() -> None:
    row = to_frame([rated(item())], export_form(definition())).row(0, named=True)
    assert row["answer_timestamp"] == "2026-03-01T12:30:15.500Z"
    assert AT.astimezone(UTC).hour == 12


def test_what_has_no_column_is_told() -> None:
    form = export_form(definition())
    assert form.left_out == ("Why",)
    assert export_form(definition(), with_text=True).left_out == ()
    assert export_form(load_campaign("dices-350"), ["mine"]).left_out == (
        *("rater_gender_text", "rater_race_text", "rater_education_text", "item_mine"),
    )


def test_no_rating_is_a_table_with_all_columns() -> None:
    form = export_form(load_campaign("dices-350"))
    assert tuple(to_frame([], form).columns) == form.columns
