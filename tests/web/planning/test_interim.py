"""Interim page: shares of raters who finished, advice, and roles that see them."""

import re
from datetime import timedelta
from html import unescape
from typing import TYPE_CHECKING, Final

import httpx
import numpy as np
import pytest
from sqlalchemy import select, update
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, definition
from tests.support.monitored_campaigns import ABOUT, add_crowd, member, open_monitored_campaign, read
from tests.support.staff_site import StaffSite

from dissensus.stats.planning.confidence_sequence import confidence_sequence
from dissensus.store.campaigns import CampaignRow, set_definition
from dissensus.store.lists.raters import load_rater_figures
from dissensus.store.planning.finish_order import list_finished_raters
from dissensus.store.raters import RaterTable, set_rater_state
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.rater.withdrawal import withdraw_rater

if TYPE_CHECKING:
    from dissensus.schema.campaign.roles import Role

PAGE = "/campaigns/pilot/monitoring/interim"
ROLES: Final[tuple[tuple["Role", bool], ...]] = (("reviewer", True), ("analyst", False), ("observer", False))
"""Roles, and whether they see single raters, thus looks."""


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    """A campaign of twelve raters, of whom all but the first have finished."""
    row = open_monitored_campaign(staff_site.platform)
    add_crowd(staff_site.platform, row)
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=NOW)
    with staff_site.platform.database.writing() as tx:
        for rater_id in tx.scalars(select(RaterTable.id).where(RaterTable.number > 0)).all():
            set_rater_state(tx, rater_id, "finished", now=NOW)
    return row


def cells_of(page: httpx.Response, heading: str) -> list[str]:
    """The cells of the row with a heading."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page.text, re.DOTALL)
    row = {unescape(name): cells for name, cells in rows}[heading]
    return [re.sub(r"<[^>]+>", " ", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]


@sqlite_only
def test_a_look_has_the_sequence_of_raters_who_finished(staff_site: StaffSite, campaign: CampaignRow) -> None:
    owner = staff_site.owner("owner")
    page = owner.get(PAGE)
    with staff_site.platform.database.reading() as tx:
        ids = tx.scalars(select(RaterTable.id).where(RaterTable.number > 0).order_by(RaterTable.number)).all()
        figures = load_rater_figures(tx, campaign.id)
    # The last raters met no item without enough ratings.
    order = [rater_id for rater_id in ids if rater_id in figures]
    counts = np.array([figures[rater_id].answers["Q_safe"] for rater_id in order])
    sequence = confidence_sequence(counts[:, -1] / counts.sum(axis=1), confidence=0.95)
    n, share, _, interval, reached = cells_of(page, "All raters")
    assert (int(n), share) == (len(order), f"{sequence.estimate[-1]:.3f}")
    assert (interval, reached) == (f"{sequence.low[-1]:.3f} to {sequence.high[-1]:.3f}", "no")
    assert "Next raters: of the pool, whose interval is the widest" in read(page)
    assert cells_of(owner.get(f"{PAGE}?half_width=0.9"), "All raters")[-1] == "yes"
    with staff_site.platform.database.writing() as tx:
        # Who rates more items and finishes again keeps the place.
        set_rater_state(tx, order[0], "finished", now=NOW + timedelta(hours=1))
        assert [rater.id for rater in list_finished_raters(tx, campaign.id)] == ids

    by_gender = owner.get(f"{PAGE}?axis=rater_gender&answer=No")
    sizes = [int(cells_of(by_gender, group)[0]) for group in ("Woman", "Man")]
    assert sum(sizes) == len(order)
    assert int(cells_of(by_gender, "Woman − Man")[0]) == min(sizes)
    for query, words in (
        ("half_width=2", "give one between 0 and 1"),
        ("half_width=wide", "'wide' is not a half-width"),
        ("axis=shoes", "'shoes' is not an axis. Choose one of"),
        ("answer=Perhaps", "'Perhaps' is not an answer"),
    ):
        refused = owner.get(f"{PAGE}?{query}")
        assert (refused.status_code, words in read(refused)) == (422, True)


@sqlite_only
def test_looks_need_the_right_to_see_raters_and_current_figures(staff_site: StaffSite, campaign: CampaignRow) -> None:
    """Successive looks show the share of each newcomer, and differences those of hidden groups."""
    for role, sees in ROLES:
        browser = member(staff_site, campaign, role)
        assert (browser.get(PAGE).status_code == 200) is sees
        assert ("Interim look" in browser.get(PAGE.rpartition("/")[0]).text) is sees
    reviewer = staff_site.owner("reviewer")
    by_age = reviewer.get(f"{PAGE}?axis=rater_age")
    assert "All raters</th>" not in by_age.text
    assert "Prefer not to say" not in by_age.text
    assert [int(cells_of(by_age, group)[0]) > 0 for group in ("18-29", "30-49", "50+")] == [True] * 3
    n_before = int(cells_of(reviewer.get(PAGE), "All raters")[0])
    with staff_site.platform.database.writing() as tx:
        late = select(RaterTable.id).where(RaterTable.number == 1)
        tx.execute(update(RaterTable).where(RaterTable.id.in_(late)).values(finished_at=NOW + timedelta(minutes=1)))
        first = tx.scalars(select(RaterTable.id).where(RaterTable.number == 2)).one()
    later = reviewer.get(PAGE)
    assert int(cells_of(later, "All raters")[0]) == n_before - 1
    assert "Others have finished since the last figures" in read(later)
    # A quota decides who comes next: all raters together have no mean that stays.
    quota = {"seats": 5, "rest": 5, "axes": {"rater_gender": {"Woman": ["Woman"], "Man": ["Man"]}}}
    with staff_site.platform.database.writing() as tx:
        set_definition(tx, campaign.id, definition(demographics=ABOUT, replication=10, quota=quota), now=NOW)
        tx.execute(update(RaterTable).where(RaterTable.id == first).values(cell="Man"))
    by_cell = reviewer.get(PAGE)
    assert (cells_of(by_cell, "Man")[0], cells_of(by_cell, "Woman")[0]) == ("1", "0")
    assert "All raters" not in by_cell.text
    withdraw_rater(staff_site.platform, first, now=NOW)
    assert "The figures of the raters who finished are not computed yet" in read(reviewer.get(PAGE))
