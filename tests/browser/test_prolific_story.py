"""From Prolific and back in a browser: one finishes, one finds no seat, one declines; the owner sees all."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.databases import sqlite_only
from tests.support import prolific_server
from tests.support.chromium import running
from tests.support.live_site import LiveSite, serving
from tests.support.prolific_server import Prolific
from tests.support.prolific_study import DEMOGRAPHICS, ONE_OLD_SEAT, SECRET, Participant, publish_study
from tests.support.staff_pages import check_page, sign_in

pytestmark = sqlite_only


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[Prolific]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with prolific_server.serving() as state:
        yield state


def test_three_participants_return_with_codes(database_url: str, browser: Browser, prolific: Prolific) -> None:
    with serving(database_url, prolific_secret=SECRET) as live, running(browser._loop):
        study = publish_study(live, prolific, n_items=1, demographics=DEMOGRAPHICS, quota=ONE_OLD_SEAT)
        people = [study.start_submission() for _ in range(3)]
        for participant, way in zip(people, (finish, find_no_seat, decline), strict=True):
            with browser.new_context(base_url=live.url) as at_home:
                way(at_home.new_page(), participant)
        assert any(study.deliver_events())
        assert [one.status for one in map(study.find_recruit, [one.submission for one in people[:2]])] == [
            "APPROVED",
            "SCREENED OUT",
        ]
        assert study.find_recruit(people[2].submission) is None
        with browser.new_context(base_url=live.url) as at_work:
            view_as_owner(at_work.new_page(), live)


def arrive(page: Page, participant: Participant) -> None:
    page.goto(participant.address)
    page.get_by_role("button", name="I understand, continue").click()
    page.wait_for_url("**/consent")


def agree(page: Page, participant: Participant) -> None:
    arrive(page, participant)
    page.get_by_role("checkbox", name="My answers may be analysed").check()
    page.get_by_role("button", name="I agree and want to take part").click()
    page.get_by_role("radio", name="old").check()
    page.get_by_role("button", name="Send and continue").click()


def return_to_prolific(page: Page, participant: Participant) -> None:
    """Follow the link, as far as the address of Prolific."""

    def arrived(route: Route) -> None:
        participant.study.prolific.complete(participant.submission, route.request.url.partition("?cc=")[2])
        assert "referer" not in route.request.headers
        route.fulfill(body="Thank you!", content_type="text/html")

    page.route("https://app.prolific.com/submissions/complete?cc=*", arrived)
    page.get_by_role("link", name="Go back to Prolific").click()
    expect(page.get_by_text("Thank you!")).to_be_visible()


def finish(page: Page, participant: Participant) -> None:
    agree(page, participant)
    page.get_by_role("radio", name="No").first.check()
    page.get_by_role("button", name="Submit and continue").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    check_page(page, "prolific-done")
    return_to_prolific(page, participant)


def find_no_seat(page: Page, participant: Participant) -> None:
    agree(page, participant)
    expect(page.get_by_role("heading", name="All places are taken")).to_be_visible()
    check_page(page, "prolific-full")
    return_to_prolific(page, participant)


def decline(page: Page, participant: Participant) -> None:
    page.goto(participant.address)
    check_page(page, "prolific-warning")
    arrive(page, participant)
    expect(page.get_by_text("Your id at Prolific is stored separately from your answers")).to_be_visible()
    check_page(page, "prolific-consent")
    page.get_by_role("link", name="I do not agree").click()
    expect(page.get_by_role("heading", name="Nothing was stored")).to_be_visible()
    check_page(page, "prolific-declined")
    page.go_back()
    expect(page.get_by_role("heading", name="This page is no longer valid")).to_be_visible()
    arrive(page, participant)
    page.get_by_role("link", name="I do not agree").click()
    return_to_prolific(page, participant)


def view_as_owner(page: Page, live: LiveSite) -> None:
    sign_in(page, live, "owner")
    page.get_by_role("link", name="pilot").click()
    page.get_by_text("Completion codes for Prolific").click()
    check_page(page, "prolific-campaign")
    page.get_by_role("link", name="Quota", exact=True).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="old", exact=True)).last
    expect(row).to_contain_text("1")
