"""The event log: every change, removal or insertion is detected, and a withdrawal breaks nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, update
from tests.support.campaigns import AGREED, NOW, open_campaign
from tests.support.raters import enter, make_save, rate_all

from dissensus.store import events
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.campaigns import CampaignRow, CampaignTable
from dissensus.store.events import EventChainTable, EventTable
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import audit as audit_workflow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

Change = Callable[[Connection], object]


@dataclass(frozen=True)
class RatedCampaign:
    """A campaign in which two raters have rated all."""

    platform: Platform
    campaign: CampaignRow
    raters: tuple[str, str]

    def do(self, change: Change) -> None:
        with self.platform.database.writing() as tx:
            change(tx)

    def kinds(self) -> list[str]:
        with self.platform.database.reading() as tx:
            query = (
                select(EventTable.kind).where(EventTable.campaign_id == self.campaign.id).order_by(EventTable.number)
            )
            return list(tx.scalars(query))


@pytest.fixture
def rated(platform: Platform) -> RatedCampaign:
    campaign = open_campaign(platform, 2)
    raters = enter(platform, campaign.key), enter(platform, campaign.key)
    for rater in raters:
        rate_all(platform, rater)
    return RatedCampaign(platform, campaign, (raters[0].id, raters[1].id))


def test_events_are_logged_in_order(rated: RatedCampaign) -> None:
    rating_events = ["item_offered", "item_submitted"]
    assert rated.kinds() == ["created", "state_changed", *["entered", "consented"] * 2, *(rating_events * 2) * 2]
    audit = audit_campaign(rated.platform, "pilot")
    assert audit.holds
    assert (audit.n, audit.n_erased, audit.first_break, audit.faults) == (14, 0, None, ())
    second_audit = audit_campaign(rated.platform, "pilot", known=audit.head)
    assert (second_audit.holds, second_audit.head, second_audit.contains_head) == (True, audit.head, True)
    assert not audit_campaign(rated.platform, "pilot", known="0" * 64).holds


def test_an_earlier_head_is_recognized_after_later_events(rated: RatedCampaign) -> None:
    before = audit_campaign(rated.platform, "pilot").head
    campaigns.change_state(rated.platform, "pilot", "closed", staff_id=rated.campaign.staff_id, now=NOW)
    after = audit_campaign(rated.platform, "pilot", known=before)
    assert (after.n, after.contains_head, after.holds) == (15, True, True)
    assert after.head != before


def at_sequence(sequence: int) -> Any:
    return EventTable.sequence == sequence


TAMPERED: dict[str, tuple[Change, int, str]] = {
    "a content": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(2)).values(content={"to": "draft"})),
        2,
        "state_changed",
    ),
    "a kind": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(8)).values(kind="item_skipped")),
        8,
        "does not match its digest",
    ),
    "a time": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(3)).values(at=NOW.replace(hour=1))),
        3,
        "does not match its digest",
    ),
    "who it was": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(3)).values(rater_id="x")),
        3,
        "does not match its digest",
    ),
    "a salt": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(5)).values(salt="0" * 32)),
        5,
        "does not match its digest",
    ),
    "no salt": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(5)).values(salt=None)),
        5,
        "its salt was not",
    ),
    "a digest": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(4)).values(digest="1" * 64)),
        4,
        "does not match its digest",
    ),
    "a link": (
        lambda tx: tx.execute(update(EventTable).where(at_sequence(4)).values(chain_digest="1" * 64)),
        4,
        "does not follow",
    ),
    "one is gone": (
        lambda tx: tx.execute(delete(EventTable).where(at_sequence(6))),
        6,
        "next event has the sequence number 7",
    ),
    "the last is gone": (
        lambda tx: tx.execute(delete(EventTable).where(at_sequence(14))),
        14,
        "should have 14 events, and has 13",
    ),
    "the head": (
        lambda tx: tx.execute(update(EventChainTable).values(head_digest="1" * 64)),
        14,
        "not the stored last one",
    ),
}


@pytest.mark.parametrize("tampering", TAMPERED)
def test_the_first_break_is_named(rated: RatedCampaign, tampering: str) -> None:
    assert audit_campaign(rated.platform, "pilot").holds
    change, sequence, reason = TAMPERED[tampering]
    rated.do(change)
    first_break = audit_campaign(rated.platform, "pilot").first_break
    assert first_break is not None
    assert first_break.sequence == sequence
    assert reason in first_break.reason


def first_final_save(tx: Connection) -> Any:
    return tx.scalar(select(SaveTable.number).where(SaveTable.final).order_by(SaveTable.number).limit(1))


def change_save(**values: Any) -> Change:
    return lambda tx: tx.execute(update(SaveTable).where(SaveTable.number == first_final_save(tx)).values(**values))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tx: tx.execute(update(AnswerTable).values(value='"Yes"')), "differ from those that were submitted"),
        (
            lambda tx: tx.execute(delete(AnswerTable).where(AnswerTable.save_number == first_final_save(tx))),
            "differ from those that were submitted",
        ),
        (change_save(visible_ms=9), "differ from those that were submitted"),
        (change_save(final=False), "were submitted, and are missing"),
        (change_save(key="k"), "the log has no submission of them"),
        (lambda tx: tx.execute(update(ItemTable).values(load=9)), "should have 9 raters, and has 2"),
        (lambda tx: tx.execute(update(CampaignTable).values(n_raters=1)), "should have 1 raters, and has 2"),
    ],
)
def test_rows_that_disagree_with_the_events_are_reported(rated: RatedCampaign, change: Change, message: str) -> None:
    assert audit_campaign(rated.platform, "pilot").holds
    rated.do(change)
    audit = audit_campaign(rated.platform, "pilot")
    assert audit.first_break is None
    assert not audit.holds
    assert any(message in fault for fault in audit.faults), audit.faults


@pytest.mark.parametrize("linked", [True, False], ids=["linked", "not linked yet"])
def test_a_withdrawal_erases_events_and_the_chain_still_holds(rated: RatedCampaign, linked: bool) -> None:
    platform, (withdrawn_id, remaining_id) = rated.platform, rated.raters
    before = audit_campaign(platform, "pilot").head if linked else None
    for _ in range(2):
        withdrawal.withdraw_rater(platform, withdrawn_id, now=NOW)
    audit = audit_campaign(platform, "pilot", known=before)
    assert audit.holds
    assert (audit.n, audit.n_erased) == (15, 6) if linked else (9, 0)
    with platform.database.reading() as tx:
        rows = tx.execute(select(EventTable.__table__).where(EventTable.kind == "erased")).all()
        assert {(row.at, row.rater_id, row.content, row.salt) for row in rows} <= {(None, None, None, None)}
        assert tx.scalar(select(EventTable.number).where(EventTable.rater_id == withdrawn_id)) is None
        assert len(tx.scalars(select(EventTable.number).where(EventTable.rater_id == remaining_id)).all()) == 6
        (withdrawal_event,) = events.iterate_events(tx, rated.campaign.id, "withdrawn")
        assert (withdrawal_event.rater_id, withdrawal_event.staff_id, withdrawal_event.content) == (None, None, {})


def test_previews_log_no_event(platform: Platform) -> None:
    open_campaign(platform, 2)
    rater = enter(platform, "", rehearsal=True)
    rate_all(platform, rater)
    with platform.database.reading() as tx:
        kinds = list(tx.scalars(select(EventTable.kind)))
    assert kinds == ["created", "state_changed"]
    assert audit_campaign(platform, "pilot").holds


def test_a_campaign_that_is_older_than_the_log_has_no_faults(rated: RatedCampaign) -> None:
    rated.do(lambda tx: tx.execute(delete(EventTable)))
    arrival = Arrival("pilot", str(rated.campaign.key), "en")
    rater, _ = enrolment.enrol_rater(rated.platform, arrival, AGREED, now=NOW.replace(hour=23))
    assignment = journey.next_state(rated.platform, rater, now=NOW.replace(hour=23)).assignment
    assert assignment is not None
    rating.submit_answers(rated.platform, rater, assignment.id, "k", make_save(), now=NOW.replace(hour=23))
    audit = audit_campaign(rated.platform, "pilot")
    assert (audit.holds, audit.n) == (True, 5)


def test_concurrent_linking_gives_each_event_one_sequence_number(rated: RatedCampaign) -> None:
    with ThreadPoolExecutor(8) as threads:
        linked = list(threads.map(lambda _: audit_workflow.link_pending_events(rated.platform), range(8)))
    assert sum(linked) == 14
    assert audit_campaign(rated.platform, "pilot").holds
