"""Wellbeing surveys, contact requests and avoided topics."""

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
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.care import CareSurveyTable
from dissensus.store.raters import RaterRow, RaterTable
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.campaign.rehearsal import run_rehearsal
from dissensus.workflows.export import ratings
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import care as care_workflow
from dissensus.workflows.rater import next_step, withdrawal
from dissensus.workflows.rater.care import ContactRequest
from dissensus.workflows.rater.next_step import RaterStep

CARE: dict[str, Any] = {"survey_every": 2, "contact": "Somebody who listens"}
BAD = {"rater_upset": "4", "rater_afraid": "3"}


def current_state(platform: Platform, rater: RaterRow) -> RaterStep:
    return next_step.find_next_step(platform, rater, now=NOW)


def rate(platform: Platform, rater: RaterRow, n: int) -> RaterStep:
    state = current_state(platform, rater)
    for _ in range(n):
        assert state.assignment is not None
        state = submit(platform, rater, state, f"{rater.id[-12:]}-{state.progress.n_done}")
    return state


SILENT = ContactRequest()


def answer_survey(
    platform: Platform, rater: RaterRow, answers: dict[str, str], contact: ContactRequest = SILENT
) -> RaterStep:
    number = current_state(platform, rater).n_asked
    return care_workflow.answer_survey(platform, rater, number, answers, contact, now=NOW)


def test_the_survey_comes_at_intervals_and_is_optional(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 5, care=CARE).key)
    assert current_state(platform, rater).next_assignment is not None
    state = rate(platform, rater, 1)
    # The item after the next one is not prefetched: the survey comes first.
    assert state.next_assignment is None
    assert rate(platform, rater, 1).stage == "survey"
    assert answer_survey(platform, rater, {}).stage == "rate"
    assert rate(platform, rater, 2).stage == "survey"
    assert answer_survey(platform, rater, BAD).stage == "rate"
    assert rate(platform, rater, 1).stage == "done"
    with platform.database.reading() as tx:
        rows = tx.execute(select(CareSurveyTable).order_by(CareSurveyTable.number)).all()
        assert [(row.number, row.answers, row.notify_contact) for row in rows] == [(0, {}, False), (1, BAD, False)]


def test_the_survey_also_follows_the_last_item(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 2, care=CARE).key)
    assert rate(platform, rater, 2).stage == "survey"
    assert answer_survey(platform, rater, {}).stage == "done"


def test_the_survey_comes_between_conversations(platform: Platform) -> None:
    rater = enter(platform, open_chat_campaign(platform, care={**CARE, "survey_every": 1}).key)
    finish_chat(platform, rater, ResponsePick(strength=3))
    assert current_state(platform, rater).stage == "survey"
    assert answer_survey(platform, rater, BAD).stage == "chat"
    finish_chat(platform, rater, ResponsePick(strength=3), ends=False)
    assert current_state(platform, rater).stage == "chat"


def test_a_repeated_survey_is_stored_once(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 5, care=CARE).key)
    # No survey is due yet.
    care_workflow.answer_survey(platform, rater, 0, BAD, now=NOW)
    with platform.database.reading() as tx:
        assert tx.execute(select(CareSurveyTable)).all() == []
    rate(platform, rater, 2)
    for answers in (BAD, {}):
        assert care_workflow.answer_survey(platform, rater, 0, answers, now=NOW).stage == "rate"
    with platform.database.reading() as tx:
        assert [row.answers for row in tx.execute(select(CareSurveyTable))] == [BAD]


def test_only_requested_contacts_are_visible_and_only_to_the_contact(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, care=CARE)
    quiet, loud = enter(platform, campaign.key), enter(platform, campaign.key)
    nobody, somebody = (
        ContactRequest(notify=False, contact_info="me@example.org"),
        ContactRequest(notify=True, contact_info="@x"),
    )
    for rater, contact in ((quiet, nobody), (loud, somebody)):
        rate(platform, rater, 2)
        answer_survey(platform, rater, BAD, contact)
    summary = care_workflow.load_care_summary(platform, "pilot", staff_id=campaign.staff_id)
    assert [(text.rater_id, text.contact_info, dict(text.answers)) for text in summary.requests] == [
        (loud.id, "@x", BAD)
    ]
    # Fewer than five raters: no mean.
    assert summary.means["rater_upset"] == (None, 0)
    with platform.database.reading() as tx:
        # Without a request, the contact information is not stored.
        assert tx.scalars(select(CareSurveyTable.contact_info).where(~CareSurveyTable.notify_contact)).all() == [None]
        contents = [json.dumps(text) for text in tx.scalars(select(EventTable.content))]
    options = ratings.ExportOptions(with_text=True)
    exported = b"".join(
        ratings.stream_ratings_csv(platform, "pilot", staff_id=campaign.staff_id, options=options, now=NOW)
    ).decode()
    for word in ("@x", "rater_upset", "me@example.org"):
        assert not any(word in text for text in (*contents, exported))
    assert not audit.audit_campaign(platform, "pilot").faults


def test_a_contact_request_is_settled_once_and_erased_on_withdrawal(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, care=CARE)
    rater = enter(platform, campaign.key)
    rate(platform, rater, 2)
    answer_survey(platform, rater, BAD, ContactRequest(notify=True))
    care_workflow.settle_contact_request(platform, "pilot", rater.id, 0, staff_id=campaign.staff_id, now=NOW)
    assert care_workflow.load_care_summary(platform, "pilot", staff_id=campaign.staff_id).requests[0].settled_at == NOW
    with pytest.raises(NotFound, match="This request is not open"):
        care_workflow.settle_contact_request(platform, "pilot", rater.id, 0, staff_id=campaign.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert care_workflow.load_care_summary(platform, "pilot", staff_id=campaign.staff_id).requests == ()
    with platform.database.reading() as tx:
        assert tx.execute(select(CareSurveyTable)).all() == []


def test_means_are_over_at_least_five_raters(platform: Platform) -> None:
    campaign = open_campaign(platform, 4, care=CARE)

    def load_mean() -> tuple[float | None, int]:
        return care_workflow.load_care_summary(platform, "pilot", staff_id=campaign.staff_id).means["rater_upset"]

    for number in range(5):
        # Four are too few.
        assert load_mean() == (None, 0)
        rater = enter(platform, campaign.key)
        for answer in ("0", "4") if number == 0 else (str(number % 3), str(number % 3)):
            rate(platform, rater, 2)
            answer_survey(platform, rater, {"rater_upset": answer})
    mean, n = load_mean()
    assert mean == pytest.approx((2 + 1 + 2 + 0 + 1) / 5)
    assert n == 5


def test_means_reveal_no_answer_to_a_contact_who_knows_the_shared_ones(platform: Platform) -> None:
    campaign = open_campaign(platform, 4, care=CARE)

    def load_mean() -> tuple[float | None, int]:
        return care_workflow.load_care_summary(platform, "pilot", staff_id=campaign.staff_id).means["rater_upset"]

    def survey(answer: str, *, shared: bool = False) -> None:
        rater = enter(platform, campaign.key)
        rate(platform, rater, 2)
        answer_survey(platform, rater, {"rater_upset": answer}, ContactRequest(notify=shared))

    for _ in range(5):
        survey("4", shared=True)
    for answer in "0123":
        survey(answer)
        assert load_mean() == (None, 0)
    survey("4")
    assert load_mean() == ((5 * 4 + 0 + 1 + 2 + 3 + 4) / 10, 10)
    for answer in "1111":
        survey(answer)
        survey(answer, shared=True)
        assert load_mean() == (3.0, 10)
    survey("1")
    assert load_mean() == ((30 + 9) / 19, 19)


def test_invalid_answers_are_refused(platform: Platform) -> None:
    campaign = open_campaign(platform, 2, care=CARE)
    rater = enter(platform, campaign.key)
    rate(platform, rater, 2)
    with pytest.raises(InvalidInput, match="'7' is not among its answers"):
        answer_survey(platform, rater, {"rater_upset": "7"})
    with pytest.raises(InvalidInput, match=r"It has 501 characters\. Say in 500"):
        answer_survey(platform, rater, {}, ContactRequest(notify=True, contact_info="x" * 501))
    assert current_state(platform, rater).stage == "survey"


def test_a_campaign_without_care_has_no_summary(platform: Platform) -> None:
    campaign = open_campaign(platform)
    with pytest.raises(NotFound, match=r"pilot does not ask raters how they feel: it has no \[care\]"):
        care_workflow.load_care_summary(platform, "pilot", staff_id=campaign.staff_id)


def test_simulated_raters_answer_the_survey(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(care=CARE), items(4), staff_id=staff_id, now=NOW)
    assert run_rehearsal(platform, "pilot", 2, staff_id=staff_id, now=NOW) == 8
    assert care_workflow.load_care_summary(platform, "pilot", staff_id=staff_id).requests == ()


TOPICS = {"Weapons": "weapons", "Self-harm": "harming oneself"}


def items_about(*topics: str) -> tuple[Item, ...]:
    """Return one item for each topic."""
    plain = items(len(topics))
    marked = zip(plain, topics, strict=True)
    return tuple(Item(one.item_id, one.conversation, {"harm_type": topic} if topic else {}) for one, topic in marked)


def open_campaign_about(platform: Platform, *topics: str, **changes: Any) -> CampaignRow:
    staff_id = owner(platform.database)
    draft = definition(care={"topics": TOPICS}, **changes)
    campaigns.create_campaign(platform, draft, items_about(*topics), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)


@pytest.mark.parametrize("replication", [None, 1])
def test_avoided_topics_are_given_to_other_raters(platform: Platform, replication: int | None) -> None:
    topics = ("Weapons", "Legal, Self-harm", "", "Weapons and other things", "Legal,Weapons")
    changes = {} if replication is None else {"replication": replication}
    campaign = open_campaign_about(platform, *topics, **changes)
    careful, other = enter(platform, campaign.key), enter(platform, campaign.key)
    assert current_state(platform, careful).stage == "topics"
    care_workflow.avoid_topics(platform, careful, ["Weapons"], now=NOW)
    assert sorted(rate_all(platform, careful)) == ["item-1", "item-2", "item-3"]
    assert current_state(platform, careful).stage == "done"
    care_workflow.avoid_topics(platform, other, [], now=NOW)
    assert sorted(rate_all(platform, other)) == [f"item-{n}" for n in (range(5) if replication is None else (0, 4))]
    assert not audit.audit_campaign(platform, "pilot").faults


def test_avoided_topics_are_chosen_once_and_are_not_disclosed(platform: Platform) -> None:
    campaign = open_campaign_about(platform, "Weapons", "")
    rater = enter(platform, campaign.key)
    with pytest.raises(InvalidInput, match=r"There is no topic 'weapons'\. There are 'Weapons', 'Self-harm'"):
        care_workflow.avoid_topics(platform, rater, ["weapons"], now=NOW)
    for topics in (["Self-harm"], ["Weapons"]):
        care_workflow.avoid_topics(platform, rater, topics, now=NOW)
    assert current_state(platform, rater).rater.excluded_topics == "Self-harm"
    rate_all(platform, rater)
    with platform.database.reading() as tx:
        assert not any("Self-harm" in json.dumps(one) for one in tx.scalars(select(EventTable.content)))
    parts = ratings.stream_ratings_csv(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    assert "Self-harm" not in b"".join(parts).decode()
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    with platform.database.reading() as tx:
        assert tx.scalars(select(RaterTable.excluded_topics)).all() == [None]


def test_avoiding_every_topic_finishes_the_visit(platform: Platform) -> None:
    rater = enter(platform, open_campaign_about(platform, "Weapons", "Self-harm").key)
    assert care_workflow.avoid_topics(platform, rater, list(TOPICS), now=NOW).stage == "done"


def test_topics_added_later_apply_to_planned_items(platform: Platform) -> None:
    staff_id = owner(platform.database)
    campaigns.create_campaign(
        platform, definition(), items_about("Weapons", "Weapons", "", "Weapons"), staff_id=staff_id, now=NOW
    )
    campaign = campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    rater = enter(platform, campaign.key)
    assignment = current_state(platform, rater).assignment
    assert assignment is not None
    campaigns.change_state(platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    campaigns.revise_campaign(platform, "pilot", definition(care={"topics": TOPICS}), staff_id=staff_id, now=NOW)
    campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
    care_workflow.avoid_topics(platform, rater, ["Weapons"], now=NOW)
    # The assignment that was displayed before is removed as well.
    assert rate_all(platform, rater) == ["item-2"]
    assert not audit.audit_campaign(platform, "pilot").faults


def test_questions_of_a_survey_are_optional() -> None:
    survey = {"name": "mine", "about": "rater", "languages": ["en"], "title": "You"}
    needed = {**survey, "questions": [{"name": "rater_mood", "text": "How?", "scale": ["bad", "good"]}]}
    care = definition(care={"survey": needed}).care
    assert care is not None
    assert [question.required for question in care.survey.questions] == [False]
