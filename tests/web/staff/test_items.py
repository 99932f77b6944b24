"""Item pages: order by disagreement, filters, suppression, roles, and the settlement of reports."""

import re

import httpx
import pytest
from sqlalchemy import select, update
from tests.databases import sqlite_only
from tests.support.campaigns import NOW
from tests.support.list_pages import walk_pages
from tests.support.monitored_campaigns import N_ITEMS, add_crowd, member, open_monitored_campaign, rate_items, read
from tests.support.rated_campaigns import rated_campaign
from tests.support.staff_site import StaffSite, create_draft, send

from dissensus.pipeline.monitor import ItemSummary
from dissensus.store import audit_log, notices
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.items import ItemTable
from dissensus.store.monitoring import load_item_summaries
from dissensus.web.staff import items as item_pages
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import withdrawal

ITEMS = "/campaigns/pilot/items"


@pytest.fixture
def campaign(staff_site: StaffSite) -> CampaignRow:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    return open_monitored_campaign(staff_site.platform, owner_id, replication=20)


def refresh(staff_site: StaffSite) -> None:
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=staff_site.live.clock())


def listed(page: httpx.Response) -> list[str]:
    assert page.status_code == 200, page.text
    return re.findall(r'<a class="item"[^>]*>\s*<strong>([^<]+)</strong>', page.text)


def ranks(page: httpx.Response) -> list[float]:
    return [float(value) for value in re.findall(r'<p class="rank">([-0-9.]+)', page.text)]


def report(staff_site: StaffSite, rater_id: str) -> str:
    """Report the first item of a rater as illegal; return the name of the item."""
    with staff_site.platform.database.writing() as tx:
        query = select(AssignmentTable.id, ItemTable.name).join(ItemTable).where(AssignmentTable.rater_id == rater_id)
        row = tx.execute(query.order_by(AssignmentTable.position).limit(1)).one()
        notices.add_notice(tx, rater_id, "illegal", "A <b>threat</b>.", assignment_id=row.id, now=NOW)
    return str(row.name)


def test_items_are_sorted_by_disagreement_and_filtered(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    browser = staff_site.owner()
    page = browser.get(ITEMS)
    assert len(listed(page)) == len(ranks(page)) == N_ITEMS
    assert ranks(page) == sorted(ranks(page), reverse=True)
    between = browser.get(ITEMS, params={"sort": "rater_gender"})
    assert len(listed(between)) == len(ranks(between)) > 1
    assert ranks(between) == sorted(ranks(between), reverse=True)
    assert listed(browser.get(ITEMS, params={"sort": "position"})) == [f"item-{i}" for i in range(N_ITEMS)]
    assert listed(browser.get(ITEMS, params={"search": "ITEM-23"})) == ["item-23"]
    assert listed(browser.get(ITEMS, params={"search": "it is."})) == listed(page)
    assert listed(browser.get(ITEMS, params={"search": "speaker"})) == []
    gold = browser.get(ITEMS, params={"attribute": "safety_gold", "value": "Yes", "sort": "position"})
    assert listed(gold) == [f"item-{i}" for i in range(2, N_ITEMS, 3)]
    unsure = {row.position for row in summaries(staff_site, campaign).values() if not row.axis and row.counts[1]}
    assert 0 < len(unsure) < N_ITEMS
    assert set(listed(browser.get(ITEMS, params={"answer": "1"}))) == {f"item-{i}" for i in unsure}
    cursors = ("x", "nan~0", "0~99999999999999999999")
    faults = ({"question": "Q_none"}, {"sort": "moon"}, {"answer": "9"}, {"flag": "x"})
    for wrong in (*faults, *({"after": cursor} for cursor in cursors)):
        assert browser.get(ITEMS, params=wrong).status_code == 422, wrong


def summaries(staff_site: StaffSite, campaign: CampaignRow) -> dict[tuple[int, str, str], ItemSummary]:
    with staff_site.platform.database.reading() as tx:
        return load_item_summaries(tx, campaign.id)


def test_pages_of_a_list_are_complete(
    staff_site: StaffSite, campaign: CampaignRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    browser = staff_site.owner()
    for sort in ("", "rater_gender", "position"):
        everything = listed(browser.get(f"{ITEMS}?sort={sort}"))
        assert len(everything) > 7
        with monkeypatch.context() as patch:
            patch.setattr(item_pages, "PAGE_SIZE", 7)
            pages = [listed(page) for page in walk_pages(browser, f"{ITEMS}?sort={sort}")]
        assert [len(page) for page in pages[:-1]] == [7] * (len(everything) // 7)
        assert [name for page in pages for name in page] == everything, sort


@sqlite_only
def test_an_item_shows_answers_gold_and_neighbours(staff_site: StaffSite, campaign: CampaignRow) -> None:
    add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    browser = staff_site.owner()
    first, second = re.findall(rf'href="({ITEMS}/\d+)"', browser.get(ITEMS).text)[:2]
    page = browser.get(first)
    assert f'href="{second}" rel="next"' in page.text
    assert 'rel="prev"' not in page.text
    assert f'href="{first}" rel="prev"' in browser.get(second).text
    text = read(page)
    for part in ("Is it?", "safety_gold", "Skipped by 0 raters", "Gender"):
        assert part in text, part
    position = int(first.split("/")[-1]) - 1
    assert f"All raters {sum(summaries(staff_site, campaign)[position, 'Q_safe', ''].counts)}" in text
    assert browser.get(f"{ITEMS}/999").status_code == 404


def read_open_answers(text: str) -> str:
    """Return the answers of the question whose details are open."""
    return text.partition('<details class="answers" open>')[2].partition("</details>")[0]


@sqlite_only
def test_the_most_divided_questions_of_an_item_come_first(staff_site: StaffSite) -> None:
    rated_campaign(staff_site.platform, 1, 3)
    browser = staff_site.owner("crowded")
    text = browser.get("/campaigns/crowded/items/1?question=Q_overall&answer=1").text
    names = re.findall(r'<summary id="(\w+)-answers">', text)
    divided, _, rest = text.partition("questions without disagreement</summary>")
    ranks = [float(rank) for rank in re.findall(r"disagreement </span>([0-9.]+)", divided)]
    assert names[0] == "Q_overall"
    assert ranks[1:] == sorted(ranks[1:], reverse=True)
    assert min(ranks[1:]) > 0
    assert {*re.findall(r"disagreement </span>([0-9.]+)", rest)} == {"0.00"}
    assert len(names) == len({*names}) == 24
    assert text.count('<details class="answers" open>') == 1
    assert "<option selected>Q_overall</option>" in browser.get("/campaigns/crowded/reports").text
    # Groups of all questions would be too much for a page: those of other questions are a link away, without the
    # filter by an answer to this one.
    assert len(text.encode()) < 60 * 1024
    assert "hidden: few raters" in read_open_answers(text)
    further = re.findall(r'href="(/campaigns/crowded/items/1\?question=\w+)#answers">Answers by group', text)
    assert 0 < len(further) < 24
    first = read_open_answers(browser.get(further[-1]).text)
    assert f'<summary id="{further[-1].partition("=")[2]}-answers">' in first
    assert "hidden: few raters" in first


@sqlite_only
def test_groups_of_few_raters_are_hidden(staff_site: StaffSite, campaign: CampaignRow) -> None:
    for number in range(8):
        gender = "Woman" if number < 6 else "Man"
        attributes = {"rater_gender": gender, "rater_age": "Prefer not to say"}
        rate_items(staff_site.platform, campaign, number, attributes=attributes)
    refresh(staff_site)
    browser = staff_site.owner()
    text = read(browser.get(f"{ITEMS}/1"))
    assert "Woman hidden: few raters" in text, "the two men would follow from all raters and the women"
    assert "Man hidden: few raters" in text
    assert listed(browser.get(ITEMS, params={"sort": "rater_gender"})) == []


def test_a_report_is_settled_beside_the_text(staff_site: StaffSite, campaign: CampaignRow) -> None:
    careful, _ = add_crowd(staff_site.platform, campaign)
    name = report(staff_site, careful)
    browser = staff_site.owner()
    (path,) = set(
        re.findall(rf'href="({ITEMS}/\d+\?sort=position)">Read the item', browser.get("/campaigns/pilot").text)
    )
    page = browser.get(path)
    assert name in read(page)
    assert "Is it?" in read(page)
    assert "A &lt;b&gt;threat&lt;/b&gt;." in page.text
    assert listed(browser.get(ITEMS, params={"flag": "reported", "sort": "position"})) == [name]
    notice = re.search(r'name="notice" value="([^"]+)"', page.text)
    number = path.split("/")[-1].split("?")[0]
    assert notice
    done = send(browser, "/campaigns/pilot/settle", notice=notice[1], item=number, show_again="no")
    assert done.headers["location"] == f"{ITEMS}/{number}"
    text = read(browser.get(f"{ITEMS}/{number}"))
    assert "settled" in text
    assert "The item is now withheld from everybody" in text
    assert "UTC by ada: withheld from everybody" in text
    assert listed(browser.get(ITEMS, params={"flag": "withheld", "sort": "position"})) == [name]
    asked = send(browser, f"{ITEMS}/selection", item=[number], change="show", address="")
    assert "it was withheld when a report of it was settled" in asked.text


@sqlite_only
def test_selected_items_are_withheld_and_shown_again(staff_site: StaffSite, campaign: CampaignRow) -> None:
    careful, _ = add_crowd(staff_site.platform, campaign)
    reported = report(staff_site, careful)
    refresh(staff_site)
    browser = staff_site.owner()
    page = browser.get(ITEMS, params={"sort": "position"})
    numbers = re.findall(r'name="item" value="(\d+)" aria-label="Select ([^"]+)"', page.text)
    assert len(numbers) == N_ITEMS
    number = next(number for number, name in numbers if name == reported)
    selected = [number, *(other for other, name in numbers if name != reported)][:3]
    asked = send(browser, f"{ITEMS}/selection", item=selected, change="withhold", address="sort=position")
    assert "Withhold 3 items?" in asked.text
    assert listed(browser.get(ITEMS, params={"flag": "withheld", "sort": "position"})) == []
    done = send(browser, f"{ITEMS}/withholding", item=selected, change="withhold", address="sort=position")
    assert (done.status_code, done.headers["location"]) == (303, f"{ITEMS}?sort=position")
    assert len(listed(browser.get(ITEMS, params={"flag": "withheld", "sort": "position"}))) == 3
    # A report stays to be settled beside the text.
    asked = send(browser, f"{ITEMS}/selection", item=selected, change="show", address="//example.org")
    assert "Show 2 items again?" in asked.text
    assert "a report of it is open" in asked.text
    done = send(browser, f"{ITEMS}/withholding", item=selected, change="show", address="//example.org\r\n")
    assert done.headers["location"] == ITEMS
    assert listed(browser.get(ITEMS, params={"flag": "withheld", "sort": "position"})) == [reported]
    with staff_site.platform.database.reading() as tx:
        contents = [dict(event.content) for event in audit_log.iterate_events(tx, campaign.id, "items_changed")]
    assert [(one["withheld"], len(one["items"])) for one in contents] == [(True, 3), (False, 2)]
    for wrong in ([], ["x"], [str(n) for n in range(1, 52)]):
        assert send(browser, f"{ITEMS}/withholding", item=wrong, change="withhold").status_code == 422, wrong
    for role in ("analyst", "reviewer"):
        reader = member(staff_site, campaign, role)
        assert "Select" not in reader.get(ITEMS).text
        assert send(reader, f"{ITEMS}/withholding", item=selected, change="withhold").status_code == 403


@sqlite_only
@pytest.mark.usefixtures("campaign")
def test_empty_lists_say_what_to_do_next(staff_site: StaffSite) -> None:
    create_draft(staff_site, "draft", pay={"currency": "EUR", "hourly_rate": 1200}, gold={})
    browser = staff_site.owner()
    for path, says, link in (
        (ITEMS, "No item has answers of two raters yet", "/campaigns/pilot#entry"),
        (
            "/campaigns/draft/items",
            "Nobody answers before",
            "/campaigns/draft/items?sort=position",
        ),
        (f"{ITEMS}?search=moon", "No item matches", f"{ITEMS}?sort=position"),
        ("/campaigns/pilot/monitoring", "a few seconds after the first answers", "/campaigns/pilot#entry"),
        ("/campaigns/draft/monitoring", "open the campaign first", "/campaigns/draft"),
        ("/campaigns/pilot/raters", "Nobody has taken part yet", "/campaigns/pilot#entry"),
        ("/campaigns/pilot/reports", "Ask for one above", "/campaigns/pilot/reports"),
        ("/campaigns/pilot/notices", "No message is open", "/campaigns/pilot/raters?flag=notices"),
        ("/campaigns/draft/pay", "There are no raters yet", "/campaigns/draft#entry"),
        ("/campaigns/draft/gold/labels?state=settled", "No item is in this state", "/campaigns/draft/gold/labels"),
        ("/campaigns/pilot/raters?search=9", "No rater matches", "/campaigns/pilot/raters"),
    ):
        page = browser.get(path)
        assert says in read(page), path
        assert f'"{link}"' in page.text, path


def test_roles_see_what_they_may(staff_site: StaffSite, campaign: CampaignRow) -> None:
    careful, _ = add_crowd(staff_site.platform, campaign)
    reported = f"{ITEMS}/{int(report(staff_site, careful).removeprefix('item-')) + 1}"
    with staff_site.platform.database.writing() as tx:
        tx.execute(update(AssignmentTable).where(AssignmentTable.rater_id == careful).values(state="skipped"))
    refresh(staff_site)
    analyst = member(staff_site, campaign, "analyst")
    assert len(listed(analyst.get(ITEMS, params={"flag": "skipped"}))) == N_ITEMS
    assert "reported 1" not in read(analyst.get(ITEMS))
    assert analyst.get(ITEMS, params={"flag": "reported"}).status_code == 403
    page = analyst.get(reported).text
    assert "Is it?" in page
    assert "threat" not in page
    assert "settle" not in page
    reviewer = member(staff_site, campaign, "reviewer")
    assert "reported 1" in read(reviewer.get(ITEMS))
    page = reviewer.get(reported).text
    assert "threat" in page
    assert "settle" in page
    for role in ("observer", "expert"):
        browser = member(staff_site, campaign, role)
        assert browser.get(ITEMS).status_code == 403
        assert browser.get(f"{ITEMS}/1").status_code == 403


def test_a_withdrawal_deletes_summaries_until_the_next_refresh(staff_site: StaffSite, campaign: CampaignRow) -> None:
    careful, _ = add_crowd(staff_site.platform, campaign)
    refresh(staff_site)
    before = summaries(staff_site, campaign)
    withdrawal.withdraw_rater(staff_site.platform, careful, now=staff_site.live.clock())
    left = summaries(staff_site, campaign)
    refresh(staff_site)
    after = summaries(staff_site, campaign)
    assert left == {key: after[key] for key in left}
    gone = [position for position in range(N_ITEMS) if (position, "Q_safe", "") not in left]
    counts, fewer = (
        [sum(rows[position, "Q_safe", ""].counts) for position in range(N_ITEMS)] for rows in (before, after)
    )
    rated = [position for position, (n, n_after) in enumerate(zip(counts, fewer, strict=True)) if n == n_after + 1]
    assert len(rated) == 20
    assert {*rated} <= {*gone}
