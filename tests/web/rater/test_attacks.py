"""Protection of raters and their answers against attacks."""

import html
import json
import re
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import func, select
from tests.databases import sqlite_only
from tests.support.campaigns import open_campaign
from tests.support.live_site import LiveSite, Visitor, assignment, hidden
from tests.support.rating_pages import page_text

from dissensus.store.core.orm import Base
from dissensus.store.notices import NoticeTable
from dissensus.web.middleware.request_limits import MAX_BYTES


def counts(live: LiveSite) -> dict[str, int]:
    """The number of rows by table."""
    tables = Base.metadata.sorted_tables
    with live.platform.database.reading() as tx:
        return {table.name: tx.scalar(select(func.count()).select_from(table)) or 0 for table in tables}


def test_nothing_is_stored_before_consent(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    before = counts(live)
    visitor = live.visitor()
    visitor.get("/c/pilot", params={"key": campaign.key})
    consent = visitor.send("/c/pilot", key=str(campaign.key), language="en")
    assert "We keep your answers." in consent.text
    refused = visitor.send("/c/pilot/consent", purpose=["release"])
    assert refused.status_code == 403
    assert "Nothing about you was stored" in refused.text
    declined = visitor.get(html.unescape(re.findall(r'href="(/declined[^"]*)"', consent.text)[0]))
    assert "nothing about you was stored" in declined.text
    back = visitor.get(consent.url.path)
    assert (back.status_code, "This page is no longer valid" in back.text) == (200, True)
    assert "open your link again" in back.text
    assert not visitor.http.cookies
    assert counts(live) == before
    visitor.enter(str(campaign.key))
    assert counts(live) != before


@sqlite_only
@pytest.mark.parametrize("token", ["", "0" * 64, "of somebody else"])
def test_forms_of_other_sessions_are_rejected(live: LiveSite, token: str) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor, other = live.visitor(), live.visitor()
    page, other_page = visitor.enter(str(campaign.key)), other.enter(str(campaign.key))
    form_token = hidden(other_page)["form_token"] if token == "of somebody else" else token
    before = counts(live)
    for path in (f"/rate/{assignment(page)}", f"/rate/{assignment(page)}/skip", "/notice", "/about-you", "/stop"):
        assert visitor.send(path, form_token=form_token, Q_safe="No").status_code == 403
    for path in ("/resume", "/consent"):
        assert visitor.send(path, form_token=form_token, purpose="rating").status_code == 403
    saved = visitor.http.post(f"/rate/{assignment(page)}/save", content="{}", headers={"x-form-token": form_token})
    assert saved.status_code == 403
    assert counts(live) == before


@sqlite_only
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_cross_site_forms_are_rejected(live: LiveSite, headers: dict[str, str]) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    fields = {**hidden(page), "Q_safe": "No"}
    response = visitor.http.post(f"/rate/{assignment(page)}", data=fields, headers=headers)
    assert response.status_code == 403
    assert counts(live)["save"] == 0


@sqlite_only
def test_a_planted_session_is_not_adopted(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    visitor.http.cookies.set("dissensus_rater", "planted-by-somebody")
    assert visitor.get("/rate").status_code == 403
    visitor.http.cookies.clear()
    visitor.http.headers["cookie"] = "dissensus_rater=planted-by-somebody"
    visitor.get("/c/pilot", params={"key": campaign.key})
    del visitor.http.headers["cookie"]
    assert visitor.enter(str(campaign.key)).status_code == 200
    assert visitor.http.cookies["dissensus_rater"] != "planted-by-somebody"


@sqlite_only
def test_data_of_other_raters_are_not_accessible(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    first, second = live.visitor(), live.visitor()
    page, other = first.enter(str(campaign.key)), second.enter(str(campaign.key))
    token, before = hidden(page)["form_token"], counts(live)
    headers = {"x-form-token": token, "accept": "application/json"}
    save = {"key": "6f1f2a55-6b6c-4d8e-9d53-0f6f3b1d0a01", "revision": 1, "visit": "v", "visible_ms": 1, "idle_ms": 0}
    body = json.dumps({**save, "answers": {"Q_safe": {"value": "No"}}})
    answers = [
        first.send(f"/rate/{assignment(other)}", form_token=token, Q_safe="No"),
        first.send(f"/rate/{assignment(other)}/skip", form_token=token),
        first.send("/notice", form_token=token, kind="illegal", assignment=assignment(other)),
        first.http.post(f"/rate/{assignment(other)}/save", content=body, headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [404] * 4
    assert counts(live) == before


def test_forged_withdrawal_links_are_rejected(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.rate(visitor.enter(str(campaign.key)), Q_safe="No")
    end = visitor.send("/stop", form_token=hidden(page)["form_token"])
    (token,) = re.findall(r'href="/withdraw/([^"?]+)', end.text)
    forged = [token[:-1], token[1:], token.split(".")[0], "x", f"{token}x"]
    assert {visitor.send(f"/withdraw/{one}").status_code for one in forged} == {403}
    assert counts(live)["save"] == 1
    assert live.visitor().send(f"/withdraw/{token}").status_code == 200
    assert counts(live)["save"] == 0


@sqlite_only
def test_large_requests_are_rejected_before_they_are_read(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    path = f"/rate/{assignment(page)}/save"
    response = visitor.http.post(path, content=b"x" * (MAX_BYTES + 1))
    parts = visitor.http.post(path, content=(b"x" * 65536 for _ in range(MAX_BYTES // 65536 + 2)))
    assert (response.status_code, parts.status_code) == (413, 413)
    assert "at most 1,048,576 bytes" in response.text


@sqlite_only
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 5000, "cannot be read"),
        (b'{"key": 1}', "key"),
        (b'{"answers": {"Q_safe": {"value": {"deep": 1}}}}', "cannot be read"),
    ],
)
def test_malformed_saves_are_rejected_with_the_reason(live: LiveSite, content: bytes, message: str) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    headers = {"x-form-token": hidden(page)["form_token"], "accept": "application/json"}
    answer = visitor.http.post(f"/rate/{assignment(page)}/save", content=content, headers=headers)
    assert answer.status_code == 422
    assert message in answer.json()["error"]


@sqlite_only
@pytest.mark.parametrize(
    ("answers", "message"),
    [({"Q_safe": "Perhaps"}, "Perhaps"), ({"Q_saef": "No"}, "Q_safe"), ({"Why": "x" * 2001}, "2,000")],
)
def test_invalid_answers_are_rejected_with_the_reason(live: LiveSite, answers: dict[str, str], message: str) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    refused = visitor.save(visitor.enter(str(campaign.key)), answers)
    assert refused.status_code == 422
    assert message in refused.json()["error"]
    assert counts(live)["save"] == 0


@sqlite_only
def test_unknown_addresses_are_404_as_page_and_json(live: LiveSite) -> None:
    visitor = live.visitor()
    page = visitor.get("/nowhere")
    assert (page.status_code, "Page not found" in page.text) == (404, True)
    assert 'href="/">Go to the start</a>' in page.text
    data = visitor.get("/nowhere", headers={"accept": "application/json"})
    assert (data.status_code, data.json()) == (404, {"error": "There is nothing at this address."})
    assert visitor.send("/rate").status_code == 405


@sqlite_only
def test_a_rater_at_a_wrong_address_is_led_on(live: LiveSite) -> None:
    campaign = open_campaign(live.platform)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    lost = visitor.get("/nowhere")
    assert (lost.status_code, 'href="/rate">Go to the start</a>' in lost.text) == (404, True)
    assert assignment(visitor.get("/rate")) == assignment(page)


@sqlite_only
def test_every_response_has_security_headers(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    static = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert len(static) >= 3
    for answer in [page, visitor.get("/nowhere"), visitor.send("/stop"), *map(visitor.get, static)]:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-store"
    assert {visitor.get(one).headers["cache-control"] for one in static} == {"public, max-age=31536000, immutable"}


@sqlite_only
@pytest.mark.parametrize(
    "name",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "%2fetc%2fpasswd", ".", "..", "%00", "rate.js%00"],
)
def test_static_files_outside_the_folder_are_not_found(live: LiveSite, name: str) -> None:
    url = httpx.URL(live.url).copy_with(raw_path=f"/static/0123456789ab/{name}".encode())
    assert live.visitor().http.get(url).status_code in (400, 404)


@sqlite_only
def test_an_expired_arrival_must_open_the_link_again(live: LiveSite) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    visitor.send("/c/pilot", key=str(campaign.key), language="en")
    live.clock.forward(seconds=3601)
    late = visitor.send("/c/pilot/consent", purpose=["rating"])
    assert late.status_code == 403
    assert "nothing was stored" in late.text
    assert counts(live)["rater"] == 0
    assert visitor.enter(str(campaign.key)).status_code == 200
    live.clock.forward(days=31)
    assert visitor.get("/rate").status_code == 403


BAD = ("\x00", "a\x00b", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "x" * 5000, "../..", "%")


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_random_input_causes_no_internal_error(live: LiveSite, bad: str) -> None:
    campaign = open_campaign(live.platform, 3)
    visitor = live.visitor()
    page = visitor.enter(str(campaign.key))
    token, path = hidden(page)["form_token"], quote(bad, safe="")
    fields = {"form_token": token, "Q_safe": "No"}
    answers = [
        visitor.get(f"/c/{path}", params={"key": campaign.key}),
        visitor.get("/c/pilot", params={"key": bad, "lang": bad}),
        visitor.get(f"/withdraw/{path}", params={"lang": bad}),
        visitor.get("/declined", params={"lang": bad}),
        visitor.send("/c/pilot", key=bad, language=bad),
        visitor.send("/c/pilot/consent", purpose=bad),
        visitor.send("/consent", form_token=token, purpose=bad),
        visitor.send("/notice", form_token=token, text=bad),
        visitor.send("/notice", form_token=token, assignment=bad),
        visitor.send(f"/rate/{path}", **fields),
        visitor.send(f"/rate/{path}/skip", **fields),
        visitor.send("/stop", form_token=bad),
        visitor.save(page, {"Q_safe": bad}),
        visitor.save(page, {bad: "No"}),
        visitor.save(page, {bad: None}),
        visitor.save(page, {"Q_safe": "No"}, visit=bad),
        visitor.send(f"/rate/{assignment(page)}", **fields, Why=bad, visit=bad, revision=bad),
    ]
    assert [answer.status_code for answer in answers if answer.status_code >= 500] == []


def test_one_visitor_who_enters_twice_empties_no_campaign(live: LiveSite) -> None:
    """The story of a visitor who deletes cookies, enters the open link again and reports each item once more."""
    campaign = open_campaign(live.platform, 3)
    for _ in range(2):
        visitor = live.visitor(**{"x-forwarded-for": "192.0.2.1"})
        _report_all(visitor, visitor.enter(str(campaign.key)))
    rater = live.visitor(**{"x-forwarded-for": "192.0.2.2"})
    page = rater.enter(str(campaign.key))
    assert "0 of 3 rated" in page_text(page)
    # Somebody else agrees about one item: that one is withheld, and the owner reads all reports.
    rater.send("/notice", form_token=hidden(page)["form_token"], kind="illegal", assignment=assignment(page))
    last = live.visitor(**{"x-forwarded-for": "192.0.2.3"})
    page = last.enter(str(campaign.key))
    assert "0 of 2 rated" in page_text(page)
    page = last.rate(last.rate(page, Q_safe="No"), Q_safe="No")
    assert "Conversations rated 2" in page_text(page)
    with live.platform.database.reading() as tx:
        assert tx.scalar(select(func.count()).select_from(NoticeTable)) == 7
        assert len(set(tx.scalars(select(NoticeTable.reporter)))) == 4  # one by item for the first visitor


def _report_all(visitor: Visitor, page: Any) -> None:
    for _ in range(3):
        token = hidden(page)["form_token"]
        page = visitor.send("/notice", form_token=token, kind="illegal", assignment=assignment(page))
    assert "Thank you" in page_text(page)
