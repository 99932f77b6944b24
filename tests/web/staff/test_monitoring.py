"""The pages of a campaign under way: what owners and analysts see, and how owners decide about a flag."""

import re
from html import unescape

import httpx
import pytest
from tests.support.campaigns import NOW
from tests.support.monitored_campaigns import Habit, crowd, opened, rates
from tests.support.staff_browsers import House, send, token_of

from dissensus.schema.campaign.roles import Role
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import staff
from dissensus.workflows.rater import withdrawal

WATCH = "/campaigns/pilot/watch"
HOSTILE = '"><script>alert(1)</script>\u202e'


@pytest.fixture
def kept(house: House) -> CampaignRow:
    return opened(house.platform, staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id, replication=20)


def ticked(house: House) -> None:
    refresh_snapshots(house.platform, MonitoringCache(), now=house.live.clock())


def member(house: House, kept: CampaignRow, role: Role) -> httpx.Client:
    browser = house.owner(role)
    members.add_member(house.platform, "pilot", role, role, staff_id=kept.staff_id, now=NOW)
    return browser


def read(page: httpx.Response) -> str:
    """What is read of a page, its marks left out."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def form(page: httpx.Response) -> dict[str, str]:
    found = re.search(r'name="decision" value="([^"]+)"', page.text)
    assert found
    return {"form_token": token_of(page), "decision": found[1]}


@pytest.mark.usefixtures("kept")
def test_before_there_are_figures_it_says_so(house: House) -> None:
    page = house.owner().get(WATCH)
    assert page.status_code == 200
    assert "There are no figures yet." in read(page)
    ticked(house)
    told = read(house.owner().get(WATCH))
    assert "Nobody has rated an item yet." in told
    assert "480 ratings are wanted, and none came in the last 24 hours." in told


def test_an_owner_sees_all_of_it_and_how_fresh_it_is(house: House, kept: CampaignRow) -> None:
    browser = house.owner()
    crowd(house.platform, kept)
    house.live.clock.forward(hours=9, minutes=30)
    ticked(house)
    house.live.clock.forward(seconds=3)
    page = browser.get(WATCH)
    told = read(page)
    assert "As of 2026-03-01 21:30:00 UTC , 3 s ago." in told
    assert "These figures are old" not in told
    for heading in ("Flagged raters", "Pace", "Ratings of an item", "Agreement", "Answers", "Answer times", "Gold"):
        assert re.search(rf"<h2 [^>]*>{heading}", page.text), heading
    assert re.search(r"At the pace of the last 24 hours the 480 ratings that are wanted are there in \d+ hours", told)
    assert "fast: 100.0 % of 20 items in less than a quarter of the pool's median time" in told
    assert "one label: 100.0 % of 20 answers are No" in told
    # What a chart shows a table tells too.
    assert page.text.count('<svg class="chart"') == page.text.count(": the numbers</summary>") == 3
    assert "style=" not in page.text


def test_figures_that_are_old_say_so_unless_the_campaign_is_closed(house: House, kept: CampaignRow) -> None:
    browser = house.owner()
    rates(house.platform, kept, 1)
    ticked(house)
    house.live.clock.forward(minutes=2)
    told = read(browser.get(WATCH))
    assert "2 min 0 s ago" in told
    assert "These figures are old. They should be seconds old while the campaign is open" in told
    campaigns.change_state(house.platform, "pilot", "closed", staff_id=kept.staff_id, now=house.live.clock())
    assert "These figures are old" not in read(browser.get(WATCH))


def test_an_analyst_sees_nothing_of_few_and_no_flags(house: House, kept: CampaignRow) -> None:
    crowd(house.platform, kept)
    ticked(house)
    page = member(house, kept, "analyst").get(WATCH)
    told = read(page)
    assert page.status_code == 200
    assert "Flagged" not in told
    assert "Raters to decide about" not in told
    assert "All raters" in told
    # Of twelve raters, no age has five.
    assert "18-29" not in told
    assert "Groups and days of fewer than five raters are left out" in told
    assert "Ratings by hour" not in told


def test_an_analyst_sees_nothing_before_there_are_five_raters(house: House, kept: CampaignRow) -> None:
    for number in range(4):
        rates(house.platform, kept, number)
    ticked(house)
    browser = member(house, kept, "analyst")
    told = read(browser.get(WATCH))
    assert "There are fewer than five raters" in told
    assert "Agreement" not in told
    rates(house.platform, kept, 5)
    ticked(house)
    assert "Agreement" in read(browser.get(WATCH))


@pytest.mark.parametrize("role", ["expert", "reviewer"])
def test_others_do_not_see_it(house: House, kept: CampaignRow, role: Role) -> None:
    assert member(house, kept, role).get(WATCH).status_code == 403


def test_an_owner_decides_and_the_reason_is_read_as_it_was_written(house: House, kept: CampaignRow) -> None:
    hasty, _ = crowd(house.platform, kept)
    ticked(house)
    browser, here = house.owner(), f"{WATCH}/raters/{hasty}"
    page = browser.get(here)
    assert page.status_code == 200
    done = browser.post(here, data={**form(page), "verdict": "exclude", "reason": HOSTILE})
    assert (done.status_code, done.headers["location"]) == (303, here)
    page = browser.get(here)
    assert "<script>" not in page.text
    assert HOSTILE in unescape(page.text)
    assert "Excluded by ada" in read(page)
    listed = browser.get(WATCH)
    assert "excluded" in listed.text
    assert "<script>" not in listed.text
    again = browser.post(here, data={**form(page), "verdict": "keep", "reason": "They are practised."})
    assert again.status_code == 303
    assert "superseded" in read(browser.get(here))
    exported = browser.get("/campaigns/pilot/export.csv").text
    assert exported.splitlines()[0].endswith("rater_flagged")


def test_every_mistake_is_told_and_nothing_typed_is_lost(house: House, kept: CampaignRow) -> None:
    hasty, _ = crowd(house.platform, kept)
    ticked(house)
    browser, here = house.owner(), f"{WATCH}/raters/{hasty}"
    refused = browser.post(here, data={**form(browser.get(here)), "reason": " "})
    assert refused.status_code == 422
    assert "Nothing is chosen. Choose keep or exclude. There is no reason." in read(refused)
    refused = browser.post(here, data={**form(refused), "verdict": "exclude", "reason": HOSTILE * 100})
    assert "2,000 are allowed" in read(refused)
    assert 'value="exclude" required checked' in refused.text
    assert HOSTILE * 100 in unescape(refused.text)
    assert "Nothing so far." in read(refused)


def test_flags_are_for_owners_alone(house: House, kept: CampaignRow) -> None:
    hasty, _ = crowd(house.platform, kept)
    ticked(house)
    analyst, here = member(house, kept, "analyst"), f"{WATCH}/raters/{hasty}"
    assert analyst.get(here).status_code == 403
    assert send(analyst, here, verdict="exclude", reason="x").status_code == 403
    assert house.owner("bob").get(here).status_code == 404


def test_a_rater_without_a_flag_has_no_such_page(house: House, kept: CampaignRow) -> None:
    careful = rates(house.platform, kept, 1)
    ticked(house)
    browser = house.owner()
    assert browser.get(f"{WATCH}/raters/{careful}").status_code == 404
    assert browser.get(f"{WATCH}/raters/nobody").status_code == 404


def test_who_withdrew_is_gone_from_both_pages(house: House, kept: CampaignRow) -> None:
    hasty, _ = crowd(house.platform, kept)
    ticked(house)
    withdrawal.withdraw_rater(house.platform, hasty, now=house.live.clock())
    browser = house.owner()
    assert hasty not in browser.get(WATCH).text
    assert browser.get(f"{WATCH}/raters/{hasty}").status_code == 404


def test_words_of_the_campaign_are_never_marks(house: House) -> None:
    answer, group = "<img src=x onerror=alert(1)>", "<b>old</b>"
    questions = [{"name": "Q_safe", "text": "Is it?", "scale": ["No", answer]}]
    about = {"name": "you", "about": "rater", "languages": ["en"], "title": "You"}
    axis = {"name": "rater_age", "text": "How old?", "scale": [group, "young"], "decline": "Prefer not to say"}
    two = {"name": "two", "languages": ["en"], "title": "Two", "questions": questions}
    asked = {"questionnaire": two, "demographics": {**about, "questions": [axis]}}
    kept = opened(
        house.platform, staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id, replication=20, **asked
    )
    for number in range(3):
        rates(house.platform, kept, number, Habit(always=answer), said={"rater_age": group})
    ticked(house)
    page = house.owner().get(WATCH)
    assert answer in unescape(page.text)
    assert group in unescape(page.text)
    assert answer not in page.text
    assert group not in page.text


@pytest.mark.usefixtures("kept")
def test_the_way_to_it_is_on_the_page_of_the_campaign(house: House) -> None:
    assert f'href="{WATCH}"' in house.owner().get("/campaigns/pilot").text
