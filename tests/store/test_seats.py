"""Seats in the store: those that can be claimed, and screen-outs of campaigns with cells of the same name."""

from datetime import timedelta

import pytest
from tests.support.campaigns import NOW, definition
from tests.support.quota_campaigns import enter, open_seat_campaign

from dissensus.store import seats
from dissensus.store.core.database import Database
from dissensus.store.seats import SeatCounts
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

CELL = "young × small"


@pytest.mark.parametrize(("unseen_for", "claimable"), [(timedelta(), False), (timedelta(microseconds=1), True)])
def test_a_seat_is_claimable_once_its_rater_was_last_seen_before_the_limit(
    database: Database, unseen_for: timedelta, claimable: bool
) -> None:
    platform = Platform(database)
    campaign = open_seat_campaign(platform)
    first, second = (enter(platform, campaign.key) for _ in range(2))
    limit = NOW + unseen_for
    with database.writing() as tx:
        assert seats.claim_seat(tx, campaign.id, CELL, first.id, capacity=1, unseen_since=NOW)
        assert seats.has_free_seat(tx, campaign.id, {CELL: 1}, unseen_since=limit) is claimable
        assert seats.claim_seat(tx, campaign.id, CELL, second.id, capacity=1, unseen_since=limit) is claimable
        assert (seats.has_seat(tx, first.id), seats.has_seat(tx, second.id)) == (not claimable, claimable)


def test_screen_outs_are_counted_by_campaign_and_cell(database: Database) -> None:
    platform = Platform(database)
    pilot = open_seat_campaign(platform)
    other = campaigns.create_campaign(platform, definition("other"), (), staff_id=pilot.staff_id, now=NOW)
    with database.writing() as tx:
        for campaign_id, cell in ((pilot.id, CELL), (pilot.id, "rest"), (other.id, CELL), (pilot.id, CELL)):
            seats.count_screen_out(tx, campaign_id, cell)
        counts = seats.load_seat_counts(tx, pilot.id)
        assert (counts[CELL], counts["rest"]) == (SeatCounts(free=1, screened=2), SeatCounts(free=1, screened=1))
        assert seats.load_seat_counts(tx, other.id) == {CELL: SeatCounts(screened=1)}
