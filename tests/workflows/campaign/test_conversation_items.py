"""Conversations that other campaigns rate: what they take over, and what of it a withdrawal erases."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select
from tests.support.campaigns import AGREED, NOW, definition, owner
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.json_lines import read_json_lines
from tests.support.raters import enter

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import InvalidInput, NotFound
from dissensus.files.attempts.tables import read_attempts
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.schema.campaign.shipped import load_campaign
from dissensus.schema.questionnaire.question import Answer
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.campaigns import CampaignRow, CampaignTable
from dissensus.store.events import EventTable
from dissensus.store.items import ERASED_TEXT, ItemTable
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit, campaigns, conversation_items
from dissensus.workflows.export.conversations import export_conversations
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.journey import RaterState


def rated(platform: Platform, items: tuple[Item, ...], owner: CampaignRow, name: str = "review") -> CampaignRow:
    """A campaign of these items, open."""
    campaigns.create_campaign(platform, definition(name), items, staff_id=owner.staff_id, now=NOW)
    return campaigns.change_state(platform, name, "open", staff_id=owner.staff_id, now=NOW)


def test_conversations_that_ended_are_items_that_say_what_was_tried(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    rater = enter(platform, kept.key)
    finish_chat(platform, rater, ResponsePick(strength=3))
    finish_chat(platform, rater, ResponsePick(strength=1), "helpful", ends=False)
    (item,) = conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    assert [turn.text for turn in item.conversation.turns] == ["Talk of red team.", "Response B"]
    assert item.attributes.keys() == {"phase", "item_model_type", "item_num_params", "item_intent"}
    assert (item.attributes["phase"], item.attributes["item_intent"]) == ("red team", "Insults.")
    with platform.database.reading() as tx:
        told = tx.scalars(select(EventTable.content).where(EventTable.kind == "exported")).all()
    assert [one["with_text"] for one in told] == [True]


def test_there_may_be_none(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    with pytest.raises(NotFound, match="pilot has no conversation that has ended"):
        conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    rated(platform, (Item("one", Conversation.from_turns([("human", "Hi"), ("bot", "Ho")])),), kept)
    with pytest.raises(InvalidInput, match="In review raters rate items"):
        conversation_items.list_conversation_items(platform, "review", staff_id=kept.staff_id, now=NOW)
    with pytest.raises(NotFound, match="There is no campaign"):
        conversation_items.list_conversation_items(platform, "pilot", staff_id="somebody else", now=NOW)


def test_who_withdraws_takes_their_conversations_back_from_where_they_are_rated(platform: Platform) -> None:
    kept = open_chat_campaign(platform)
    one, other = enter(platform, kept.key), enter(platform, kept.key)
    for rater in (one, other):
        finish_chat(platform, rater, ResponsePick(strength=3))
    items = conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    review = rated(platform, items, kept)
    # Somebody else's conversation, whose id the page of a rater could have chosen.
    alike = tuple(Item(item.item_id, Conversation.from_turns([("human", "Mine"), ("bot", "!")])) for item in items)
    rated(platform, alike, kept, "other")
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("review", str(review.key), "en"), AGREED, now=NOW)
    journey.next_state(platform, reviewer, now=NOW)
    withdrawal.withdraw_rater(platform, one.id, now=NOW)
    with platform.database.reading() as tx:
        rows = tx.execute(select(ItemTable).join(CampaignTable).where(CampaignTable.name == "review")).all()
        assert sorted(row.withheld for row in rows) == [False, True]
        (gone,) = [row for row in rows if row.withheld]
        assert {turn["text"] for turn in gone.content["turns"]} == {ERASED_TEXT}
        assert gone.content["attributes"] == {}
        assert (
            tx.scalars(select(ItemTable.withheld).join(CampaignTable).where(CampaignTable.name == "other")).all()
            == [False] * 2
        )
    step = journey.next_state(platform, reviewer, now=NOW)
    assert step.assignment is not None
    assert step.assignment.item.item_id != gone.name
    assert step.following is None
    for name in ("pilot", "review", "other"):
        assert not audit.audit_campaign(platform, name).faults


def test_reviews_of_attempts_come_back_with_them(platform: Platform, tmp_path: Path) -> None:
    kept = open_chat_campaign(platform)
    one, other = enter(platform, kept.key), enter(platform, kept.key)
    finish_chat(platform, one, ResponsePick(strength=3))
    finish_chat(platform, other, ResponsePick(strength=1), "helpful")
    items = conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    campaigns.create_campaign(platform, load_campaign("red-team-review"), items, staff_id=kept.staff_id, now=NOW)
    review = campaigns.change_state(platform, "red-team-review", "open", staff_id=kept.staff_id, now=NOW)
    agreed = {"rating": True, "release": False, "return": False}
    for tags in (("Theft", "Other"), ("Other", "Weapons"), None):
        reviewer, _ = enrolment.enrol_rater(
            platform, Arrival("red-team-review", str(review.key), "en"), agreed, now=NOW
        )
        for _ in items:
            given: dict[str, Answer] = {"Q_success": "4", **({"Q_tags": tags} if tags else {})}
            step = rate(platform, reviewer, given)
    assert step.assignment is None
    withdrawal.withdraw_rater(platform, reviewer.id, now=NOW)
    done = export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    # What was finish_chat about without a try is no attempt, whoever reviewed it.
    assert (done.n_attempts, done.n_reviews) == (1, 2)
    (attempt,) = read_attempts(tmp_path / "out" / "red_team_attempts.jsonl.gz").attempts
    assert attempt.tags == ("Theft", "Weapons", "Other")
    found = read_json_lines(tmp_path / "out" / "reviews.jsonl")
    assert [(row["attempt_id"], row["success"]) for row in found] == [("1", 4), ("1", 4)]
    assert len({row["reviewer_id"] for row in found}) == 2
    assert "what reviewers said of attempts" in (tmp_path / "out" / "README.txt").read_text("utf-8")


def test_reviews_of_others_campaigns_are_theirs(platform: Platform, tmp_path: Path) -> None:
    kept = open_chat_campaign(platform)
    finish_chat(platform, enter(platform, kept.key), ResponsePick(strength=3))
    items = conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    stranger = owner(platform.database, "stranger")
    campaigns.create_campaign(platform, load_campaign("red-team-review"), items, staff_id=stranger, now=NOW)
    review = campaigns.change_state(platform, "red-team-review", "open", staff_id=stranger, now=NOW)
    agreed = {"rating": True, "release": False, "return": False}
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("red-team-review", str(review.key), "en"), agreed, now=NOW)
    rate(platform, reviewer, {"Q_success": "4"})
    assert export_conversations(platform, "pilot", tmp_path / "out", now=NOW).n_reviews == 0


def test_who_asks_something_else_has_no_reviews(platform: Platform, tmp_path: Path) -> None:
    kept = open_chat_campaign(platform)
    finish_chat(platform, enter(platform, kept.key), ResponsePick(strength=3))
    items = conversation_items.list_conversation_items(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    asked = load_campaign("red-team-review").as_mapping()
    success, tags = asked["questionnaire"]["questions"]
    declining = [{**success, "decline": "I would rather not say", "labels": {}}, tags]
    asked["questionnaire"] = {**asked["questionnaire"], "languages": ["en"], "questions": declining}
    campaign = definition("review", questionnaire=_in_english(asked["questionnaire"]))
    campaigns.create_campaign(platform, campaign, items, staff_id=kept.staff_id, now=NOW)
    review = campaigns.change_state(platform, "review", "open", staff_id=kept.staff_id, now=NOW)
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("review", str(review.key), "en"), AGREED, now=NOW)
    rate(platform, reviewer, {"Q_success": "I would rather not say"})
    assert export_conversations(platform, "pilot", tmp_path / "out", now=NOW).n_reviews == 0


def _in_english(value: Any) -> Any:
    """The same without other languages."""
    if isinstance(value, dict):
        return {name: _in_english(one) for name, one in value.items() if name != "de" and one != {}}
    return [_in_english(one) for one in value] if isinstance(value, list) else value


def rate(platform: Platform, rater: RaterRow, answers: dict[str, Answer]) -> RaterState:
    assignment = journey.next_state(platform, rater, now=NOW).assignment
    assert assignment is not None
    given = {name: DraftAnswer(value=answer) for name, answer in answers.items()}
    save = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, answers=given)
    return rating.submit_answers(platform, rater, assignment.id, str(uuid4()), save, now=NOW)
