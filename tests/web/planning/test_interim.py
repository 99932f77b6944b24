"""Interim page: shares of raters who finished, advice, and what roles without rights on raters see."""

import re
from html import unescape
from typing import TYPE_CHECKING, Final

import httpx
import numpy as np
import pytest
from sqlalchemy import select, update
from tests.support.campaigns import NOW
from tests.support.monitored_campaigns import add_crowd, member, open_monitored_campaign, read
from tests.support.staff_browsers import House

from dissensus.stats.planning.confidence_sequence import confidence_sequence
from dissensus.store.campaigns import CampaignRow
from dissensus.store.lists.raters import load_rater_figures
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots

if TYPE_CHECKING:
    from dissensus.schema.campaign.roles import Role

PAGE = "/campaigns/pilot/monitoring/interim"
ROLES: Final[tuple[tuple["Role", bool], ...]] = (("reviewer", True), ("analyst", False))
"""Roles, and whether they see single raters."""


@pytest.fixture
def campaign(house: House) -> CampaignRow:
    """A campaign of twelve raters, of whom all but the first have finished."""
    row = open_monitored_campaign(house.platform)
    add_crowd(house.platform, row)
    refresh_snapshots(house.platform, MonitoringCache(), now=NOW)
    with house.platform.database.writing() as tx:
        tx.execute(update(RaterTable).where(RaterTable.number > 0).values(state="finished", changed_at=NOW))
    return row


def cells_of(page: httpx.Response, heading: str) -> list[str]:
    """The cells of the row with a heading."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page.text, re.DOTALL)
    row = {unescape(name): cells for name, cells in rows}[heading]
    return [re.sub(r"<[^>]+>", " ", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]


def test_a_look_has_the_sequence_of_raters_who_finished(house: House, campaign: CampaignRow) -> None:
    owner = house.owner("owner")
    page = owner.get(PAGE)
    with house.platform.database.reading() as tx:
        ids = tx.scalars(select(RaterTable.id).where(RaterTable.number > 0).order_by(RaterTable.number)).all()
        figures = load_rater_figures(tx, campaign.id)
    # The last raters met no item without enough ratings.
    order = [rater_id for rater_id in ids if rater_id in figures]
    counts = np.array([figures[rater_id].answers["Q_safe"] for rater_id in order])
    sequence = confidence_sequence(counts[:, -1] / counts.sum(axis=1))
    n, share, _, interval, reached = cells_of(page, "All raters")
    assert (int(n), share) == (len(order), f"{sequence.estimate[-1]:.3f}")
    assert (interval, reached) == (f"{sequence.low[-1]:.3f} to {sequence.high[-1]:.3f}", "no")
    assert "Next raters: of the pool, whose interval is the widest" in read(page)
    assert cells_of(owner.get(f"{PAGE}?half_width=0.9"), "All raters")[-1] == "yes"

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


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_analysts_see_no_small_group_and_observers_no_look(house: House, campaign: CampaignRow) -> None:
    with house.platform.database.writing() as tx:
        few = select(RaterTable.id).where(RaterTable.number > 3)
        tx.execute(update(RaterTable).where(RaterTable.id.in_(few)).values(state="rating"))
    for role, sees in ROLES:
        page = member(house, campaign, role).get(PAGE)
        assert ("All raters</th>" in page.text) is sees
        assert ("Fewer than five raters have finished." in read(page)) is not sees
    with house.platform.database.writing() as tx:
        tx.execute(update(RaterTable).values(state="finished"))
    by_age = {role: house.owner(role).get(f"{PAGE}?axis=rater_age") for role, _ in ROLES}
    assert "Prefer not to say" not in by_age["reviewer"].text
    groups = {group: int(cells_of(by_age["reviewer"], group)[0]) for group in ("18-29", "30-49", "50+")}
    hidden = [group for group, n in groups.items() if n < 5]
    assert hidden
    assert not any(f'<th scope="row">{group}' in by_age["analyst"].text for group in hidden)
    assert "of whom few have finished" in read(by_age["analyst"])
    assert member(house, campaign, "observer").get(PAGE).status_code == 403
