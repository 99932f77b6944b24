"""API errors are problem details that list all faults."""

import json
from typing import Any

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.api_programs import API, open_api_campaign, program
from tests.support.campaigns import definition
from tests.support.live_site import LiveSite
from tests.support.staff_site import StaffSite

pytestmark = sqlite_only


def problem_of(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert answer.status_code == problem["status"] == status, answer.text
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert problem["detail"]
    return problem


def test_requests_without_a_token_are_unauthorized(staff_site: StaffSite) -> None:
    for header in ("", "Bearer", "Bearer guess", "Basic YTpi"):
        answer = staff_site.stranger().get(API, headers={"authorization": header})
        assert "token" in problem_of(answer, 401)["detail"]
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_session_cookie_does_not_authenticate_api_requests(staff_site: StaffSite) -> None:
    open_api_campaign(staff_site)
    problem_of(staff_site.owner().get(f"{API}/pilot"), 401)
    # An API token does not authenticate pages.
    assert program(staff_site).get("/campaigns/pilot").status_code == 403


def test_bodies_of_unauthenticated_requests_are_not_read(staff_site: StaffSite) -> None:
    problem_of(staff_site.stranger().post(API, content=b"{" * 10_000), 401)


def test_missing_and_forbidden_resources(staff_site: StaffSite) -> None:
    open_api_campaign(staff_site)
    http = program(staff_site)
    assert problem_of(http.get(f"{API}/nothing"), 404)["detail"] == "There is no campaign 'nothing'."
    assert "openapi.json" in problem_of(http.get("/api/v2/campaigns"), 404)["detail"]
    refused = http.patch(f"{API}/pilot")
    assert "openapi.json" in problem_of(refused, 405)["detail"]
    assert refused.headers["allow"] == "DELETE, GET"
    assert http.patch(f"{API}/pilot/items").headers["allow"] == "DELETE, GET, POST"
    problem_of(http.get(f"{API}/pilot/quota"), 404)
    assert (
        "scope state"
        in problem_of(program(staff_site, scopes=frozenset({"see"})).post(f"{API}/pilot/state"), 403)["detail"]
    )
    assert "no campaign" in problem_of(program(staff_site, "eve").get(f"{API}/pilot"), 404)["detail"]
    assert "cannot become draft" in problem_of(http.post(f"{API}/pilot/state", json={"state": "draft"}), 409)["detail"]
    problem_of(http.post(API, json={"definition": definition().as_mapping()}), 409)


def test_all_validation_errors_are_listed(staff_site: StaffSite) -> None:
    fields = {"definition": 1, "items": [{"id": "", "conversation": [], "extra": 1}], "open_link": "yes", "more": None}
    problem = problem_of(program(staff_site).post(API, json=fields), 422)
    faults = {one["at"]: one["detail"] for one in problem["errors"]}
    assert faults == {
        "definition in the body": "must be a text or an object",
        "items.0.id in the body": "is too short: at least 1 characters are required",
        "items.0.conversation in the body": "has too few entries: at least 1 are required",
        "items.0.extra in the body": "is not a field here",
        "open_link in the body": "must be true or false",
        "more in the body": "is not a field here",
    }
    assert all(f"{at} {says}." in problem["detail"] for at, says in faults.items())
    query = problem_of(program(staff_site).get(API, params={"limit": 501, "after": "x" * 2_001}), 422)
    assert [one["at"] for one in query["errors"]] == ["limit in the query", "after in the query"]
    problem_of(program(staff_site).get(API, params={"limit": 0}), 422)


def test_definitions_are_validated(staff_site: StaffSite) -> None:
    problem = problem_of(program(staff_site).post(API, json={"definition": {"name": "Pilot!", "titel": "x"}}), 422)
    assert "titel" in problem["detail"]
    assert "questionnaire" in problem["detail"]
    wrong = definition("other").as_mapping()
    open_api_campaign(staff_site)
    refused = problem_of(program(staff_site).put(f"{API}/pilot/definition", json={"definition": wrong}), 422)
    assert "The definition is of other" in refused["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 422),
        (b'{"state": ' + b"9" * 5_000 + b"}", 422),
        (b'{"state": "open", "\\ud800": 1}', 422),
        (b'{"state": "\\ud800"}', 422),
        (b'{"state": NaN}', 422),
        (b'{"state": "open"}' + b" " * (8 << 20), 413),
    ],
    ids=["empty", "begun", "latin", "deep", "digits", "half a key", "half a text", "nan", "large"],
)
def test_malformed_json_is_rejected(staff_site: StaffSite, body: bytes, status: int) -> None:
    open_api_campaign(staff_site)
    answer = program(staff_site).post(f"{API}/pilot/state", content=body, headers={"content-type": "application/json"})
    problem_of(answer, status)


@pytest.mark.parametrize("text", ["\ud800", "\0"])
def test_text_that_cannot_be_stored_is_rejected(staff_site: StaffSite, text: str) -> None:
    open_api_campaign(staff_site)
    http = program(staff_site)
    json_type = {"content-type": "application/json"}
    talk = [{"speaker": "bot", "text": text}]
    fields = {"items": [{"id": "z", "conversation": talk}]}
    response = http.post(API, content=json.dumps({"definition": definition("a").as_mapping()}), headers=json_type)
    assert response.status_code == 201
    problem_of(http.post(f"{API}/a/items", content=json.dumps(fields), headers=json_type), 422)
    for name in ("title", "warning", "name"):
        changed = {**definition("b").as_mapping(), name: {"en": text} if name != "name" else text}
        problem_of(http.post(API, content=json.dumps({"definition": changed}), headers=json_type), 422)


def broken() -> None:
    """Raise an unexpected error."""
    raise ZeroDivisionError("the password is hunter2")


def test_internal_errors_show_only_a_reference(live: LiveSite) -> None:
    live.app.add_api_route("/api/v1/broken", broken)
    answer = live.visitor().get("/api/v1/broken")
    problem = problem_of(answer, 500)
    assert problem["reference"] in problem["detail"]
    assert "hunter2" not in answer.text


def test_cross_site_requests_get_problem_details(staff_site: StaffSite) -> None:
    problem_of(program(staff_site).post(API, json={}, headers={"origin": "https://evil.example"}), 403)


def test_rate_limited_requests_say_when_to_retry(staff_site: StaffSite) -> None:
    http, other = program(staff_site), program(staff_site)
    staff_site.live.site.rate_limiter.burst = 3
    assert [http.get(API).status_code for _ in range(3)] == [200] * 3
    refused = http.get(API)
    assert "at most 600 a minute" in problem_of(refused, 429)["detail"]
    assert refused.headers["retry-after"] == "1"
    assert other.get(API).status_code == 200
    staff_site.live.clock.forward(seconds=0.2)
    assert [http.get(API).status_code for _ in range(3)] == [200, 200, 429]
