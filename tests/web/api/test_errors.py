"""Whatever goes wrong in the API is told in one shape, all of it at once."""

import json
from typing import Any

import httpx
import pytest
from tests.support.api_programs import API, opened, program
from tests.support.campaigns import definition
from tests.support.live_site import Live
from tests.support.staff_browsers import House

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
pytestmark = one_kind


def told(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert answer.status_code == problem["status"] == status, answer.text
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert problem["detail"]
    return problem


def test_who_has_no_token_is_told_where_they_are_made(house: House) -> None:
    for header in ("", "Bearer", "Bearer guess", "Basic YTpi"):
        answer = house.stranger().get(API, headers={"authorization": header})
        assert "token" in told(answer, 401)["detail"]
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_session_is_no_token(house: House) -> None:
    opened(house)
    told(house.owner().get(f"{API}/pilot"), 401)
    # And a token opens no page.
    assert program(house).get("/campaigns/pilot").status_code == 403


def test_nothing_is_read_of_who_is_nobody(house: House) -> None:
    told(house.stranger().post(API, content=b"{" * 10_000), 401)


def test_what_is_not_there_or_not_allowed(house: House) -> None:
    opened(house)
    http = program(house)
    assert told(http.get(f"{API}/nothing"), 404)["detail"] == "There is no campaign 'nothing'."
    assert "openapi.json" in told(http.get("/api/v2/campaigns"), 404)["detail"]
    refused = http.delete(f"{API}/pilot")
    assert "openapi.json" in told(refused, 405)["detail"]
    assert refused.headers["allow"] == "GET"
    assert http.patch(f"{API}/pilot/items").headers["allow"] == "DELETE, GET, POST"
    told(http.get(f"{API}/pilot/quota"), 404)
    assert "scope move" in told(program(house, scopes=frozenset({"see"})).post(f"{API}/pilot/state"), 403)["detail"]
    assert "no campaign" in told(program(house, "eve").get(f"{API}/pilot"), 404)["detail"]
    assert "cannot become draft" in told(http.post(f"{API}/pilot/state", json={"to": "draft"}), 409)["detail"]
    told(http.post(API, json={"definition": definition().as_mapping()}), 409)


def test_all_faults_are_listed(house: House) -> None:
    sent = {"definition": 1, "items": [{"id": "", "conversation": [], "extra": 1}], "by_link": "yes", "more": None}
    problem = told(program(house).post(API, json=sent), 422)
    faults = {one["at"]: one["detail"] for one in problem["errors"]}
    assert faults == {
        "definition in the body": "must be a text or an object",
        "items.0.id in the body": "is too short: it must have 1 or more characters",
        "items.0.conversation in the body": "has too few parts: it must have 1 or more",
        "items.0.extra in the body": "means nothing here",
        "by_link in the body": "must be true or false",
        "more in the body": "means nothing here",
    }
    assert all(f"{at} {says}." in problem["detail"] for at, says in faults.items())
    query = told(program(house).get(API, params={"limit": 501, "after": "x" * 2_001}), 422)
    assert [one["at"] for one in query["errors"]] == ["limit in the query", "after in the query"]


def test_a_definition_is_checked_as_everywhere(house: House) -> None:
    problem = told(program(house).post(API, json={"definition": {"name": "Pilot!", "titel": "x"}}), 422)
    assert "titel" in problem["detail"]
    assert "questionnaire" in problem["detail"]
    wrong = definition("other").as_mapping()
    opened(house)
    refused = told(program(house).put(f"{API}/pilot/definition", json={"definition": wrong}), 422)
    assert "It is called other" in refused["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"\xff", 400),
        (b"[" * 100_000, 400),
        (b'{"to": ' + b"9" * 5_000 + b"}", 400),
        (b'{"to": "open", "\\ud800": 1}', 422),
        (b'{"to": "\\ud800"}', 422),
        (b'{"to": NaN}', 422),
        (b'{"to": "open"}' + b" " * (8 << 20), 413),
    ],
    ids=["empty", "begun", "latin", "deep", "digits", "half a key", "half a text", "nan", "large"],
)
def test_what_is_no_json_of_ours(house: House, body: bytes, status: int) -> None:
    opened(house)
    answer = program(house).post(f"{API}/pilot/state", content=body, headers={"content-type": "application/json"})
    told(answer, status)


@pytest.mark.parametrize("text", ["\ud800", "\0"])
def test_what_no_database_holds(house: House, text: str) -> None:
    opened(house)
    http = program(house)
    json_type = {"content-type": "application/json"}
    talk = [{"speaker": "bot", "text": text}]
    sent = {"items": [{"id": "z", "conversation": talk}]}
    made = http.post(API, content=json.dumps({"definition": definition("a").as_mapping()}), headers=json_type)
    assert made.status_code == 201
    told(http.post(f"{API}/a/items", content=json.dumps(sent), headers=json_type), 422)
    for name in ("title", "warning", "name"):
        changed = {**definition("b").as_mapping(), name: {"en": text} if name != "name" else text}
        told(http.post(API, content=json.dumps({"definition": changed}), headers=json_type), 422)


def broken() -> None:
    """Break."""
    raise ZeroDivisionError("the password is hunter2")


def test_what_breaks_is_told_by_a_reference_alone(live: Live) -> None:
    live.app.add_api_route("/api/v1/broken", broken)
    answer = live.visitor().get("/api/v1/broken")
    problem = told(answer, 500)
    assert problem["reference"] in problem["detail"]
    assert "hunter2" not in answer.text


def test_another_site_is_refused_in_the_same_shape(house: House) -> None:
    told(program(house).post(API, json={}, headers={"origin": "https://evil.example"}), 403)


def test_who_asks_too_often_is_told_when_to_go_on(house: House) -> None:
    http, other = program(house), program(house)
    house.live.site.rate_limiter.burst = 3
    assert [http.get(API).status_code for _ in range(3)] == [200] * 3
    refused = http.get(API)
    assert "at most 600 times a minute" in told(refused, 429)["detail"]
    assert refused.headers["retry-after"] == "1"
    assert other.get(API).status_code == 200
    house.live.clock.forward(seconds=0.2)
    assert [http.get(API).status_code for _ in range(3)] == [200, 200, 429]
