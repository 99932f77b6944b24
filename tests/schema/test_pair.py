"""Campaigns that compare two responses."""

from typing import Any

import pytest
from tests.support.campaigns import TWO_QUESTIONS, definition
from tests.support.pair_campaigns import pair_definition

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import write_campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.schema.records.pair import PREFERENCE, is_preference


def test_a_preference_is_the_first_question_and_may_be_the_only_one() -> None:
    only = pair_definition()
    assert [question.name for question in only.questionnaire.questions] == [PREFERENCE]
    assert only.questionnaire.questions[0].scale == ("-3", "-2", "-1", "0", "1", "2", "3")
    further = pair_definition(pair={"criterion": "less harmful"}, questionnaire=TWO_QUESTIONS)
    assert [question.name for question in further.questionnaire.questions] == [PREFERENCE, "Q_safe", "Why"]
    assert further.questionnaire.questions[0].scale == ("-3", "-2", "-1", "1", "2", "3")


@pytest.mark.parametrize("changes", [{}, {"questionnaire": TWO_QUESTIONS}, {"questionnaire": "dices-350"}])
def test_a_campaign_survives_serialisation(changes: dict[str, Any]) -> None:
    campaign = pair_definition(**changes)
    assert parse_campaign(campaign.as_mapping()) == campaign
    reparsed = parse_campaign(write_campaign(campaign))
    assert (reparsed, reparsed.digest) == (campaign, campaign.digest)
    assert PREFERENCE not in write_campaign(campaign)


CHAT = {
    "chatbots": [{"name": "tern", "kind": "scripted", "model_type": "rlhf", "version": "1"}],
    "modes": [{"name": "m", "title": "M"}],
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pair": {}}, "pair.criterion: It is missing. Write which response raters pick"),
        ({"pair": {"criterion": "more_helpful"}}, "Did you mean 'more helpful'"),
        ({"pair": {"criterion": "more helpful", "allow_ties": "yes"}}, "pair.allow_ties"),
        ({"pair": {"criterion": "more helpful", "sides": 2}}, "pair: There is no key 'sides'"),
        ({"pair": "more helpful"}, "pair: "),
        ({"gold": {}}, r"gold: Experts label one response, and with \[pair\] an item has two. Remove it."),
        ({"chat": CHAT}, r"pair: It is about items, and with \[chat\] there are none. Remove it."),
        ({"pair": None}, "questionnaire: "),
        (
            {"questionnaire": {**TWO_QUESTIONS, "questions": [{"name": PREFERENCE, "text": "?", "scale": ["a", "b"]}]}},
            f"questionnaire: With .pair. {PREFERENCE} is asked already. Give your question another name.",
        ),
    ],
)
def test_an_invalid_value_is_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pair_definition(**changes)


def test_an_item_with_two_responses() -> None:
    conversation = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
    assert Item("7", conversation).responses() == ()
    assert Item("7", conversation, {}, "").responses("b") == ("", "Hello!")
    with pytest.raises(InvalidInput, match="Item '7': Response B"):
        Item("7", conversation, {}, "\x00")


def test_the_name_of_the_preference_is_free_without_a_comparison() -> None:
    questionnaire = {**TWO_QUESTIONS, "questions": [{"name": PREFERENCE, "text": "Tea?", "scale": ["No", "Yes"]}]}
    campaign = definition(questionnaire=questionnaire)
    assert parse_campaign(campaign.as_mapping()) == campaign


def test_a_text_is_no_preference() -> None:
    assert not is_preference(Question(name="Q_preference", scale=(), kind="text"))
