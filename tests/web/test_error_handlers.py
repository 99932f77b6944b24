"""Errors have a page with our messages, and data for programs."""

import logging
import re
import socket
import time
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import open_campaign
from tests.support.live_site import LiveSite
from tests.support.staff_site import PASTED, TOML, StaffSite, create_draft, send

from dissensus.errors import NoDatabase
from dissensus.web.core.translations import load_phrases
from dissensus.workflows.campaign import campaigns

AGAIN = "Load the page again, or open your link again."
JSON = {"accept": "application/json"}


def broken() -> None:
    """Raise an error with internal details in the message."""
    raise ZeroDivisionError("the password is hunter2")


@sqlite_only
def test_internal_errors_show_the_reference_of_the_log(live: LiveSite, caplog: pytest.LogCaptureFixture) -> None:
    live.app.add_api_route("/broken", broken)
    page = live.visitor(**{"accept-language": "de"}).get("/broken")
    data = live.visitor().get("/broken", headers=JSON)
    assert (page.status_code, data.status_code) == (500, 500)
    assert "Etwas ist schiefgegangen" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert list(data.json()) == ["error"]
    rows = [record for record in caplog.records if record.name == "dissensus.errors"]
    references = [re.findall(r"\b[0-9a-f]{8}\b", answer) for answer in (page.text.partition("<main")[2], data.text)]
    assert [record.getMessage() for record in rows] == [
        f"Unhandled exception at GET /broken. Reference: {one}" for (one,) in references
    ]
    assert all(record.exc_info and "hunter2" in str(record.exc_info[1]) for record in rows)
    for answer in (page, data):
        assert not re.search("hunter2|ZeroDivision|Traceback|Internal", answer.text)
    assert 'status="500"} 2.0' in live.visitor().get("/metrics").text


@sqlite_only
@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/c/pilot?key=" + "k" * 201, f"key in the address is too long: at most 200 characters are allowed. {AGAIN}"),
        ("/c/pilot?lang=" + "x" * 101, f"lang in the address is too long: at most 100 characters are allowed. {AGAIN}"),
        ("/sign-in/" + "k" * 101, f"key in the address is too long: at most 100 characters are allowed. {AGAIN}"),
        ("/rate?receipt=perhaps", f"receipt in the address must be 1 or 0. {AGAIN}"),
    ],
)
def test_invalid_parameters_have_our_messages(live: LiveSite, path: str, says: str) -> None:
    page, data = live.visitor().get(path), live.visitor().get(path, headers=JSON)
    assert (page.status_code, data.status_code) == (422, 422)
    assert says in page.text
    assert data.json() == {"error": says}
    assert not re.search("pydantic|string_too_long|should have", page.text)


@sqlite_only
def test_all_missing_form_fields_are_listed(live: LiveSite) -> None:
    key = str(open_campaign(live.platform, 1).key)
    refused = live.visitor(**JSON).send("/c/pilot")
    assert (refused.status_code, refused.json()) == (
        422,
        {"error": f"key in the form is missing. {AGAIN}\nlanguage in the form is missing. {AGAIN}"},
    )
    assert live.visitor().send("/c/pilot", key=key, language="en").status_code == 200


@sqlite_only
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"key": "x"}, "key must be a UUID."),
        ({"revision": 0}, "revision must be 1 or more."),
        ({"visible_ms": 10**12}, "visible_ms must be 604,800,000 or less."),
        ({"visit": "v" * 37}, "visit is too long: at most 36 characters are allowed."),
        ({"colour": "red"}, "colour is not a field here."),
        (
            {"answers": dict.fromkeys(map(str, range(1001)), "x")},
            "answers has too many entries: at most 1,000 are allowed.",
        ),
        ({"final": []}, "final must be true or false."),
    ],
)
def test_invalid_saves_have_our_messages(live: LiveSite, change: dict[str, Any], says: str) -> None:
    visitor = live.visitor()
    page = visitor.enter(str(open_campaign(live.platform, 1).key))
    refused = visitor.save(page, **{"answers": {}, **change})
    assert (refused.status_code, refused.json()) == (422, {"error": f"The request cannot be read: {says} {AGAIN}"})


@sqlite_only
def test_malformed_and_oversized_forms_are_rejected(live: LiveSite) -> None:
    http = live.visitor().http
    headers = {"content-type": "multipart/form-data; boundary=b"}
    garbled = http.post("/c/pilot", content=b"no parts", headers=headers)
    assert garbled.status_code == 400
    assert "The request cannot be read. Load the page again and repeat." in garbled.text
    form = {"content-type": "application/x-www-form-urlencoded"}
    field = http.post("/c/pilot", content=b"a=" + b"a" * (300 << 10), headers=form)
    assert (field.status_code, "A field of the form is too large." in field.text) == (413, True)
    large = http.post("/c/pilot", content=(b"a=" + b"a" * 65536 + b"&" for _ in range(20)), headers=form)
    assert (large.status_code, large.text) == (
        413,
        "The request is too large: at most 1,048,576 bytes are allowed here.",
    )


@sqlite_only
@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("PUT", "/rate", 405)])
def test_unknown_addresses_and_methods_are_rejected(live: LiveSite, method: str, path: str, status: int) -> None:
    http = live.visitor().http
    page, data = http.request(method, path), http.request(method, path, headers=JSON)
    assert (page.status_code, data.status_code) == (status, status)
    assert "<h1>" in page.text
    assert list(data.json()) == ["error"]
    assert ("allow" in page.headers) == (status == 405)


@sqlite_only
@pytest.mark.parametrize("path", ["/campaigns/unknown", "/campaigns/new/unknown/kind", "/campaigns/unknown/plans/1"])
def test_errors_of_all_pages_for_staff_stand_in_their_frame(staff_site: StaffSite, path: str) -> None:
    page = staff_site.owner().get(path)
    assert page.status_code == 404
    assert "staff.css" in page.text


@sqlite_only
def test_only_addresses_of_the_api_have_problem_details(live: LiveSite) -> None:
    page, program = live.visitor().get("/api/unknown"), live.visitor().get("/api/v2/unknown")
    assert (page.status_code, program.status_code) == (404, 404)
    assert page.headers["content-type"].startswith("text/html")
    assert program.headers["content-type"] == "application/problem+json"


@sqlite_only
@pytest.mark.parametrize("path", ["/rate", "/withdraw/unknown", "/c/unknown?key=x"])
def test_a_german_page_marks_the_english_details(live: LiveSite, path: str) -> None:
    page = live.visitor(**{"accept-language": "de"}).get(path)
    assert page.status_code in (403, 404)
    details = re.findall(r'<p[^>]* lang="en"[^>]*>(.*?)</p>', page.text, re.DOTALL)
    german = re.sub(r"<head>.*</head>|<[^>]*>", "\n", page.text.replace(details[0], ""), flags=re.DOTALL)
    assert len(details) == 1
    assert {line.strip() for line in german.splitlines()} - {""} <= set(load_phrases("de").values())


@sqlite_only
def test_each_of_repeated_parameters_is_checked(live: LiveSite) -> None:
    page = live.visitor().get("/rate?lang=%00&lang=en")
    assert (page.status_code, "contains a NUL character" in page.text) == (422, True)


@sqlite_only
def test_a_database_that_is_away_is_no_fault_of_a_form(staff_site: StaffSite, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise NoDatabase("no such host: db.internal")

    browser = staff_site.owner()
    create_draft(staff_site, "kiln")
    monkeypatch.setattr(campaigns, "create_campaign", stop)
    monkeypatch.setattr(campaigns, "add_items", stop)
    for path, fields in (
        ("/campaigns/new", {"definition": TOML, "action": "create"}),
        ("/campaigns/kiln/items", {"action": "add"}),
    ):
        page = send(browser, path, pasted=PASTED, **fields)
        assert page.status_code == 503
        assert "db.internal" not in page.text


@sqlite_only
def test_a_client_disconnect_is_not_an_error(live: LiveSite, caplog: pytest.LogCaptureFixture) -> None:
    key = str(open_campaign(live.platform, 1).key)
    visitor = live.visitor()
    visitor.enter(key)
    url, cookie = httpx.URL(live.url), visitor.http.cookies["dissensus_rater"]
    head = f"POST /rate/x/save HTTP/1.1\r\nHost: localhost\r\nCookie: dissensus_rater={cookie}\r\n"
    head += "Content-Length: 100\r\n\r\n"
    with socket.create_connection((url.host, url.port or 80), timeout=10) as connection:
        connection.sendall(f"{head}half".encode())
    until = time.monotonic() + 10
    metric = 'route="/rate/{assignment_id}/save",status="400"} 1.0'
    while metric not in visitor.get("/metrics").text:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
