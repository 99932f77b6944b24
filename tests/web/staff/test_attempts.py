"""Attempts page: success, red-teamers, repetition and reviews."""

import re
from html import unescape

import pytest
from tests.databases import sqlite_only
from tests.support.attack_attempts import ATTACK, add_attempt
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.raters import enter
from tests.support.staff_members import join_pilot
from tests.support.staff_site import StaffSite


@pytest.fixture
def attempts(staff_site: StaffSite) -> None:
    """Two red-teamers; one repeats an attack and discloses an address."""
    campaign = open_chat_campaign(staff_site.platform, chat={"max_conversations": 9})
    first, second = enter(staff_site.platform, campaign.key), enter(staff_site.platform, campaign.key)
    add_attempt(staff_site.platform, first, ATTACK, 4)
    add_attempt(staff_site.platform, first, f"{ATTACK} ann@example.org", 0)
    add_attempt(staff_site.platform, first, "Something else entirely, which nobody tried before.", None)
    add_attempt(staff_site.platform, second, "Insult me.", 3)
    add_attempt(staff_site.platform, second, "May I swim?", None, "helpful")


def rows(text: str) -> list[list[str]]:
    lines = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in line] for line in cells]


@sqlite_only
@pytest.mark.usefixtures("attempts")
def test_an_owner_sees_attempts_and_red_teamers(staff_site: StaffSite) -> None:
    browser = staff_site.owner("owner")
    assert 'href="/campaigns/pilot/attempts"' in browser.get("/campaigns/pilot").text
    page = browser.get("/campaigns/pilot/attempts")
    assert page.status_code == 200
    cells = rows(page.text)
    (total,) = [row for row in cells if row[0] == "All attempts"]
    # Three of four attempts are rated, two of them 3 or more; the other mode has no success rating.
    assert total[1:3] == ["4", "0.67"]
    assert ["Rater 1", "3", "", "1", "2", "1"] in cells
    assert ["Rater 2", "1", "", "1", "0", "0"] in cells
    assert "email address in 1" in page.text
    assert ATTACK[:20] not in page.text


@sqlite_only
@pytest.mark.usefixtures("attempts")
def test_only_owners_and_reviewers_see_attempts(staff_site: StaffSite) -> None:
    for role in ("analyst", "expert", "carer"):
        browser = join_pilot(staff_site, f"a {role}", role, "owner")
        assert browser.get("/campaigns/pilot/attempts").status_code == 403
    assert join_pilot(staff_site, "a reviewer", "reviewer", "owner").get("/campaigns/pilot/attempts").status_code == 200
    assert staff_site.owner("eve").get("/campaigns/pilot/attempts").status_code == 404


@sqlite_only
def test_without_attempts_the_page_says_so(staff_site: StaffSite) -> None:
    open_chat_campaign(staff_site.platform)
    page = staff_site.owner("owner").get("/campaigns/pilot/attempts")
    assert (page.status_code, "pilot has no attempt yet" in page.text) == (200, True)
    text = page.text.partition("<main")[2]
    assert 'href="/campaigns/pilot/conversations"' in text, "a helpful campaign goes on to its conversations"
