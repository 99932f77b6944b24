"""Members of campaigns in each role."""

import re
from typing import Any

import httpx
from tests.support.campaigns import NOW, definition, items
from tests.support.staff_site import StaffSite, send, token_of

from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

PASSWORD = "correct horse battery"


def open_pilot(staff_site: StaffSite, **changes: Any) -> CampaignRow:
    owner_id = create_pilot(staff_site, **changes)
    return campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=owner_id, now=NOW)


def create_pilot(staff_site: StaffSite, **changes: Any) -> str:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition(**changes), items(2), staff_id=owner_id, now=NOW)
    return owner_id


def join_pilot(staff_site: StaffSite, name: str, role: str, owner: str = "ada") -> httpx.Client:
    """A browser of a member who joined the pilot by a link."""
    page = send(staff_site.owner(owner), "/campaigns/pilot/staff/invite", role=role)
    (link,) = re.findall(r'value="(http[^"]+/join/[^"]+)"', page.text)
    browser = staff_site.stranger()
    form = {"form_token": token_of(browser.get(link)), "name": name, "password": PASSWORD, "repeated": PASSWORD}
    joined = browser.post(link, data=form)
    assert (joined.status_code, joined.headers["location"]) == (303, "/campaigns/pilot")
    return browser
