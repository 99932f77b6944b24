"""Refusals of raters who send too much: 429 with a time to wait, fair behind a proxy."""

from collections.abc import Iterator

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import open_campaign
from tests.support.live_site import LiveSite, assignment, hidden, serving

LIMITS = {"saves_per_rater": 5, "notices_per_rater": 1, "entries_per_address": 2}


@pytest.fixture
def slow(database_url: str) -> Iterator[LiveSite]:
    """A site with low limits."""
    with serving(database_url, **LIMITS) as site:
        yield site


def test_saves_beyond_the_limit_get_429_and_the_time_to_wait(slow: LiveSite) -> None:
    visitor = slow.visitor()
    page = visitor.enter(str(open_campaign(slow.platform).key))
    responses = [visitor.save(page, {"Q_safe": "Yes"}, revision=number + 1) for number in range(6)]
    assert [response.status_code for response in responses] == [200] * 5 + [429]
    assert responses[-1].headers["retry-after"] == "60"
    assert "Try again in 60 seconds." in responses[-1].json()["error"]
    slow.clock.forward(seconds=60)
    assert visitor.save(page, {"Q_safe": "Yes"}, revision=7).status_code == 200


def test_notices_beyond_the_limit_get_a_page(slow: LiveSite) -> None:
    visitor = slow.visitor()
    page = visitor.enter(str(open_campaign(slow.platform).key))
    fields = {"form_token": hidden(page)["form_token"], "kind": "illegal"}
    assert visitor.send("/notice", **fields, text="one", assignment=assignment(page)).status_code == 200
    refused = visitor.send("/notice", **fields, text="two", assignment=assignment(page))
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "3600")
    assert "This one was not" in refused.text


@sqlite_only
def test_visitors_behind_a_proxy_are_told_apart(slow: LiveSite) -> None:
    key = str(open_campaign(slow.platform).key)
    crowd = [slow.visitor(**{"x-forwarded-for": "192.0.2.1"}) for _ in range(3)]
    assert [visitor.enter(key).status_code for visitor in crowd] == [200, 200, 429]
    assert slow.visitor(**{"x-forwarded-for": "192.0.2.2"}).enter(key).status_code == 200
    # A part that the visitor wrote is not believed: the proxy appends the address that it sees.
    assert slow.visitor(**{"x-forwarded-for": "203.0.113.9, 192.0.2.1"}).enter(key).status_code == 429
    # One household has many addresses of IPv6.
    homes = [slow.visitor(**{"x-forwarded-for": f"2001:db8::{number}"}) for number in range(3)]
    assert [visitor.enter(key).status_code for visitor in homes] == [200, 200, 429]
    # Who is in continues.
    assert crowd[0].get("/rate").status_code == 200
