"""Rater pages: order, filters, answers beside those of others, decisions about flags, and roles."""

import re
import sqlite3
from datetime import timedelta
from html import unescape
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.list_pages import walk_pages
from tests.support.monitored_campaigns import (
    HASTY,
    add_crowd,
    member,
    open_monitored_campaign,
    rate_items,
    read,
)
from tests.support.staff_site import StaffSite, send, token_of

from dissensus.campaign.filters.rater_filter import RATER_ORDERS
from dissensus.pipeline.monitor import CampaignFigures
from dissensus.store import audit_log, flags, notices
from dissensus.store.audit_log import EventTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.lists import raters as rater_lists
from dissensus.web.core.permissions import find_action
from dissensus.web.staff import raters as rater_pages
from dissensus.workflows.campaign import monitoring
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import withdrawal

RATERS = "/campaigns/pilot/raters"
MONITORING = "/campaigns/pilot/monitoring"
HOSTILE = '"><script>alert(1)</script>\u202e'
N_PLANNED = 20
"""Items that a rater rates, of all."""


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return open_monitored_campaign(staff_site.platform, owner_id, replication=20)


def refresh(staff_site: StaffSite) -> None:
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=staff_site.live.clock())


def numbers(page: httpx.Response) -> list[int]:
    assert page.status_code == 200, page.text
    return [int(number) for number in re.findall(r'<a href="[^"]+/raters/[^"]+">Rater (\d+)</a>', page.text)]


def read_item_links(page: httpx.Response) -> list[str]:
    """Addresses of the items in the table of answers of a rater."""
    return re.findall(r'href="(/campaigns/pilot/items/\d+\?sort=position)"', page.text)


@sqlite_only
def test_outdated_figures_of_many_raters_are_deleted(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    with staff_site.platform.database.writing() as tx:
        # Databases limit the parameters of a statement; a crowd is above the limit of this one.
        connection = tx.connection.driver_connection
        assert connection is not None
        usual = connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 11)
        rater_lists.replace_rater_figures(tx, campaign.id, [])
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, usual)
        assert rater_lists.load_rater_figures(tx, campaign.id) == {}


def test_raters_are_sorted_searched_and_filtered(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, stubborn = add_crowd(staff_site.platform, campaign)
    with staff_site.platform.database.writing() as tx:
        notices.add_notice(tx, hasty, "help", "I feel <i>bad</i>.", assignment_id=None, now=NOW)
    refresh(staff_site)
    browser = staff_site.owner()
    page = browser.get(RATERS)
    assert numbers(page) == list(range(1, 13))
    assert read(page).count(" flagged ") == 2
    assert numbers(browser.get(RATERS, params={"order": "time"}))[0] == 11, "the hasty rater is the fastest"
    by_agreement = numbers(browser.get(RATERS, params={"order": "agreement"}))
    with staff_site.platform.database.reading() as tx:
        figures = rater_lists.load_rater_figures(tx, campaign.id)
    shares = {one.number + 1: one.agreement or 0.0 for one in figures.values()}
    assert [shares[number] for number in by_agreement] == sorted(shares.values())
    assert numbers(browser.get(RATERS, params={"search": "12"})) == [12]
    assert numbers(browser.get(RATERS, params={"flag": "undecided"})) == [11, 12]
    assert numbers(browser.get(RATERS, params={"flag": "notices"})) == [11]
    assert numbers(browser.get(RATERS, params={"state": "finished"})) == []
    assert stubborn not in page.text.replace(f"{RATERS}/{stubborn}", ""), "pay is listed by parts of the id"
    wrong = ({"order": "moon"}, {"state": "x"}, {"flag": "x"}, {"cell": "x"}, {"search": "x"}, {"search": "0"})
    for query in (*wrong, {"after": "x"}, {"after": "0~99999999999999999999"}, {"after": "nan~0"}):
        assert browser.get(RATERS, params=query).status_code == 422, query


def test_pages_of_the_list_are_complete(
    staff_site: StaffSite, campaign: CampaignRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    rate_items(staff_site.platform, campaign, 7, at=NOW)  # without figures
    browser = staff_site.owner()
    for order in RATER_ORDERS:
        everybody = numbers(browser.get(f"{RATERS}?order={order}"))
        assert sorted(everybody) == list(range(1, 14))
        # All with figures rated as many items, and who has none is last.
        assert everybody[-1] == 13
        assert order in ("time", "agreement") or everybody == sorted(everybody)
        with monkeypatch.context() as patch:
            patch.setattr(rater_pages, "PAGE_SIZE", 4)
            pages = [numbers(page) for page in walk_pages(browser, f"{RATERS}?order={order}")]
        assert [len(page) for page in pages] == [4, 4, 4, 1]
        assert [number for page in pages for number in page] == everybody, order


@sqlite_only
def test_figures_of_raters_are_those_of_their_answers(staff_site: StaffSite, campaign: CampaignRow) -> None:
    _, stubborn = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    with staff_site.platform.database.reading() as tx:
        figures = rater_lists.load_rater_figures(tx, campaign.id)
    assert figures[stubborn].answers == {"Q_safe": (N_PLANNED, 0, 0)}
    assert {one.n_ratings for one in figures.values()} == {N_PLANNED}
    assert [one.reasons != () for one in sorted(figures.values(), key=lambda one: one.number)] == [False] * 10 + [
        True,
        True,
    ]


def test_a_flag_is_decided_with_the_answers_in_view(staff_site: StaffSite, campaign: CampaignRow) -> None:
    _, stubborn = add_crowd(staff_site.platform, campaign)
    with staff_site.platform.database.writing() as tx:
        notices.add_notice(tx, stubborn, "help", "I feel <i>bad</i>.", assignment_id=None, now=NOW)
    refresh(staff_site)
    browser = staff_site.owner()
    page = browser.get(f"{RATERS}/{stubborn}")
    text = read(page)
    for part in ("100 %", "All raters 12", "I feel <i>bad</i>.", "Median time", f"Rated {N_PLANNED}", "Save decision"):
        assert part in text, part
    assert "&lt;i&gt;bad" in page.text
    answers = re.findall(r'<td dir="auto"[^>]*>([^<]+)</td>', page.text)
    assert answers == ["No"] * N_PLANNED
    items = read_item_links(page)
    assert len(items) == N_PLANNED
    assert browser.get(items[0]).status_code == 200
    wrong = send(browser, f"{RATERS}/{stubborn}", decision="", verdict="exclude", reason=" ")
    assert wrong.status_code == 422
    assert "There is no reason" in wrong.text
    decision = re.search(r'name="decision" value="([^"]+)"', page.text)
    assert decision
    done = send(browser, f"{RATERS}/{stubborn}", decision=decision[1], verdict="exclude", reason="Always No.")
    assert done.headers["location"] == f"{RATERS}/{stubborn}"
    assert "Excluded by ada" in read(browser.get(f"{RATERS}/{stubborn}"))
    assert numbers(browser.get(RATERS, params={"flag": "excluded"})) == [12]
    assert numbers(browser.get(RATERS, params={"flag": "undecided"})) == [11]


def form(page: httpx.Response) -> dict[str, str]:
    match = re.search(r'name="decision" value="([^"]+)"', page.text)
    assert match
    return {"form_token": token_of(page), "decision": match[1]}


@sqlite_only
def test_an_owner_decides_a_flag_with_a_reason(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, _ = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    browser, path = staff_site.owner(), f"{RATERS}/{hasty}"
    page = browser.get(path)
    assert page.status_code == 200
    done = browser.post(path, data={**form(page), "verdict": "exclude", "reason": HOSTILE})
    assert (done.status_code, done.headers["location"]) == (303, path)
    page = browser.get(path)
    assert "<script>" not in page.text
    assert HOSTILE in unescape(page.text)
    assert "Excluded by ada" in read(page)
    listed = browser.get(MONITORING)
    assert "excluded" in listed.text
    assert "<script>" not in listed.text
    repeated = browser.post(path, data={**form(page), "verdict": "keep", "reason": "They are practised."})
    assert repeated.status_code == 303
    assert "superseded" in read(browser.get(path))
    exported = browser.get("/campaigns/pilot/export.csv").text
    assert exported.splitlines()[0].endswith("rater_flagged")


@sqlite_only
def test_all_faults_of_a_decision_are_shown_and_input_is_kept(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, _ = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    browser, path = staff_site.owner(), f"{RATERS}/{hasty}"
    refused = browser.post(path, data={**form(browser.get(path)), "reason": " "})
    assert refused.status_code == 422
    assert "Nothing is chosen. Choose keep or exclude. There is no reason." in read(refused)
    refused = browser.post(path, data={**form(refused), "verdict": "exclude", "reason": HOSTILE * 100})
    assert "2,000 are allowed" in read(refused)
    assert 'value="exclude" required checked' in refused.text
    assert HOSTILE * 100 in unescape(refused.text)
    assert "Excluded by" not in read(refused)


@sqlite_only
def test_only_owners_see_flags(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, _ = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    analyst, path = member(staff_site, campaign, "analyst"), f"{RATERS}/{hasty}"
    assert analyst.get(path).status_code == 403
    assert send(analyst, path, verdict="exclude", reason="x").status_code == 403
    assert staff_site.owner("bob").get(path).status_code == 404


@sqlite_only
def test_a_rater_without_a_flag_has_nothing_to_decide(staff_site: StaffSite, campaign: CampaignRow) -> None:
    careful = rate_items(staff_site.platform, campaign, 1)
    refresh(staff_site)
    browser, path = staff_site.owner(), f"{RATERS}/{careful}"
    assert "Save decision" not in browser.get(path).text
    assert send(browser, path, verdict="exclude", reason="x").status_code == 404
    assert send(browser, f"{RATERS}/nobody", verdict="exclude", reason="x").status_code == 404


def test_selected_flags_are_decided_at_once(staff_site: StaffSite, campaign: CampaignRow) -> None:
    hasty, stubborn = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    browser = staff_site.owner()
    listed = re.findall(r'name="rater" value="([^"]+)"', browser.get(RATERS).text)
    assert listed == [str(number) for number in range(1, 13)]
    selected = ["1", "11", "12"]
    assert "No rater is selected" in send(browser, f"{RATERS}/selection").text
    page = send(browser, f"{RATERS}/selection", rater=selected)
    assert page.status_code == 200
    text = read(page)
    assert "Decide about 2 raters" in text
    assert "meets no criterion" in text
    assert re.findall(r'name="rater" value="([^"]+)"', page.text) == ["11", "12"]
    fields = {"rater": selected, "decision": str(uuid4()), "verdict": "exclude"}
    refused = send(browser, f"{RATERS}/decisions", **fields, reason=" ")
    assert (refused.status_code, "There is no reason" in refused.text) == (422, True)
    for _ in range(2):
        assert send(browser, f"{RATERS}/decisions", **fields, reason="All in four seconds.").status_code == 303
    with staff_site.platform.database.reading() as tx:
        decisions = flags.load_flag_decisions(tx, campaign.id)
        n = tx.scalar(select(func.count()).select_from(EventTable).where(EventTable.kind == "decision_recorded"))
    assert {key: one.verdict for key, one in decisions.items()} == {hasty: "exclude", stubborn: "exclude"}
    # The form was sent twice.
    assert n == 2


@sqlite_only
def test_groups_of_a_rater_are_shown_from_five_raters_on(staff_site: StaffSite, campaign: CampaignRow) -> None:
    ids = [
        rate_items(staff_site.platform, campaign, number, attributes={"rater_gender": gender, "rater_age": age})
        for number, (gender, age) in enumerate([("Woman", "18-29")] * 5 + [("Man", "30-49")] * 4)
    ]
    refresh(staff_site)
    browser = staff_site.owner()
    of_woman, of_man = (read(browser.get(f"{RATERS}/{ids[index]}")) for index in (0, -1))
    assert "Gender: Woman 5" in of_woman
    assert "All raters 9" in of_man
    assert "Gender: Man" not in of_man


@sqlite_only
def test_answers_are_paged_and_of_any_question(
    staff_site: StaffSite, campaign: CampaignRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater_id = rate_items(staff_site.platform, campaign, 1)
    refresh(staff_site)
    browser = staff_site.owner()
    everything = read_item_links(browser.get(f"{RATERS}/{rater_id}"))
    assert len({*everything}) == N_PLANNED
    monkeypatch.setattr(rater_pages, "ANSWERS_PAGE_SIZE", 8)
    pages = [read_item_links(page) for page in walk_pages(browser, f"{RATERS}/{rater_id}")]
    assert [len(page) for page in pages] == [8, 8, 4]
    assert [item for page in pages for item in page] == everything
    assert browser.get(f"{RATERS}/{rater_id}", params={"question": "Q_none"}).status_code == 422
    assert browser.get(f"{RATERS}/nobody").status_code == 404


@sqlite_only
def test_roles_see_what_they_may_and_views_are_logged(staff_site: StaffSite, campaign: CampaignRow) -> None:
    _, stubborn = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    for role in ("analyst", "observer", "expert", "carer"):
        browser = member(staff_site, campaign, role)
        assert browser.get(RATERS).status_code == 403
        assert browser.get(f"{RATERS}/{stubborn}").status_code == 403
    assert find_action("raters").actors <= find_action("flags").actors & find_action("notices").actors
    reviewer = member(staff_site, campaign, "reviewer")
    assert "flagged" in read(reviewer.get(RATERS))
    assert "Save decision" in read(reviewer.get(f"{RATERS}/{stubborn}"))
    owner = staff_site.owner()
    owner.get(f"{RATERS}/{stubborn}")
    with staff_site.platform.database.reading() as tx:
        entries = audit_log.iterate_unchained(tx, campaign.id)
        views = [event.content["view"] for event, _ in entries if event.kind == "viewed"]
    assert views[-2:] == ["raters", "flags"]


def test_a_withdrawal_deletes_the_figures_even_while_they_are_computed(
    staff_site: StaffSite, campaign: CampaignRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    rater_id = rate_items(staff_site.platform, campaign, 1, HASTY)
    rate_items(staff_site.platform, campaign, 2)
    cache, compute = MonitoringCache(), monitoring._compute_figures

    def compute_during_a_withdrawal(entry: monitoring._CampaignCache) -> CampaignFigures:
        if rater_id in entry.raters:
            withdrawal.withdraw_rater(staff_site.platform, rater_id, now=staff_site.live.clock())
        return compute(entry)

    monkeypatch.setattr(monitoring, "_compute_figures", compute_during_a_withdrawal)
    refresh_snapshots(staff_site.platform, cache, now=staff_site.live.clock())
    with staff_site.platform.database.reading() as tx:
        assert rater_lists.load_rater_figures(tx, campaign.id) == {}
    refresh_snapshots(staff_site.platform, cache, now=staff_site.live.clock() + timedelta(seconds=5))
    with staff_site.platform.database.reading() as tx:
        assert len(rater_lists.load_rater_figures(tx, campaign.id)) == 1
    assert "their answers were erased" in read(staff_site.owner().get(f"{RATERS}/{rater_id}"))
