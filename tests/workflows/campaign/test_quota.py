"""Quota progress: the pace of entries."""

from datetime import timedelta

from tests.support.campaigns import NOW
from tests.support.quota_campaigns import enter, open_seat_campaign, screen

from dissensus.workflows.campaign.quota import load_quota_progress
from dissensus.workflows.platform.platform import Platform

CELL = "young × small"


def test_the_pace_is_that_since_the_first_entry_or_of_the_last_day(platform: Platform) -> None:
    campaign = open_seat_campaign(platform, seats=9)

    def admit(hours: float, *, rehearsal: bool = False) -> None:
        now = NOW + timedelta(hours=hours)
        screen(platform, enter(platform, campaign.key, rehearsal=rehearsal, now=now), now=now)

    def load_pace(hours: float) -> tuple[int, float]:
        now = NOW + timedelta(hours=hours)
        _, cells = load_quota_progress(platform, "pilot", staff_id=campaign.staff_id, now=now)
        (cell,) = (cell for cell in cells if cell.cell == CELL)
        return cell.n_lately, cell.hours

    admit(0, rehearsal=True)
    assert load_pace(5) == (0, 1.0)
    admit(8)
    admit(8)
    # Less than an hour counts as one, so that the first minutes promise nothing.
    assert [load_pace(hours) for hours in (8, 8.5, 14)] == [(2, 1.0), (2, 1.0), (2, 6.0)]
    admit(30)
    assert [load_pace(hours) for hours in (32, 33, 54, 55)] == [(3, 24.0), (1, 24.0), (1, 24.0), (0, 24.0)]
