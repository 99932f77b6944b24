"""The event log: every change, removal or insertion is detected, and a withdrawal breaks nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, null, select, update
from tests.support.campaigns import NOW, open_campaign
from tests.support.raters import enter, rate_all

from dissensus.store import audit_log
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.consents import ConsentTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import audit as audit_workflow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal

Change = Callable[[Connection], object]
ERASED: dict[str, Any] = {**dict.fromkeys(("at", "rater_id", "staff_id", "salt")), "content": null()}


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
    second_audit = audit_campaign(rated.platform, "pilot", heads=[audit.head])
    assert (second_audit.holds, second_audit.head, second_audit.missing_heads) == (True, audit.head, ())
    assert not audit_campaign(rated.platform, "pilot", heads=["0" * 64]).holds


def test_a_campaign_without_raters_has_no_faults(platform: Platform) -> None:
    open_campaign(platform, 2)
    audit = audit_campaign(platform, "pilot")
    assert (audit.holds, audit.faults) == (True, ())


def test_an_earlier_head_is_recognized_after_later_events(rated: RatedCampaign) -> None:
    before = audit_campaign(rated.platform, "pilot").head
    campaigns.change_state(rated.platform, "pilot", "closed", staff_id=rated.campaign.staff_id, now=NOW)
    after = audit_campaign(rated.platform, "pilot", heads=[before])
    assert (after.n, after.missing_heads, after.holds) == (15, (), True)
    assert after.head != before


MANIPULATIONS: dict[str, tuple[Change, str]] = {
    "the consent of all raters": (
        lambda tx: tx.execute(update(ConsentTable).where(ConsentTable.purpose == "release").values(agreed=True)),
        "changed after the log was written: purposes",
    ),
    "a rater who did not withdraw": (
        lambda tx: tx.execute(update(RaterTable).where(RaterTable.number == 0).values(state="withdrawn")),
        "the log has no withdrawal of this rater",
    ),
    "an event that is dressed as erased": (
        lambda tx: tx.execute(update(EventTable).where(EventTable.sequence == 8).values(kind="erased", **ERASED)),
        "Event 8 was erased, and the log has no withdrawal of its rater",
    ),
}
"""Manipulations on both databases; `test_audit_manipulations` has all."""


@pytest.mark.parametrize("manipulation", MANIPULATIONS)
def test_manipulations_are_named_on_both_databases(rated: RatedCampaign, manipulation: str) -> None:
    assert audit_campaign(rated.platform, "pilot").holds
    change, message = MANIPULATIONS[manipulation]
    rated.do(change)
    audit = audit_campaign(rated.platform, "pilot")
    assert not audit.holds
    assert any(message in fault for fault in audit.faults), audit.faults


@pytest.mark.parametrize("linked", [True, False], ids=["linked", "not linked yet"])
def test_a_withdrawal_erases_events_and_the_chain_still_holds(rated: RatedCampaign, linked: bool) -> None:
    platform, (withdrawn_id, remaining_id) = rated.platform, rated.raters
    before = [audit_campaign(platform, "pilot").head] if linked else None
    for _ in range(2):
        withdrawal.withdraw_rater(platform, withdrawn_id, now=NOW)
    audit = audit_campaign(platform, "pilot", heads=before)
    assert audit.holds
    assert (audit.n, audit.n_erased) == (15, 6) if linked else (9, 0)
    with platform.database.reading() as tx:
        rows = tx.execute(select(EventTable.__table__).where(EventTable.kind == "erased")).all()
        assert {(row.at, row.rater_id, row.content, row.salt) for row in rows} <= {(None, None, None, None)}
        assert tx.scalar(select(EventTable.number).where(EventTable.rater_id == withdrawn_id)) is None
        assert len(tx.scalars(select(EventTable.number).where(EventTable.rater_id == remaining_id)).all()) == 6
        subjects = tx.scalars(select(EventTable.subject_id).where(EventTable.kind.in_(("erased", "withdrawn")))).all()
        assert len(set(subjects)) == 1
        assert tx.scalar(select(RaterTable.subject_id).where(RaterTable.id == withdrawn_id)) is None
        (withdrawal_event,) = audit_log.iterate_events(tx, rated.campaign.id, "withdrawn")
        assert (withdrawal_event.rater_id, withdrawal_event.staff_id, withdrawal_event.content) == (None, None, {})


def test_previews_log_no_event(platform: Platform) -> None:
    open_campaign(platform, 2)
    rater = enter(platform, "", rehearsal=True)
    rate_all(platform, rater)
    with platform.database.reading() as tx:
        kinds = list(tx.scalars(select(EventTable.kind)))
    assert kinds == ["created", "state_changed"]
    assert audit_campaign(platform, "pilot").holds


def test_summaries_are_compared_unless_something_is_newer(rated: RatedCampaign) -> None:
    platform, later = rated.platform, NOW + timedelta(hours=1)
    assert not audit_campaign(platform, "pilot").compares_summaries
    refresh_snapshots(platform, MonitoringCache(), now=later)
    current = audit_campaign(platform, "pilot")
    assert (current.compares_summaries, current.faults) == (True, ())
    campaigns.change_state(platform, "pilot", "closed", staff_id=rated.campaign.staff_id, now=later)
    assert not audit_campaign(platform, "pilot").compares_summaries


def test_concurrent_linking_gives_each_event_one_sequence_number(rated: RatedCampaign) -> None:
    with ThreadPoolExecutor(8) as threads:
        linked = list(threads.map(lambda _: audit_workflow.link_pending_events(rated.platform), range(8)))
    assert sum(linked) == 14
    assert audit_campaign(rated.platform, "pilot").holds
