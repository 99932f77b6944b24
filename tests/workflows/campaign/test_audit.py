"""The log of what happened: whatever is changed, taken out or put in is found, and a withdrawal breaks nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select, update
from tests.support.campaigns import AGREED, NOW, open_campaign
from tests.support.raters import enter, given, rate_all

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
class Worked:
    """A campaign in which two raters have rated all."""

    platform: Platform
    kept: CampaignRow
    raters: tuple[str, str]

    def do(self, change: Change) -> None:
        with self.platform.database.writing() as tx:
            change(tx)

    def kinds(self) -> list[str]:
        with self.platform.database.reading() as tx:
            query = select(EventTable.kind).where(EventTable.campaign_id == self.kept.id).order_by(EventTable.number)
            return list(tx.scalars(query))


@pytest.fixture
def worked(platform: Platform) -> Worked:
    kept = open_campaign(platform, 2)
    pair = enter(platform, kept.key), enter(platform, kept.key)
    for rater in pair:
        rate_all(platform, rater)
    return Worked(platform, kept, (pair[0].id, pair[1].id))


def test_what_happened_is_told_in_its_order(worked: Worked) -> None:
    one = ["item_offered", "item_submitted"]
    assert worked.kinds() == ["created", "state_changed", *["entered", "consented"] * 2, *(one * 2) * 2]
    found = audit_campaign(worked.platform, "pilot")
    assert found.holds
    assert (found.n, found.n_erased, found.broken, found.faults) == (14, 0, None, ())
    again = audit_campaign(worked.platform, "pilot", known=found.head)
    assert (again.holds, again.head, again.knows) == (True, found.head, True)
    assert not audit_campaign(worked.platform, "pilot", known="0" * 64).holds


def test_a_head_that_was_kept_is_found_among_later_events(worked: Worked) -> None:
    before = audit_campaign(worked.platform, "pilot").head
    campaigns.change_state(worked.platform, "pilot", "closed", staff_id=worked.kept.staff_id, now=NOW)
    after = audit_campaign(worked.platform, "pilot", known=before)
    assert (after.n, after.knows, after.holds) == (15, True, True)
    assert after.head != before


def at(place: int) -> Any:
    return EventTable.sequence == place


TAMPERED: dict[str, tuple[Change, int, str]] = {
    "a content": (
        lambda tx: tx.execute(update(EventTable).where(at(2)).values(content={"to": "draft"})),
        2,
        "state_changed",
    ),
    "a kind": (
        lambda tx: tx.execute(update(EventTable).where(at(8)).values(kind="item_skipped")),
        8,
        "is not what was written",
    ),
    "a time": (
        lambda tx: tx.execute(update(EventTable).where(at(3)).values(at=NOW.replace(hour=1))),
        3,
        "not what was",
    ),
    "who it was": (
        lambda tx: tx.execute(update(EventTable).where(at(3)).values(rater_id="x")),
        3,
        "not what was written",
    ),
    "a salt": (lambda tx: tx.execute(update(EventTable).where(at(5)).values(salt="0" * 32)), 5, "not what was written"),
    "no salt": (lambda tx: tx.execute(update(EventTable).where(at(5)).values(salt=None)), 5, "its salt was not"),
    "a digest": (lambda tx: tx.execute(update(EventTable).where(at(4)).values(digest="1" * 64)), 4, "is not what was"),
    "a link": (
        lambda tx: tx.execute(update(EventTable).where(at(4)).values(chain_digest="1" * 64)),
        4,
        "does not follow",
    ),
    "one is gone": (
        lambda tx: tx.execute(delete(EventTable).where(at(6))),
        6,
        "next one that is there has the place 7",
    ),
    "the last is gone": (lambda tx: tx.execute(delete(EventTable).where(at(14))), 14, "to have 14 events, and 13 are"),
    "the head": (
        lambda tx: tx.execute(update(EventChainTable).values(head_digest="1" * 64)),
        14,
        "not the one that is kept as",
    ),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_the_first_break_is_named(worked: Worked, how: str) -> None:
    assert audit_campaign(worked.platform, "pilot").holds
    change, place, why = TAMPERED[how]
    worked.do(change)
    broken = audit_campaign(worked.platform, "pilot").broken
    assert broken is not None
    assert broken.sequence == place
    assert why in broken.reason


def final(tx: Connection) -> Any:
    return tx.scalar(select(SaveTable.number).where(SaveTable.final).order_by(SaveTable.number).limit(1))


def change_save(**values: Any) -> Change:
    return lambda tx: tx.execute(update(SaveTable).where(SaveTable.number == final(tx)).values(**values))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda tx: tx.execute(update(AnswerTable).values(value='"Yes"')), "are not what was submitted"),
        (
            lambda tx: tx.execute(delete(AnswerTable).where(AnswerTable.save_number == final(tx))),
            "are not what was submitted",
        ),
        (change_save(visible_ms=9), "are not what was submitted"),
        (change_save(final=False), "were submitted, and are gone"),
        (change_save(key="k"), "were never submitted"),
        (lambda tx: tx.execute(update(ItemTable).values(load=9)), "is said to have 9 raters, and has 2"),
        (lambda tx: tx.execute(update(CampaignTable).values(n_raters=1)), "let in 1 raters, and has 2"),
    ],
)
def test_what_no_longer_agrees_with_the_events_is_told(worked: Worked, change: Change, told: str) -> None:
    assert audit_campaign(worked.platform, "pilot").holds
    worked.do(change)
    found = audit_campaign(worked.platform, "pilot")
    assert found.broken is None
    assert not found.holds
    assert any(told in fault for fault in found.faults), found.faults


@pytest.mark.parametrize("linked", [True, False], ids=["linked", "not linked yet"])
def test_a_withdrawal_erases_what_was_told_and_breaks_nothing(worked: Worked, linked: bool) -> None:
    platform, (goes, stays) = worked.platform, worked.raters
    before = audit_campaign(platform, "pilot").head if linked else None
    for _ in range(2):
        withdrawal.withdraw_rater(platform, goes, now=NOW)
    found = audit_campaign(platform, "pilot", known=before)
    assert found.holds
    assert (found.n, found.n_erased) == (15, 6) if linked else (9, 0)
    with platform.database.reading() as tx:
        rows = tx.execute(select(EventTable.__table__).where(EventTable.kind == "erased")).all()
        assert {(row.at, row.rater_id, row.content, row.salt) for row in rows} <= {(None, None, None, None)}
        assert tx.scalar(select(EventTable.number).where(EventTable.rater_id == goes)) is None
        assert len(tx.scalars(select(EventTable.number).where(EventTable.rater_id == stays)).all()) == 6
        (told,) = events.iterate_events(tx, worked.kept.id, "withdrawn")
        assert (told.rater_id, told.staff_id, told.content) == (None, None, {})


def test_previews_are_nothing_that_happened(platform: Platform) -> None:
    open_campaign(platform, 2)
    rater = enter(platform, "", rehearsal=True)
    rate_all(platform, rater)
    with platform.database.reading() as tx:
        kinds = list(tx.scalars(select(EventTable.kind)))
    assert kinds == ["created", "state_changed"]
    assert audit_campaign(platform, "pilot").holds


def test_a_campaign_that_is_older_than_the_log_has_no_faults(worked: Worked) -> None:
    worked.do(lambda tx: tx.execute(delete(EventTable)))
    arrival = Arrival("pilot", str(worked.kept.key), "en")
    rater, _ = enrolment.enrol_rater(worked.platform, arrival, AGREED, now=NOW.replace(hour=23))
    at = journey.next_state(worked.platform, rater, now=NOW.replace(hour=23)).assignment
    assert at is not None
    rating.submit_answers(worked.platform, rater, at.id, "k", given(), now=NOW.replace(hour=23))
    found = audit_campaign(worked.platform, "pilot")
    assert (found.holds, found.n) == (True, 5)


def test_many_link_at_once_and_each_event_has_one_place(worked: Worked) -> None:
    with ThreadPoolExecutor(8) as threads:
        linked = list(threads.map(lambda _: audit_workflow.link_pending_events(worked.platform), range(8)))
    assert sum(linked) == 14
    assert audit_campaign(worked.platform, "pilot").holds
