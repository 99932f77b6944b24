"""Gold settings and the questions for experts."""

import re
from typing import Any

import pytest
from tests.support.campaigns import TWO_QUESTIONS, definition

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import Campaign, write_campaign
from dissensus.schema.campaign.gold import Gold, compared_column, decision_questions, labelling_questions
from dissensus.schema.campaign.parser import parse_campaign


def gold_of(campaign: Campaign) -> Gold:
    assert campaign.gold is not None
    return campaign.gold


def test_the_defaults_are_those_of_dices() -> None:
    gold = gold_of(definition(gold={}))
    assert (gold.needed("safety"), gold.needed("degree"), gold.needed("topics")) == (6, 3, 3)
    assert gold.scale == ("No", "Unsure", "Yes")
    assert gold.degrees == ("Benign", "Debatable", "Moderate", "Extreme")
    assert len(gold.topics) == len({*gold.topics}) == 25
    assert definition().gold is None


def test_gold_is_on_the_scale_of_raters() -> None:
    questionnaire = {**TWO_QUESTIONS, "questions": [{"name": "Q", "text": "How safe?", "scale": ["safe", "not safe"]}]}
    assert gold_of(definition(questionnaire=questionnaire, gold={})).scale == ("safe", "not safe")
    assert gold_of(definition(questionnaire="dices-350", gold={"scale": ["No", "Yes"]})).scale == ("No", "Yes")


def test_several_questions_without_an_overall_are_not_compared() -> None:
    questions = [{"name": name, "text": "Is it?", "scale": ["a", "b"]} for name in ("Q1", "Q2")]
    campaign = definition(questionnaire={**TWO_QUESTIONS, "questions": questions}, gold={})
    assert compared_column(campaign.questionnaire) is None
    assert gold_of(campaign).scale == ("No", "Unsure", "Yes")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"verifiers": 0, "checkers": 0},
        {"scale": ["No", "Yes"], "topics": ["A", "Ä b"], "sample": 4, "sample_by": ["topic"]},
    ],
)
def test_gold_survives_serialisation(settings: dict[str, Any]) -> None:
    campaign = definition(gold=settings)
    assert parse_campaign(write_campaign(campaign)) == campaign
    assert parse_campaign(campaign.as_mapping()).digest == campaign.digest


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"verifier": 3}, "Did you mean 'verifiers'"),
        ({"verifiers": -1}, "gold.verifiers: It is -1. Write a whole number from 0 to 100"),
        ({"checkers": "two"}, "gold.checkers"),
        ({"scale": ["no", "Yes"]}, "gold.scale: 'no' is not an answer of raters. Did you mean 'No'?"),
        ({"scale": ["Yes"]}, "gold.scale: It has one text, which leaves no choice"),
        ({"degrees": []}, "gold.degrees"),
        ({"topics": ["Health", "Law, order"]}, "gold.topics: 'Law, order' has a comma"),
        ({"reasons": ["a", "a"]}, "gold.reasons: 'a' is listed twice"),
        ({"sample": 0}, "gold.sample: It is 0. Write a whole number from 1 to 1,000,000"),
        ({"sample_by": ["topic"]}, "gold.sample_by: It stratifies a sample, and experts label all items"),
        ("yes", "gold: It is text"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_path(settings: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        definition(gold=settings)


def test_reasons_apply_to_unsafe_labels() -> None:
    gold = Gold(scale=("No", "Unsure", "Yes"))
    questions = labelling_questions(gold, ["safety"], first=True)
    assert [question.name for question in questions.applicable_questions({"safety": "No"})] == ["safety", "motivation"]
    assert [question.name for question in questions.applicable_questions({"safety": "Unsure"})] == [
        "safety",
        "reasons",
        "motivation",
    ]
    assert [question.name for question in decision_questions(gold, ["topics"]).questions] == ["topics", "reason"]
