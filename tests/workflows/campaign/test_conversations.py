"""Conversations as items of other campaigns, and their erasure on withdrawal."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select, update
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
from dissensus.store import export as export_store
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow, CampaignTable
from dissensus.store.chats import ChatTable
from dissensus.store.items import ERASED_TEXT, ItemTable
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.export.conversations import export_conversations, list_conversation_items
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.next_step import RaterStep


def open_review(platform: Platform, items: tuple[Item, ...], owner: CampaignRow, name: str = "review") -> CampaignRow:
    """Open a campaign of these items."""
    campaigns.create_campaign(platform, definition(name), items, staff_id=owner.staff_id, now=NOW)
    return campaigns.change_state(platform, name, "open", staff_id=owner.staff_id, now=NOW)


def test_finished_conversations_become_items_with_their_intent(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    rater = enter(platform, campaign.key)
    finish_chat(platform, rater, ResponsePick(strength=3))
    finish_chat(platform, rater, ResponsePick(strength=1), "helpful", ends=False)
    (item,) = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    assert [turn.text for turn in item.conversation.turns] == ["Talk of red team.", "Response B"]
    assert item.attributes.keys() == {"phase", "item_model_type", "item_num_params", "item_intent"}
    assert (item.attributes["phase"], item.attributes["item_intent"]) == ("red team", "Insults.")
    with platform.database.reading() as tx:
        contents = tx.scalars(select(EventTable.content).where(EventTable.kind == "exported")).all()
    assert [one["with_text"] for one in contents] == [True]


def test_a_campaign_without_finished_conversations_has_no_items(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    with pytest.raises(NotFound, match="pilot has no finished conversation"):
        list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    open_review(platform, (Item("one", Conversation.from_turns([("human", "Hi"), ("bot", "Ho")])),), campaign)
    with pytest.raises(InvalidInput, match="In review raters rate items"):
        list_conversation_items(platform, "review", staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(NotFound, match="There is no campaign"):
        list_conversation_items(platform, "pilot", staff_id="somebody else", now=NOW)


def test_a_withdrawal_erases_conversations_in_the_campaigns_that_rate_them(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    leaving, remaining = enter(platform, campaign.key), enter(platform, campaign.key)
    for rater in (leaving, remaining):
        finish_chat(platform, rater, ResponsePick(strength=3))
    items = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    review = open_review(platform, items, campaign)
    # Another person's conversation under the same id, which the client of a rater can choose.
    alike = tuple(Item(item.item_id, Conversation.from_turns([("human", "Mine"), ("bot", "!")])) for item in items)
    open_review(platform, alike, campaign, "other")
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("review", str(review.key), "en"), AGREED, now=NOW)
    next_step.find_next_step(platform, reviewer, now=NOW)
    withdrawal.withdraw_rater(platform, leaving.id, now=NOW)
    with platform.database.reading() as tx:
        rows = tx.execute(select(ItemTable).join(CampaignTable).where(CampaignTable.name == "review")).all()
        assert sorted(row.withheld for row in rows) == [False, True]
        (erased,) = [row for row in rows if row.withheld]
        assert {turn["text"] for turn in erased.content["turns"]} == {ERASED_TEXT}
        assert erased.content["attributes"] == {}
        assert (
            tx.scalars(select(ItemTable.withheld).join(CampaignTable).where(CampaignTable.name == "other")).all()
            == [False] * 2
        )
    step = next_step.find_next_step(platform, reviewer, now=NOW)
    assert step.assignment is not None
    assert step.assignment.item.item_id != erased.name
    assert step.next_assignment is None
    for name in ("pilot", "review", "other"):
        assert audit.audit_campaign(platform, name).holds
    with platform.database.writing() as tx:
        tx.execute(update(EventTable).where(EventTable.kind == "items_changed").values(content={"erased": "another"}))
    assert f"The text of item {erased.name} was erased" in " ".join(audit.audit_campaign(platform, "review").faults)


def test_items_of_authors_who_refused_a_purpose_are_listed(platform: Platform) -> None:
    campaign = open_chat_campaign(platform)
    refusing = enter(platform, campaign.key)
    agreed = {"rating": True, "release": True}
    agreeing, _ = enrolment.enrol_rater(platform, Arrival("pilot", str(campaign.key), "en"), agreed, now=NOW)
    for rater in (refusing, agreeing):
        finish_chat(platform, rater, ResponsePick(strength=3))
    review = open_review(
        platform, list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW), campaign
    )
    with platform.database.reading() as tx:
        (refused,) = tx.scalars(select(ChatTable.id).where(ChatTable.rater_id == refusing.id))
        assert export_store.list_refused_items(tx, review.id, ("release",)) == {refused}
        assert export_store.list_refused_items(tx, review.id, ("rating",)) == frozenset()
        assert export_store.list_refused_items(tx, campaign.id, ("release",)) == frozenset()


def test_attempts_are_exported_with_their_reviews(platform: Platform, tmp_path: Path) -> None:
    campaign = open_chat_campaign(platform)
    red_teamer, helper = enter(platform, campaign.key), enter(platform, campaign.key)
    finish_chat(platform, red_teamer, ResponsePick(strength=3))
    finish_chat(platform, helper, ResponsePick(strength=1), "helpful")
    items = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    campaigns.create_campaign(platform, load_campaign("red-team-review"), items, staff_id=campaign.staff_id, now=NOW)
    review = campaigns.change_state(platform, "red-team-review", "open", staff_id=campaign.staff_id, now=NOW)
    agreed = {"rating": True, "release": False, "return": False}
    for tags in (("Theft", "Other"), ("Other", "Weapons"), None):
        reviewer, _ = enrolment.enrol_rater(
            platform, Arrival("red-team-review", str(review.key), "en"), agreed, now=NOW
        )
        for _ in items:
            answers: dict[str, Answer] = {"Q_success": "4", **({"Q_tags": tags} if tags else {})}
            step = rate(platform, reviewer, answers)
    assert step.assignment is None
    withdrawal.withdraw_rater(platform, reviewer.id, now=NOW)
    export = export_conversations(platform, "pilot", tmp_path / "out", now=NOW)
    # A conversation of the mode "helpful" is not an attempt, even when it was reviewed.
    assert (export.n_attempts, export.n_reviews) == (1, 2)
    (attempt,) = read_attempts(tmp_path / "out" / "red_team_attempts.jsonl.gz").attempts
    assert attempt.tags == ("Theft", "Weapons", "Other")
    reviews = read_json_lines(tmp_path / "out" / "reviews.jsonl")
    assert [(row["attempt_id"], row["success"]) for row in reviews] == [("1", 4), ("1", 4)]
    assert len({row["reviewer_id"] for row in reviews}) == 2
    assert "reviews of attempts" in (tmp_path / "out" / "README.txt").read_text("utf-8")


def test_reviews_in_campaigns_of_strangers_are_not_exported(platform: Platform, tmp_path: Path) -> None:
    campaign = open_chat_campaign(platform)
    finish_chat(platform, enter(platform, campaign.key), ResponsePick(strength=3))
    items = list_conversation_items(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    stranger = owner(platform.database, "stranger")
    campaigns.create_campaign(platform, load_campaign("red-team-review"), items, staff_id=stranger, now=NOW)
    review = campaigns.change_state(platform, "red-team-review", "open", staff_id=stranger, now=NOW)
    agreed = {"rating": True, "release": False, "return": False}
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("red-team-review", str(review.key), "en"), agreed, now=NOW)
    rate(platform, reviewer, {"Q_success": "4"})
    assert export_conversations(platform, "pilot", tmp_path / "out", now=NOW).n_reviews == 0


def test_another_questionnaire_gives_no_reviews(platform: Platform, tmp_path: Path) -> None:
    chat_campaign = open_chat_campaign(platform)
    finish_chat(platform, enter(platform, chat_campaign.key), ResponsePick(strength=3))
    items = list_conversation_items(platform, "pilot", staff_id=chat_campaign.staff_id, now=NOW)
    review_definition = load_campaign("red-team-review").as_mapping()
    success, tags = review_definition["questionnaire"]["questions"]
    declining = [{**success, "decline": "I would rather not say", "labels": {}}, tags]
    review_definition["questionnaire"] = {
        **review_definition["questionnaire"],
        "languages": ["en"],
        "questions": declining,
    }
    campaign = definition("review", questionnaire=_in_english(review_definition["questionnaire"]))
    campaigns.create_campaign(platform, campaign, items, staff_id=chat_campaign.staff_id, now=NOW)
    review = campaigns.change_state(platform, "review", "open", staff_id=chat_campaign.staff_id, now=NOW)
    reviewer, _ = enrolment.enrol_rater(platform, Arrival("review", str(review.key), "en"), AGREED, now=NOW)
    rate(platform, reviewer, {"Q_success": "I would rather not say"})
    assert export_conversations(platform, "pilot", tmp_path / "out", now=NOW).n_reviews == 0


def _in_english(value: Any) -> Any:
    """Return the value without other languages."""
    if isinstance(value, dict):
        return {name: _in_english(one) for name, one in value.items() if name != "de" and one != {}}
    return [_in_english(one) for one in value] if isinstance(value, list) else value


def rate(platform: Platform, rater: RaterRow, answers: dict[str, Answer]) -> RaterStep:
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    drafts = {name: DraftAnswer(value=answer) for name, answer in answers.items()}
    save = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, open_ms=900, answers=drafts)
    return rating.submit_answers(platform, rater, assignment.id, str(uuid4()), save, now=NOW)
