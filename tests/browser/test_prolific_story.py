"""From Prolific and back in a browser: one finishes, one finds no place, one does not agree; the owner sees it."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Route, expect
from tests.recruit import fake_prolific
from tests.recruit.fake_prolific import Prolific
from tests.support.chromium import running
from tests.support.live_site import Live, serving
from tests.support.prolific_study import ONE_OLD, SECRET, YOU, Somebody, published
from tests.support.staff_pages import sound

from dissensus.workflows.platform import staff

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[Prolific]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with fake_prolific.serving() as state:
        yield state


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_three_people_come_and_each_goes_back_with_a_code(
    database_url: str, browser: Browser, prolific: Prolific, scheme: Literal["light", "dark"]
) -> None:
    with serving(database_url, prolific_secret=SECRET) as live, running(browser._loop):
        study = published(live, prolific, n_items=1, demographics=YOU, quota=ONE_OLD)
        people = [study.somebody() for _ in range(3)]
        for somebody, way in zip(people, (finishes, finds_no_place, does_not_agree), strict=True):
            with browser.new_context(base_url=live.url, color_scheme=scheme) as at_home:
                way(at_home.new_page(), somebody, scheme)
        assert any(study.tell())
        assert [one.status for one in map(study.kept_of, [one.submission for one in people[:2]])] == [
            "APPROVED",
            "SCREENED OUT",
        ]
        assert study.kept_of(people[2].submission) is None
        with browser.new_context(base_url=live.url, color_scheme=scheme) as at_work:
            sees_it_all(at_work.new_page(), live, scheme)


def arrives(page: Page, somebody: Somebody) -> None:
    page.goto(somebody.address)
    page.get_by_role("button", name="I understand, go on").click()
    page.wait_for_url("**/consent")


def agrees(page: Page, somebody: Somebody, scheme: str) -> None:
    arrives(page, somebody)
    expect(page.get_by_text("Your Prolific id is kept apart from your answers")).to_be_visible()
    sound(page, "prolific-consent", scheme)
    page.get_by_role("checkbox", name="My answers may be analysed").check()
    page.get_by_role("button", name="I agree and want to take part").click()
    page.get_by_role("radio", name="old").check()
    page.get_by_role("button", name="Send and go on").click()


def goes_back(page: Page, somebody: Somebody) -> None:
    """Follow the link, as far as the address of Prolific."""

    def arrived(route: Route) -> None:
        somebody.study.prolific.complete(somebody.submission, route.request.url.partition("?cc=")[2])
        assert "referer" not in route.request.headers
        route.fulfill(body="Thank you!", content_type="text/html")

    page.route("https://app.prolific.com/submissions/complete?cc=*", arrived)
    page.get_by_role("link", name="Go back to Prolific").click()
    expect(page.get_by_text("Thank you!")).to_be_visible()


def finishes(page: Page, somebody: Somebody, scheme: str) -> None:
    agrees(page, somebody, scheme)
    page.get_by_role("radio", name="No").first.check()
    page.get_by_role("button", name="Submit and go on").click()
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    sound(page, "prolific-done", scheme)
    goes_back(page, somebody)


def finds_no_place(page: Page, somebody: Somebody, scheme: str) -> None:
    agrees(page, somebody, scheme)
    expect(page.get_by_role("heading", name="All places are taken")).to_be_visible()
    sound(page, "prolific-full", scheme)
    goes_back(page, somebody)


def does_not_agree(page: Page, somebody: Somebody, scheme: str) -> None:
    page.goto(somebody.address)
    sound(page, "prolific-warning", scheme)
    arrives(page, somebody)
    page.get_by_role("link", name="I do not agree").click()
    expect(page.get_by_role("heading", name="Nothing was kept")).to_be_visible()
    sound(page, "prolific-declined", scheme)
    goes_back(page, somebody)


def sees_it_all(page: Page, live: Live, scheme: str) -> None:
    page.goto(f"/sign-in/{staff.create_sign_in_link(live.platform, 'owner', now=live.clock()).key}")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="pilot").click()
    page.get_by_text("The completion codes of the study").click()
    sound(page, "prolific-campaign", scheme)
    page.get_by_role("link", name="Who is there, and who is needed").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="old", exact=True)).last
    expect(row).to_contain_text("1")
    sound(page, "prolific-quota", scheme)
