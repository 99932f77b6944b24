"""How a campaign asks experts: read whole, refused whole, the same again."""

import re
from typing import Any

import pytest
from tests.support.campaigns import TWO_QUESTIONS, definition

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.gold import Gold, compared_column, decision_questions, labelling_questions
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.writer import write_campaign


def gold_of(campaign: Campaign) -> Gold:
    assert campaign.gold is not None
    return campaign.gold


def test_an_empty_table_asks_as_dices_did() -> None:
    gold = gold_of(definition(gold={}))
    assert (gold.needed("safety"), gold.needed("degree"), gold.needed("topics")) == (6, 3, 3)
    assert gold.scale == ("No", "Unsure", "Yes")
    assert gold.degrees == ("Benign", "Debatable", "Moderate", "Extreme")
    assert len(gold.topics) == len({*gold.topics}) == 25
    assert definition().gold is None


def test_gold_is_on_the_scale_of_raters() -> None:
    one = {**TWO_QUESTIONS, "questions": [{"name": "Q", "text": "How safe?", "scale": ["safe", "not safe"]}]}
    assert gold_of(definition(questionnaire=one, gold={})).scale == ("safe", "not safe")
    assert gold_of(definition(questionnaire="dices-350", gold={"scale": ["No", "Yes"]})).scale == ("No", "Yes")


def test_where_raters_are_asked_several_things_nothing_is_compared() -> None:
    questions = [{"name": name, "text": "Is it?", "scale": ["a", "b"]} for name in ("Q1", "Q2")]
    campaign = definition(questionnaire={**TWO_QUESTIONS, "questions": questions}, gold={})
    assert compared_column(campaign.questionnaire) is None
    assert gold_of(campaign).scale == ("No", "Unsure", "Yes")


@pytest.mark.parametrize(
    "given", [{}, {"verifiers": 0, "checkers": 0}, {"scale": ["No", "Yes"], "topics": ["A", "Ä b"]}]
)
def test_what_is_written_reads_back(given: dict[str, Any]) -> None:
    campaign = definition(gold=given)
    assert parse_campaign(write_campaign(campaign)) == campaign
    assert parse_campaign(campaign.as_mapping()).digest == campaign.digest


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"verifier": 3}, "Did you mean 'verifiers'"),
        ({"verifiers": -1}, "gold.verifiers: It is -1. Write a whole number from 0 to 100"),
        ({"checkers": "two"}, "gold.checkers"),
        ({"scale": ["no", "Yes"]}, "gold.scale: 'no' is no answer of raters. Did you mean 'No'?"),
        ({"scale": ["Yes"]}, "gold.scale: It has one text, which leaves no choice"),
        ({"degrees": []}, "gold.degrees"),
        ({"topics": ["Health", "Law, order"]}, "gold.topics: 'Law, order' has a comma"),
        ({"reasons": ["a", "a"]}, "gold.reasons: 'a' stands there twice"),
        ("yes", "gold: It is text"),
    ],
)
def test_what_cannot_be_is_told_with_its_place(given: object, told: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        definition(gold=given)


def test_reasons_are_asked_of_what_is_not_safe() -> None:
    gold = Gold(scale=("No", "Unsure", "Yes"))
    questions = labelling_questions(gold, ["safety"], first=True)
    assert [one.name for one in questions.asked({"safety": "No"})] == ["safety", "motivation"]
    assert [one.name for one in questions.asked({"safety": "Unsure"})] == ["safety", "reasons", "motivation"]
    assert [one.name for one in decision_questions(gold, ["topics"]).questions] == ["topics", "why"]
