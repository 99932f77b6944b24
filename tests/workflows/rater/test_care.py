"""How raters feel: when they are asked, who is told, and who is not."""

import json
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW, definition, items, open_campaign, owner
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.raters import enter, rate_all, submit

from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.schema.records.item import Item
from dissensus.store.campaigns import CampaignRow
from dissensus.store.care import CareSurveyTable
from dissensus.store.events import EventTable
from dissensus.store.raters import RaterRow, RaterTable
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.campaign.rehearsal import run_rehearsal
from dissensus.workflows.export import ratings
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import care as care_workflow
from dissensus.workflows.rater import journey, withdrawal
from dissensus.workflows.rater.care import ContactRequest
from dissensus.workflows.rater.journey import RaterState

CARE: dict[str, Any] = {"every": 2, "contact": "Somebody who listens"}
BAD = {"rater_upset": "4", "rater_afraid": "3"}


def at(platform: Platform, rater: RaterRow) -> RaterState:
    return journey.next_state(platform, rater, now=NOW)


def rate(platform: Platform, rater: RaterRow, n: int) -> RaterState:
    step = at(platform, rater)
    for _ in range(n):
        assert step.assignment is not None
        step = submit(platform, rater, step, f"{rater.id[-12:]}-{step.progress.n_done}")
    return step


SILENT = ContactRequest()


def feel(platform: Platform, rater: RaterRow, answers: dict[str, str], contact: ContactRequest = SILENT) -> RaterState:
    number = at(platform, rater).n_asked
    return care_workflow.answer_survey(platform, rater, number, answers, contact, now=NOW)


def test_raters_are_asked_after_every_so_many_items_and_may_say_nothing(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 5, care=CARE).key)
    assert at(platform, rater).following is not None
    step = rate(platform, rater, 1)
    # What comes after the next item is not at hand: the survey comes first.
    assert step.following is None
    assert rate(platform, rater, 1).stage == "feelings"
    assert feel(platform, rater, {}).stage == "rate"
    assert rate(platform, rater, 2).stage == "feelings"
    assert feel(platform, rater, BAD).stage == "rate"
    assert rate(platform, rater, 1).stage == "done"
    with platform.database.reading() as tx:
        rows = tx.execute(select(CareSurveyTable).order_by(CareSurveyTable.number)).all()
        assert [(row.number, row.answers, row.notify_contact) for row in rows] == [(0, {}, False), (1, BAD, False)]


def test_the_last_item_is_followed_by_the_question_too(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 2, care=CARE).key)
    assert rate(platform, rater, 2).stage == "feelings"
    assert feel(platform, rater, {}).stage == "done"


def test_who_talks_is_asked_between_conversations_and_in_none(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, care={**CARE, "every": 1}).key)
    finish_chat(platform, rater, ResponsePick(strength=3))
    assert at(platform, rater).stage == "feelings"
    assert feel(platform, rater, BAD).stage == "chat"
    finish_chat(platform, rater, ResponsePick(strength=3), ends=False)
    assert at(platform, rater).stage == "chat"


def test_what_is_sent_twice_or_late_is_kept_once(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 5, care=CARE).key)
    care_workflow.answer_survey(platform, rater, 0, BAD, now=NOW)
    rate(platform, rater, 0)
    with platform.database.reading() as tx:
        early = tx.execute(select(CareSurveyTable)).all()
    assert [row.number for row in early] == []
    rate(platform, rater, 2)
    for answers in (BAD, {}):
        assert care_workflow.answer_survey(platform, rater, 0, answers, now=NOW).stage == "rate"
    with platform.database.reading() as tx:
        assert [row.answers for row in tx.execute(select(CareSurveyTable))] == [BAD]


def test_only_the_contact_learns_and_only_of_those_who_want_it(platform: Platform) -> None:
    kept = open_campaign(platform, 2, care=CARE)
    quiet, loud = enter(platform, kept.key), enter(platform, kept.key)
    nobody, somebody = (
        ContactRequest(notify=False, contact_info="me@example.org"),
        ContactRequest(notify=True, contact_info="@x"),
    )
    for rater, contact in ((quiet, nobody), (loud, somebody)):
        rate(platform, rater, 2)
        feel(platform, rater, BAD, contact)
    cared = care_workflow.load_care_summary(platform, "pilot", staff_id=kept.staff_id)
    assert [(one.rater_id, one.contact_info, dict(one.answers)) for one in cared.told] == [(loud.id, "@x", BAD)]
    # Fewer than five raters: no mean.
    assert cared.means["rater_upset"] == (None, 0)
    with platform.database.reading() as tx:
        # Who does not want to be reached leaves no address.
        assert tx.scalars(select(CareSurveyTable.contact_info).where(~CareSurveyTable.notify_contact)).all() == [None]
        contents = [json.dumps(one) for one in tx.scalars(select(EventTable.content))]
    asked = ratings.ExportOptions(with_text=True)
    exported = b"".join(
        ratings.stream_ratings_csv(platform, "pilot", staff_id=kept.staff_id, asked=asked, now=NOW)
    ).decode()
    for word in ("@x", "rater_upset", "me@example.org"):
        assert not any(word in one for one in (*contents, exported))
    assert not audit.audit_campaign(platform, "pilot").faults


def test_the_contact_settles_and_a_withdrawal_erases(platform: Platform) -> None:
    kept = open_campaign(platform, 2, care=CARE)
    rater = enter(platform, kept.key)
    rate(platform, rater, 2)
    feel(platform, rater, BAD, ContactRequest(notify=True))
    care_workflow.settle_contact_request(platform, "pilot", rater.id, 0, staff_id=kept.staff_id, now=NOW)
    assert care_workflow.load_care_summary(platform, "pilot", staff_id=kept.staff_id).told[0].settled_at == NOW
    with pytest.raises(NotFound, match="Nothing of this is open"):
        care_workflow.settle_contact_request(platform, "pilot", rater.id, 0, staff_id=kept.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert care_workflow.load_care_summary(platform, "pilot", staff_id=kept.staff_id).told == ()
    with platform.database.reading() as tx:
        assert tx.execute(select(CareSurveyTable)).all() == []


def test_means_are_of_raters_and_from_five_on(platform: Platform) -> None:
    kept = open_campaign(platform, 4, care=CARE)
    for number in range(5):
        rater = enter(platform, kept.key)
        for answer in ("0", "4") if number == 0 else (str(number % 3), str(number % 3)):
            rate(platform, rater, 2)
            feel(platform, rater, {"rater_upset": answer})
    mean, n = care_workflow.load_care_summary(platform, "pilot", staff_id=kept.staff_id).means["rater_upset"]
    assert mean == pytest.approx((2 + 1 + 2 + 0 + 1) / 5)
    assert n == 5


def test_what_cannot_be(platform: Platform) -> None:
    kept = open_campaign(platform, 2, care=CARE)
    rater = enter(platform, kept.key)
    rate(platform, rater, 2)
    with pytest.raises(InvalidInput, match="'7' is not among its answers"):
        feel(platform, rater, {"rater_upset": "7"})
    with pytest.raises(InvalidInput, match=r"It has 501 characters\. Say in 500"):
        feel(platform, rater, {}, ContactRequest(notify=True, contact_info="x" * 501))
    assert at(platform, rater).stage == "feelings"


def test_a_campaign_without_it_says_so(platform: Platform) -> None:
    kept = open_campaign(platform)
    with pytest.raises(NotFound, match=r"pilot does not ask raters how they feel: it has no \[care\]"):
        care_workflow.load_care_summary(platform, "pilot", staff_id=kept.staff_id)


def test_simulated_raters_go_through(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(care=CARE), items(4), staff_id=staff_id, now=NOW)
    assert run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW) == 8
    assert care_workflow.load_care_summary(platform, "pilot", staff_id=staff_id).told == ()


TOPICS = {"Weapons": "weapons", "Self-harm": "harming oneself"}


def about(*topics: str) -> tuple[Item, ...]:
    """An item about each of some topics."""
    plain = items(len(topics))
    marked = zip(plain, topics, strict=True)
    return tuple(Item(one.item_id, one.conversation, {"harm_type": topic} if topic else {}) for one, topic in marked)


def opened_about(platform: Platform, *topics: str, **changes: Any) -> CampaignRow:
    staff_id = owner(platform.database)
    draft = definition(care={"topics": TOPICS}, **changes)
    campaigns.create_campaign(platform, draft, about(*topics), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)


@pytest.mark.parametrize("replication", [None, 1])
def test_nobody_gets_what_they_left_out_and_others_do(platform: Platform, replication: int | None) -> None:
    topics = ("Weapons", "Legal, Self-harm", "", "Weapons and other things", "Legal,Weapons")
    changes = {} if replication is None else {"replication": replication}
    kept = opened_about(platform, *topics, **changes)
    careful, other = enter(platform, kept.key), enter(platform, kept.key)
    assert at(platform, careful).stage == "topics"
    care_workflow.avoid_topics(platform, careful, ["Weapons"], now=NOW)
    assert sorted(rate_all(platform, careful)) == ["item-1", "item-2", "item-3"]
    assert at(platform, careful).stage == "done"
    care_workflow.avoid_topics(platform, other, [], now=NOW)
    assert sorted(rate_all(platform, other)) == [f"item-{n}" for n in (range(5) if replication is None else (0, 4))]
    assert not audit.audit_campaign(platform, "pilot").faults


def test_what_is_left_out_is_asked_once_and_told_to_nobody(platform: Platform) -> None:
    kept = opened_about(platform, "Weapons", "")
    rater = enter(platform, kept.key)
    with pytest.raises(InvalidInput, match=r"There is no topic 'weapons'\. There are 'Weapons', 'Self-harm'"):
        care_workflow.avoid_topics(platform, rater, ["weapons"], now=NOW)
    for topics in (["Self-harm"], ["Weapons"]):
        care_workflow.avoid_topics(platform, rater, topics, now=NOW)
    assert at(platform, rater).rater.excluded_topics == "Self-harm"
    rate_all(platform, rater)
    with platform.database.reading() as tx:
        assert not any("Self-harm" in json.dumps(one) for one in tx.scalars(select(EventTable.content)))
    parts = ratings.stream_ratings_csv(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    assert "Self-harm" not in b"".join(parts).decode()
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    with platform.database.reading() as tx:
        assert tx.scalars(select(RaterTable.excluded_topics)).all() == [None]


def test_who_wants_nothing_of_it_is_done(platform: Platform) -> None:
    rater = enter(platform, opened_about(platform, "Weapons", "Self-harm").key)
    assert care_workflow.avoid_topics(platform, rater, list(TOPICS), now=NOW).stage == "done"


def test_topics_that_are_asked_later_hold_for_what_was_planned(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(
        platform, definition(), about("Weapons", "Weapons", "", "Weapons"), staff_id=staff_id, now=NOW
    )
    kept = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    rater = enter(platform, kept.key)
    shown = at(platform, rater).assignment
    assert shown is not None
    campaigns.change_state(platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    campaigns.revise_campaign(platform, "pilot", definition(care={"topics": TOPICS}), staff_id=staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    care_workflow.avoid_topics(platform, rater, ["Weapons"], now=NOW)
    # Whatever was on the page when it was asked is gone from it too.
    assert rate_all(platform, rater) == ["item-2"]
    assert not audit.audit_campaign(platform, "pilot").faults


def test_any_question_of_a_survey_can_be_left_out() -> None:
    survey = {"name": "mine", "about": "rater", "languages": ["en"], "title": "You"}
    needed = {**survey, "questions": [{"name": "rater_mood", "text": "How?", "scale": ["bad", "good"]}]}
    care = definition(care={"survey": needed}).care
    assert care is not None
    assert [question.required for question in care.survey.questions] == [False]
