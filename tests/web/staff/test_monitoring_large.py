"""Monitoring of a campaign with as many raters as DICES-350."""

from datetime import timedelta

import httpx
import pytest
from sqlalchemy import update
from tests.support.campaigns import NOW
from tests.support.rated_campaigns import rated_campaign
from tests.support.staff_site import StaffSite

from dissensus.store.staff import StaffTable
from dissensus.workflows.campaign import overview
from dissensus.workflows.campaign.monitoring import MonitoringCache, load_monitoring, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal

pytestmark = pytest.mark.slow
N_RATERS, N_ITEMS = 123, 40


def pool(platform: Platform) -> tuple[int, int]:
    snapshot = load_monitoring(
        platform, "crowded", staff_id=overview.find_owner_id(platform, "crowded"), now=NOW
    ).snapshot
    assert snapshot is not None
    return snapshot.figures.pool.n_raters, snapshot.figures.pool.n_ratings


def owner(staff_site: StaffSite, staff_id: str) -> httpx.Client:
    """Browser of the owner of the campaign."""
    with staff_site.platform.database.writing() as tx:
        tx.execute(update(StaffTable).where(StaffTable.id == staff_id).values(name="ada"))
    assert (
        sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=staff_site.live.clock()).staff.id == staff_id
    )
    return staff_site.owner("ada")


def test_figures_of_a_large_campaign_are_shown(staff_site: StaffSite) -> None:
    platform, watched = staff_site.platform, MonitoringCache()
    campaign = rated_campaign(platform, N_ITEMS, N_RATERS)
    staff_site.live.clock.forward(hours=6)
    assert refresh_snapshots(platform, watched, now=staff_site.live.clock()) == 1
    assert pool(platform) == (N_RATERS, N_RATERS * N_ITEMS)
    page = owner(staff_site, campaign.staff_id).get("/campaigns/crowded/monitoring")
    assert page.status_code == 200
    assert f"{N_RATERS * N_ITEMS:,}" in page.text
    assert page.text.count('<svg class="span"') > 40
    with platform.database.reading() as tx:
        leaving = str(tx.exec_driver_sql("SELECT id FROM rater LIMIT 1").scalar())
    withdrawal.withdraw_rater(platform, leaving, now=staff_site.live.clock())
    assert refresh_snapshots(platform, watched, now=staff_site.live.clock() + timedelta(seconds=2)) == 1
    followed = load_monitoring(platform, "crowded", staff_id=campaign.staff_id, now=NOW).snapshot
    refresh_snapshots(platform, MonitoringCache(), now=staff_site.live.clock() + timedelta(seconds=4))
    anew = load_monitoring(platform, "crowded", staff_id=campaign.staff_id, now=NOW).snapshot
    assert followed is not None
    assert anew is not None
    assert followed.figures == anew.figures
    assert pool(platform) == (N_RATERS - 1, (N_RATERS - 1) * N_ITEMS)
