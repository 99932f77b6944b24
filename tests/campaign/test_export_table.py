"""Ratings tables of exports: columns, types and formats."""

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick
from tests.support.campaigns import definition

from dissensus.campaign.corrections import SubmissionTimes
from dissensus.campaign.export_table import (
    ExportedRating,
    export_form,
    find_official_name,
    format_conversation,
    to_frame,
)
from dissensus.files.items import read_items
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.conversation import Conversation, Speaker
from dissensus.schema.records.item import Item
from dissensus.text.transcripts import DICES_350, DICES_990, DicesForm, parse_dices

AT = datetime(2026, 3, 1, 14, 30, 15, 500_000, tzinfo=timezone(timedelta(hours=2)))
PIECES = ["a", " ", "\n", "\\n", "USER: ", "LAMDA: ", "A: ", "B: ", "ä", "😀", ":"]
texts = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
speakers = st.sampled_from(["human", "bot", "system", "tool"])


def make_rating(item: Item, **changes: Any) -> ExportedRating:
    times = SubmissionTimes(answer_time_ms=7, open_time_ms=None, answered_at=AT)
    values = {"rater_id": "r", "item": item, "answers": {}, "declared": {}, "times": times}
    return ExportedRating(**{**values, **changes})


def make_item(**attributes: str) -> Item:
    return Item("7", Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")]), attributes)


@quick
@given(st.lists(st.tuples(speakers, texts), max_size=4), texts, st.sampled_from([DICES_350, DICES_990]))
def test_a_conversation_survives_both_formats(
    context_turns: list[tuple[Speaker, str]], last: str, form: DicesForm
) -> None:
    context, response = format_conversation(Conversation.from_turns([*context_turns, ("bot", last)]), form)
    if context.startswith("[{"):
        assert [(turn["speaker"], turn["text"]) for turn in json.loads(context)] == context_turns
        assert response == last
    elif context_turns:
        assert list(parse_dices(context, response)) == [*context_turns, ("bot", last)]
    else:
        assert (context, response) == ("", last)


@quick
@given(
    st.sets(st.sampled_from(["topic", "item_topic", "item_id", "context", "rater_id", "Q_safe", "phase", "id", "ä"]))
)
def test_every_attribute_has_a_distinct_column(attributes: set[str]) -> None:
    form = export_form(definition(), attributes)
    assert set(form.attributes) == attributes
    assert len(set(form.columns)) == len(form.columns)
    labelled_item = make_item(**{name: f"of {name}" for name in attributes})
    row = to_frame([make_rating(labelled_item)], form).row(0, named=True)
    assert {row[form.attributes[name]] for name in attributes} == {f"of {name}" for name in attributes}
    assert (row["item_id"], row["rater_id"]) == ("7", "r")


def test_an_attribute_with_the_name_of_a_column_keeps_it() -> None:
    form = export_form(definition(), {"a", "item_a"})
    assert form.attributes == {"item_a": "item_a", "a": "item_item_a"}


@pytest.mark.parametrize(("name", "moment"), [("dices-350", 1772368215), ("dices-990", None)])
def test_official_columns_and_types(name: str, moment: int | None) -> None:
    campaign = make_campaign(name)
    form = export_form(campaign, ["phase"])
    assert form.official == name
    assert form.columns == (*load_questionnaire(name).columns, "open_time_ms")
    answers = {question.name: question.scale[0] for question in campaign.questionnaire.questions}
    frame = to_frame([make_rating(make_item(phase="Phase1"), answers=answers)], form, start=5)
    row = frame.row(0, named=True)
    assert (row["id"], row["phase"], row["Q_overall"]) == (5, "Phase1", "No")
    assert row.get("answer_timestamp") == moment
    assert frame.schema["Q_overall"] == pl.Enum(["No", "Unsure", "Yes"])


def make_campaign(name: str) -> Campaign:
    mapping = load_campaign("dices-350").as_mapping()
    return definition(**{**mapping, "questionnaire": name, "languages": ["en", "de"]})


@pytest.mark.parametrize(
    ("named", "group", "raw"),
    [
        (("White",), "White", '["White"]'),
        (("Asian/Asian subcontinent", "White"), "Multiracial", '["Asian/Asian subcontinent", "White"]'),
        (("Prefer not to answer",), "Prefer not to answer", '["Prefer not to answer"]'),
        ("White", "White", "White"),
        (None, None, None),
    ],
)
def test_several_origins_are_one_group_beside_what_was_named(named: Any, group: str | None, raw: str | None) -> None:
    declared = {"rater_locale": "India", **({} if named is None else {"rater_race": named})}
    rating = make_rating(make_item(), declared=declared)
    row = to_frame([rating], export_form(load_campaign("dices-990"))).row(0, named=True)
    assert (row["rater_locale"], row["rater_race"], row["rater_race_raw"]) == ("India", group, raw)


def test_the_phase_of_the_campaign_is_that_of_items_without_one() -> None:
    ratings = [make_rating(make_item()), make_rating(make_item(phase="Phase2"))]
    assert to_frame(ratings, export_form(load_campaign("dices-990"), ["phase"]))["phase"].to_list() == [
        "Phase1",
        "Phase2",
    ]
    other = export_form(definition(phase="Pilot"))
    assert to_frame(ratings[:1], other)["phase"].to_list() == ["Pilot"]
    assert "phase" not in export_form(definition()).columns


def test_a_questionnaire_with_another_question_is_not_official() -> None:
    questionnaire = load_questionnaire("dices-350").as_mapping()
    question = {"name": "Q_more", "kind": "text", "text": {"en": "More?", "de": "Mehr?"}}
    longer = {**questionnaire, "questions": [*questionnaire["questions"], question]}
    campaign = definition(**{**make_campaign("dices-350").as_mapping(), "questionnaire": longer})
    form = export_form(campaign, with_text=True)
    assert form.official is None
    assert form.columns[:2] == ("item_id", "rater_id")
    assert {"Q_more", "Q_overall"} <= set(form.columns)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Q_other"},
        {"scale": ("No", "Yes")},
        {"kind": "multiple"},
        {"self_describe": "Yes"},
        {"decline": "Prefer not to answer"},
    ],
    ids=str,
)
def test_a_questionnaire_with_a_changed_question_is_not_official(change: dict[str, Any]) -> None:
    questionnaire = load_questionnaire("dices-350")
    first, *others = questionnaire.questions
    changed = replace(questionnaire, questions=(replace(first, **change), *others))
    assert find_official_name(questionnaire) == "dices-350"
    assert find_official_name(changed) is None
    assert find_official_name(replace(questionnaire, overalls={})) is None


def test_other_wordings_are_official() -> None:
    questionnaire = load_questionnaire("dices-350").as_mapping()
    questions = [{**question, "text": {"en": "Other?", "de": "Anders?"}} for question in questionnaire["questions"]]
    reworded = {**questionnaire, "questions": questions, "name": "mine"}
    campaign = definition(**{**make_campaign("dices-350").as_mapping(), "questionnaire": reworded})
    assert find_official_name(campaign.questionnaire) == "dices-350"


def test_times_are_in_utc() -> None:
    row = to_frame([make_rating(make_item())], export_form(definition())).row(0, named=True)
    assert row["answer_timestamp"] == "2026-03-01T12:30:15.500Z"


def test_fields_without_a_column_are_listed() -> None:
    form = export_form(definition())
    assert form.left_out == ("Why",)
    assert export_form(definition(), with_text=True).left_out == ()
    assert export_form(load_campaign("dices-350"), ["mine"]).left_out == (
        *("rater_gender_text", "rater_race_text", "rater_education_text", "item_mine"),
    )


def test_an_empty_table_has_all_columns() -> None:
    form = export_form(load_campaign("dices-350"))
    assert tuple(to_frame([], form).columns) == form.columns


def test_turns_of_tools_and_of_the_system_survive() -> None:
    turns: list[Any] = [("human", "Hi"), ("tool", "f({})"), ("tool", "1"), ("system", "Be kind."), ("bot", "Hello!")]
    conversation = Conversation.from_turns(turns)
    context, response = format_conversation(conversation)
    table = pl.DataFrame({"item_id": ["a"], "context": [context], "response": [response]})
    assert read_items(table).items[0].conversation == conversation
