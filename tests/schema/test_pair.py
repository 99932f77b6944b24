"""The table of a campaign that compares two responses, and what it asks."""

from typing import Any

import pytest
from tests.support.campaigns import TWO_QUESTIONS, definition
from tests.support.pair_campaigns import comparing

from dissensus.errors import InvalidInput
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.writer import write_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.schema.records.pair import PREFERENCE


def test_a_preference_is_the_first_question_and_may_be_the_only_one() -> None:
    alone = comparing()
    assert [one.name for one in alone.questionnaire.questions] == [PREFERENCE]
    assert alone.questionnaire.questions[0].scale == ("-3", "-2", "-1", "0", "1", "2", "3")
    further = comparing(pair={"compared": "less harmful"}, questionnaire=TWO_QUESTIONS)
    assert [one.name for one in further.questionnaire.questions] == [PREFERENCE, "Q_safe", "Why"]
    assert further.questionnaire.questions[0].scale == ("-3", "-2", "-1", "1", "2", "3")


@pytest.mark.parametrize("changes", [{}, {"questionnaire": TWO_QUESTIONS}, {"questionnaire": "dices-350"}])
def test_what_is_written_is_read_as_the_same_campaign(changes: dict[str, Any]) -> None:
    campaign = comparing(**changes)
    assert parse_campaign(campaign.as_mapping()) == campaign
    again = parse_campaign(write_campaign(campaign))
    assert (again, again.digest) == (campaign, campaign.digest)
    assert PREFERENCE not in write_campaign(campaign)


CHAT = {
    "chatbots": [{"name": "tern", "kind": "scripted", "model_type": "rlhf", "version": "1"}],
    "modes": [{"name": "m", "title": "M"}],
}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pair": {}}, "pair.compared: It is missing. Write which response raters pick"),
        ({"pair": {"compared": "more_helpful"}}, "Did you mean 'more helpful'"),
        ({"pair": {"compared": "more helpful", "equal": "yes"}}, "pair.equal"),
        ({"pair": {"compared": "more helpful", "sides": 2}}, "pair: There is no key 'sides'"),
        ({"pair": "more helpful"}, "pair: "),
        ({"gold": {}}, r"gold: Experts label one response, and with \[pair\] an item has two. Take it out."),
        ({"chat": CHAT}, r"pair: It is about items, and with \[chat\] there are none. Take it out."),
        ({"pair": None}, "questionnaire: "),
        (
            {"questionnaire": {**TWO_QUESTIONS, "questions": [{"name": PREFERENCE, "text": "?", "scale": ["a", "b"]}]}},
            f"questionnaire: With .pair. {PREFERENCE} is asked already. Give your question another name.",
        ),
    ],
)
def test_what_is_wrong_is_told(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        comparing(**changes)


def test_an_item_with_two_responses() -> None:
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
    assert Item("7", talk).responses() == ()
    assert Item("7", talk, {}, "").responses("b") == ("", "Hello!")
    with pytest.raises(InvalidInput, match="Item '7': Response B"):
        Item("7", talk, {}, "\x00")


def test_a_question_of_that_name_is_an_ordinary_one_where_nothing_is_compared() -> None:
    one = {**TWO_QUESTIONS, "questions": [{"name": PREFERENCE, "text": "Tea?", "scale": ["No", "Yes"]}]}
    campaign = definition(questionnaire=one)
    assert parse_campaign(campaign.as_mapping()) == campaign
