"""Items over the API: forms of files, the answers about items, and raters as their pages list them."""

from typing import Any

from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, open_api_campaign, program, rows, token
from tests.support.campaigns import NOW, definition
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign
from tests.support.raters import enter
from tests.support.staff_site import StaffSite

from dissensus import Client
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.rater import next_step, rating

ANSWERS = f"{API}/pilot/item-answers"
MESSAGES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


@sqlite_only
def test_items_are_accepted_as_files_have_them(staff_site: StaffSite) -> None:
    http = program(staff_site)
    http.post(API, json={"definition": definition().as_mapping()}).raise_for_status()
    instructed = [{"role": "system", "content": "Be kind."}, *MESSAGES]
    posted: list[dict[str, Any]] = [
        {"item_id": "a", "messages": MESSAGES},
        {"item_id": "b", "turns": [{"speaker": "human", "text": "Hi"}, {"speaker": "bot", "text": "Hello!"}]},
        {"id": "c", "messages": instructed, "attributes": {"topic": "x"}},
    ]
    assert http.post(f"{API}/pilot/items", json={"items": posted}).json() == {"items": 3}
    listed = rows(http, f"{API}/pilot/items")
    assert [one["id"] for one in listed] == ["a", "b", "c"]
    talk = [{"speaker": "human", "text": "Hi"}, {"speaker": "bot", "text": "Hello!"}]
    assert [one["conversation"] for one in listed] == [talk] * 3
    assert listed[2]["attributes"] == {"topic": "x", "item_instructions": "Be kind."}
    for wrong, message in (
        ({"item_id": "d"}, "needs one of conversation, messages and turns"),
        ({"item_id": "d", "messages": MESSAGES, "conversation": talk}, "needs one of"),
        ({"id": "d", "item_id": "d", "messages": MESSAGES}, "item_id in the body is not a field here"),
        (
            {"item_id": "d", "messages": [{"role": "x", "content": "Hi"}]},
            "Item 'd': Message 1 has the role 'x'",
        ),
        ({"item_id": "d", "messages": MESSAGES[:1]}, "by the human"),
    ):
        refused = http.post(f"{API}/pilot/items", json={"items": [wrong]})
        assert (refused.status_code, message in refused.text) == (422, True), refused.text


@sqlite_only
def test_answers_and_raters_are_those_of_the_pages(staff_site: StaffSite) -> None:
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaign = open_monitored_campaign(staff_site.platform, owner_id, replication=20)
    hasty, stubborn = add_crowd(staff_site.platform, campaign)
    reporter = enter(staff_site.platform, campaign.key)
    shown = next_step.find_next_step(staff_site.platform, reporter, now=NOW).assignment
    assert shown is not None
    rating.report_item(staff_site.platform, reporter, "illegal", "See this.", assignment_id=shown.id, now=NOW)
    refresh_snapshots(staff_site.platform, MonitoringCache(), now=NOW)
    http = program(staff_site)
    listed = rows(http, ANSWERS, 10)
    scores = [one["disagreement"] for one in listed]
    assert scores == sorted(scores, reverse=True)
    assert [one["number"] for one in rows(http, ANSWERS, 20, order="position")] == list(range(1, len(listed) + 1))
    first = listed[0]
    details = http.get(f"{ANSWERS}/{first['number']}").json()
    (answers,) = (one for one in details["answers"] if one["question"] == first["question"])
    assert dict(zip(answers["scale"], answers["counts"], strict=True)) == first["answers"]
    assert details["item"]["id"] == first["id"]
    (reported,) = rows(http, ANSWERS, order="position", flag="reported")
    assert reported["n_reports"] == 1
    assert http.get(f"{ANSWERS}/{reported['number']}").json()["reports"][0]["text"] == "See this."
    # Analysts read no reports, and a token without the scope of notices or flags does not either.
    add_member(staff_site, "ann", "analyst")
    for reader in (program(staff_site, "ann"), program(staff_site, scopes=SCOPES - {"notices", "flags"})):
        assert {one["n_reports"] for one in rows(reader, ANSWERS, 50)} == {None}
        assert reader.get(f"{ANSWERS}/{reported['number']}").json()["reports"] is None
        assert reader.get(ANSWERS, params={"flag": "reported"}).status_code == 403
    raters = rows(http, f"{API}/pilot/raters", 4, order="time")
    assert raters[0]["id"] == hasty
    assert (raters[0]["flagged"], raters[0]["verdict"]) == (True, None)
    assert {one["id"] for one in rows(http, f"{API}/pilot/raters", flag="undecided")} == {hasty, stubborn}
    narrow = program(staff_site, scopes=SCOPES - {"notices", "flags"})
    assert {(one["flagged"], one["n_notices"]) for one in rows(narrow, f"{API}/pilot/raters", 50)} == {(None, None)}
    assert narrow.get(f"{API}/pilot/raters", params={"flag": "undecided"}).status_code == 403
    for scope, flag, other in (("flags", "notices", "undecided"), ("notices", "undecided", "notices")):
        reader = program(staff_site, scopes=SCOPES - {scope})
        statuses = [reader.get(f"{API}/pilot/raters", params={"flag": one}).status_code for one in (flag, other)]
        assert statuses == [200, 403], scope
    with Client(staff_site.live.url, token(staff_site.platform, "ada")) as client:
        assert [one.id for one in client.monitoring.item_answers("pilot")] == [one["id"] for one in listed]
        assert client.monitoring.item("pilot", first["number"]).item.id == first["id"]


@sqlite_only
def test_filters_of_items_and_raters_are_checked(staff_site: StaffSite) -> None:
    open_api_campaign(staff_site)
    http = program(staff_site)
    requests: tuple[tuple[str, dict[str, Any]], ...] = (
        (ANSWERS, {"question": "x", "axis": "x", "answer": 99, "flag": "x", "order": "x"}),
        (f"{API}/pilot/raters", {"order": "x", "standing": "x", "cell": "x", "flag": "x", "number": 0}),
    )
    for path, wrong in requests:
        for name, value in wrong.items():
            assert http.get(path, params={name: value}).status_code == 422, (path, name)
    for number, status in ((4, 404), (0, 422), ("x", 422)):
        assert http.get(f"{ANSWERS}/{number}").status_code == status
