"""The page about attempts: how they went, who made them, what repeats, and what reviewers say."""

import re
from html import unescape

import pytest
from tests.support.attack_attempts import ATTACK, tried
from tests.support.campaigns import NOW
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.raters import enter
from tests.support.staff_browsers import House
from tests.support.staff_members import member

from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import attempts as attempts_workflow
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import withdrawal


@pytest.fixture
def attempts(house: House) -> RaterRow:
    """Two red-teamers; one repeats an attack and gives an address away."""
    kept = open_chat_campaign(house.platform, chat={"most": 9})
    one, other = enter(house.platform, kept.key), enter(house.platform, kept.key)
    tried(house.platform, one, ATTACK, 4)
    tried(house.platform, one, f"{ATTACK} ann@example.org", 0)
    tried(house.platform, one, "Something else entirely, which nobody tried before.", None)
    tried(house.platform, other, "Insult me.", 3)
    tried(house.platform, other, "May I swim?", None, "helpful")
    return one


def rows(text: str) -> list[list[str]]:
    lines = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.S) for line in lines]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in line] for line in cells]


@pytest.mark.usefixtures("attempts")
def test_an_owner_sees_how_it_went_and_who_tried(house: House) -> None:
    browser = house.owner("owner")
    assert 'href="/campaigns/pilot/attempts"' in browser.get("/campaigns/pilot").text
    page = browser.get("/campaigns/pilot/attempts")
    assert page.status_code == 200
    found = rows(page.text)
    (everything,) = [row for row in found if row[0] == "All attempts"]
    # Of four attempts three were rated, two of them 3 or more; the other mode asks for no success.
    assert everything[1:3] == ["4", "0.67"]
    assert ["1", "3", "", "1", "2", "1"] in found
    assert ["2", "1", "", "1", "0", "0"] in found
    assert "email address in 1" in page.text
    assert ATTACK[:20] not in page.text


@pytest.mark.usefixtures("attempts")
def test_nobody_else_sees_it(house: House) -> None:
    for role in ("analyst", "expert", "reviewer", "carer"):
        browser = member(house, f"a {role}", role, "owner")
        assert browser.get("/campaigns/pilot/attempts").status_code == 403
    assert house.owner("eve").get("/campaigns/pilot/attempts").status_code == 404


def test_where_nothing_was_tried_the_page_says_so(house: House) -> None:
    open_chat_campaign(house.platform)
    page = house.owner("owner").get("/campaigns/pilot/attempts")
    assert (page.status_code, "pilot has no attempt yet" in page.text) == (200, True)


def test_who_withdraws_is_in_no_figure(house: House, attempts: RaterRow) -> None:
    owner_id = staff.create_sign_in_link(house.platform, "owner", now=NOW).staff.id
    assert attempts_workflow.summarise_attempts(house.platform, "pilot", staff_id=owner_id).analysis.n_attempts == 4
    withdrawal.withdraw_rater(house.platform, attempts.id, now=NOW)
    found = attempts_workflow.summarise_attempts(house.platform, "pilot", staff_id=owner_id)
    assert (found.analysis.n_attempts, [one.n for one in found.red_teamers]) == (1, [1])
    assert found.personal == {}
