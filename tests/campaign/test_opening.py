"""The check before opening: findings, their severity and remedy."""

from typing import Any

import pytest
from tests.support.campaign_definitions import REST
from tests.support.campaigns import ABOUT_YOU, CHECKS, TWO_QUESTIONS, definition, items
from tests.support.chat_campaigns import CHAT, TERN

from dissensus.campaign.opening import (
    Finding,
    ItemFindings,
    OpeningFacts,
    check_opening,
    check_service,
    summarise_items,
)
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item

FULL = ItemFindings(n_items=3, n_read=3)


def list_findings(campaign: Campaign, **facts: Any) -> dict[str, Finding]:
    return {finding.location: finding for finding in check_opening(campaign, OpeningFacts(**{"items": FULL, **facts}))}


def test_a_campaign_that_can_work_has_no_findings() -> None:
    assert list_findings(definition()) == {}


def test_errors_come_before_warnings() -> None:
    gold = {"verifiers": 0, "checkers": 0, "sample": 4}
    findings = check_opening(definition(care={"contact": "Mia Berg"}, gold=gold), OpeningFacts(items=FULL))
    assert [(finding.severity, finding.location) for finding in findings] == [
        ("error", "gold.sample"),
        ("warning", "care.contact"),
        ("warning", "gold"),
    ]


def test_a_campaign_without_items_cannot_open() -> None:
    assert list_findings(definition(), items=ItemFindings())["items"].severity == "error"
    assert "items" not in list_findings(parse_campaign({**REST, "chat": CHAT}), items=ItemFindings())


def test_a_contact_that_nobody_holds_is_named_also_after_opening() -> None:
    campaign = definition(care={"contact": "Mia Berg"})
    finding = list_findings(campaign)["care.contact"]
    assert (finding.severity, finding.page) == ("warning", "staff")
    assert [finding.location for finding in check_service(campaign, OpeningFacts())] == ["care.contact"]
    assert list_findings(campaign, roles={"carer": 1}) == {}
    assert list_findings(definition(care={})) == {}


def test_a_gold_label_needs_its_first_expert_and_the_verifiers() -> None:
    campaign = definition(gold={"verifiers": 3})
    assert list_findings(campaign, roles={"owner": 1, "expert": 3}) == {}
    finding = list_findings(campaign, roles={"owner": 1, "expert": 2, "reviewer": 5})["gold"]
    assert (finding.severity, finding.page) == ("warning", "staff")
    assert finding.problem.startswith("A gold label needs 4 people, and 3 can label")


def test_a_sample_for_experts_fits_into_the_items() -> None:
    def findings(sample: int) -> set[str]:
        return set(
            list_findings(definition(gold={"verifiers": 0, "checkers": 0, "sample": sample}), roles={"owner": 1})
        )

    assert findings(3) == set()
    assert findings(4) == {"gold.sample"}


def test_refused_chatbots_and_missing_rankers_stop_the_opening() -> None:
    ranked = {**TERN, "kind": "best_of_n", "best_of_n": {"chatbot": TERN, "scorer": "registry:kind", "n": 2}}
    campaign = parse_campaign({**REST, "chat": {**CHAT, "chatbots": [ranked]}})
    assert list_findings(campaign) == {}
    assert list_findings(campaign, missing_models=("kind",))["chat.chatbots.tern"].severity == "error"
    refused = list_findings(campaign, refused_chatbots={"tern": "Add it to the setting chatbot_hosts."})
    assert refused["chat.chatbots.tern"].remedy == "Add it to the setting chatbot_hosts."


def test_a_missing_model_that_learns_is_a_warning() -> None:
    campaign = parse_campaign({**REST, "chat": CHAT, "registered_models": ["harmless"]})
    finding = list_findings(campaign, missing_models=("harmless",))["registered_models"]
    assert finding.severity == "warning"
    assert "dissensus preference register harmless" in finding.remedy


def test_empty_responses_and_items_without_a_person_are_counted() -> None:
    spoken = Conversation.from_turns([("human", "Hi"), ("bot", "Hello!")])
    alone = Conversation.from_turns([("bot", "Hello!")])
    seen = summarise_items([Item("a", spoken, response_b=""), Item("b", spoken, response_b=" "), Item("c", alone)], 9)
    assert (seen.blank_responses, seen.without_turn, seen.is_complete) == ((2, "a"), (1, "c"), False)
    campaign = definition(pair={"criterion": "less harmful"})
    problems = [one.problem for one in check_opening(campaign, OpeningFacts(items=seen))]
    assert problems == [
        "There are 2 pairs with an empty response of the first 3 items, the first is 'a'.",
        "There is an item without a turn of a person of the first 3 items, the first is 'c'.",
    ]
    assert summarise_items(items(3), 3) == FULL


def test_conversations_that_are_no_attempts_are_named_in_a_review() -> None:
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "Hello.")])
    seen = summarise_items([Item(mode, talk, {"phase": mode}) for mode in ("red team", "helpful")], 2)
    finding = list_findings(load_campaign("red-team-review"), items=seen)["items"]
    assert finding.severity == "warning"
    assert "There is a conversation of the mode helpful, the first is 'helpful'" in finding.problem
    assert "items" not in list_findings(definition(), items=seen)


def test_seats_that_cannot_rate_all_items_are_a_warning() -> None:
    quota = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 2, "rest": 1}
    campaign = definition(demographics=ABOUT_YOU, quota=quota, replication=3, max_items=2)
    assert list_findings(campaign) == {}
    many = list_findings(campaign, items=ItemFindings(n_items=6, n_read=6))["quota.seats"]
    assert "need 18 ratings, and all seats together give at most 10" in many.problem
    empty = definition(demographics=ABOUT_YOU, quota={**quota, "seats": 0, "rest": 5})
    assert "young" in list_findings(empty)["quota.seats"].problem


@pytest.mark.parametrize(("n_items", "is_enough"), [(5, True), (6, False)])
def test_seats_may_give_just_the_ratings_needed(n_items: int, is_enough: bool) -> None:
    """Five raters rate two items each."""
    quota = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 2, "rest": 1}
    campaign = definition(demographics=ABOUT_YOU, quota=quota, replication=2, max_items=2)
    findings = list_findings(campaign, items=ItemFindings(n_items=n_items, n_read=n_items))
    assert ("quota.seats" not in findings) == is_enough


def test_languages_and_entry_are_checked() -> None:
    texts = {"text": {"fr": "On garde."}, "purposes": [{"name": "rating", "text": {"fr": "Oui."}, "required": True}]}
    data = {**REST, "languages": ["fr"], "title": {"fr": "T"}, "warning": {"fr": "A"}, "consent": texts}
    chat = {"chatbots": [TERN], "modes": [{"name": "natural", "title": {"fr": "Parler"}}]}
    assert (
        "fr" in list_findings(parse_campaign({**data, "chat": chat}), page_languages=("en", "de"))["languages"].problem
    )
    assert list_findings(definition(), has_entry=False)["entry links"].page == "links"


def test_ends_without_a_way_back_to_a_panel_are_named() -> None:
    panel = {"kind": "link", "name": "Panel", "parameter": "pid", "codes": {"completed": "DONE4711"}}
    finding = list_findings(definition(recruit=panel))["recruit.addresses"]
    assert finding.severity == "warning"
    assert "'screened_out', 'quota_full', 'no_consent', 'stopped'." in finding.problem
    checked = list_findings(definition(recruit=panel, checks=CHECKS[-1:]))["recruit.addresses"]
    assert "'no_consent', 'failed_attention', 'stopped'." in checked.problem
    address = "https://panel.example/{id}"
    panel["addresses"] = dict.fromkeys(("screened_out", "quota_full", "no_consent", "stopped"), address)
    assert list_findings(definition(recruit=panel)) == {}


def test_links_of_cells_are_an_entry() -> None:
    quota = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 2, "rest": 1}
    for source, locations in (("screener", {"entry links"}), ("recruiter", set())):
        campaign = definition(demographics=ABOUT_YOU, quota={**quota, "source": source})
        assert list_findings(campaign, has_entry=False).keys() == locations


def test_images_of_texts_are_named() -> None:
    finding = list_findings(definition(guidelines="See ![the scale](https://a.example/scale.png)."))["guidelines"]
    assert finding.severity == "warning"
    assert "'https://a.example/scale.png'" in finding.problem
    assert list_findings(definition(guidelines="See [the scale](https://a.example/scale.png), not `![x](y)`.")) == {}


def test_images_of_introductions_are_named() -> None:
    image = "See ![the scale](scale.png)."
    survey = {**ABOUT_YOU, "name": "survey", "introduction": image}
    campaign = definition(
        questionnaire={**TWO_QUESTIONS, "introduction": image},
        demographics={**ABOUT_YOU, "introduction": image},
        care={"survey": survey},
    )
    expected = {"questionnaire.introduction", "demographics.introduction", "care.survey.introduction"}
    assert list_findings(campaign).keys() == expected
    assert {finding.step.name for finding in list_findings(campaign).values() if finding.step} == {
        "questions",
        "people",
        "care",
    }


def test_a_gold_label_needs_as_many_experts_as_its_part_with_the_most() -> None:
    campaign = definition(gold={"verifiers": 0, "checkers": 2})
    assert list_findings(campaign, roles={"owner": 1})["gold"].problem.startswith(
        "A gold label needs 3 people, and 1 can label"
    )
    assert list_findings(campaign, roles={"owner": 1, "expert": 2}) == {}


def test_items_are_shown_twice_where_enough_others_come_between() -> None:
    """The first of three items can follow the other two; a limit of three has no place for it."""
    repeat = {"share": 0.5, "distance": 2}
    assert list_findings(definition(repeat=repeat)) == {}
    few = list_findings(definition(repeat=repeat), items=ItemFindings(n_items=2, n_read=2))["repeat"]
    assert few.problem.startswith("No item can be shown twice: there are 2, and at least 2 others come between")
    assert few.remedy == "Lower the distance, or add items."
    limited = list_findings(definition(repeat=repeat, max_items=3))["repeat"]
    assert limited.problem.startswith("No item can be shown twice: max_items is 3")
    assert list_findings(definition(repeat=repeat, max_items=4)) == {}
