"""Gold labels over the API, with the visibility of the pages."""

from typing import Any

from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, open_api_campaign, program, rows
from tests.support.campaigns import NOW, items
from tests.support.gold_campaigns import YES, create_disputed_item, create_gold_campaign, label_item
from tests.support.raters import enter, rate_all
from tests.support.staff_site import StaffSite

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.gold import adjudication

GOLD_PATH = f"{API}/pilot/gold"
AGREED = {"safety_gold": "Yes", "degree_of_harm": "Extreme", "harm_type": "Health,Racial"}


def parts(item: dict[str, Any]) -> dict[str, Any]:
    return {part["part"]: part for part in item["parts"]}


@sqlite_only
def test_labels_are_hidden_until_complete(staff_site: StaffSite) -> None:
    _, experts = create_gold_campaign(staff_site.platform)
    http = program(staff_site)
    assert [one["state"] for one in rows(http, GOLD_PATH)] == ["unlabelled"] * 3
    label_item(staff_site.platform, experts[0], YES)
    label_item(staff_site.platform, experts[1], YES)
    (item,) = rows(http, GOLD_PATH, state="in_progress")
    assert (item["position"], item["labellers"]) == (0, ["expert-0", "expert-1"])
    open_parts = parts(item)
    assert (open_parts["safety"]["n_labels"], open_parts["safety"]["n_needed"], open_parts["safety"]["state"]) == (
        2,
        3,
        "open",
    )
    # Settled answers of a part are visible; its labels are hidden until all parts are settled.
    assert open_parts["degree"]["settled_answers"] == {"degree": "Extreme"}
    assert [part["labels"] for part in item["parts"]] == [None, None, None]
    assert "belittles" not in http.get(GOLD_PATH).text
    assert item["columns"] == {name: value for name, value in AGREED.items() if name != "safety_gold"}
    label_item(staff_site.platform, experts[2], {"safety": "Yes", "reasons": ["Other"]})
    (item,) = rows(http, GOLD_PATH, state="settled")
    labels = parts(item)["safety"]["labels"]
    assert [(one["by"], one["answers"]["safety"]) for one in labels] == [(f"expert-{n}", "Yes") for n in range(3)]
    assert AGREED.items() <= item["columns"].items()


@sqlite_only
def test_corrections_and_decisions_are_in_the_history(staff_site: StaffSite) -> None:
    owner, _ = create_disputed_item(staff_site.platform)
    http = program(staff_site)
    (item,) = rows(http, GOLD_PATH, state="disputed")
    assert (parts(item)["safety"]["state"], parts(item)["safety"]["settled_answers"]) == ("disputed", None)
    decision = {"safety": "No", "reason": "I looked."}
    adjudication.decide_gold(staff_site.platform, "pilot", 0, decision, revision=0, staff_id=owner, now=NOW)
    (item,) = rows(http, GOLD_PATH, state="settled")
    safety = parts(item)["safety"]
    assert [(one["by"], one["reason"], one["answers"]) for one in safety["decisions"]] == [
        ("ada", "I looked.", {"safety": "No"})
    ]
    assert safety["settled_answers"]["motivation"] == "I looked."


@sqlite_only
def test_pages_filtered_by_state_are_complete(staff_site: StaffSite) -> None:
    _, (expert, *_) = create_gold_campaign(staff_site.platform, rated=items(9))
    for position in (1, 4, 8):
        label_item(staff_site.platform, expert, YES, position)
    http = program(staff_site)
    assert [one["position"] for one in rows(http, GOLD_PATH, 1, state="in_progress")] == [1, 4, 8]
    assert [one["position"] for one in rows(http, GOLD_PATH, 2, state="unlabelled")] == [0, 2, 3, 5, 6, 7]
    assert [one["position"] for one in rows(http, GOLD_PATH, 4)] == list(range(9))
    after = http.get(GOLD_PATH, params={"state": "in_progress", "limit": 1}).json()["next"]
    assert http.get(GOLD_PATH, params={"state": "settled", "after": after}).status_code == 422
    assert http.get(GOLD_PATH, params={"state": "done"}).status_code == 422


@sqlite_only
def test_gold_is_compared_with_the_crowd_and_platinum(staff_site: StaffSite) -> None:
    owner, experts = create_gold_campaign(staff_site.platform)
    http = program(staff_site)
    unrated = http.get(f"{GOLD_PATH}/comparison").json()
    assert (unrated["n_gold"], unrated["with_crowd"], unrated["reason"]) == (0, None, "Nobody has rated an item yet.")
    for expert in experts:
        label_item(staff_site.platform, expert, YES if expert == experts[0] else {**YES, "motivation": ""})
    key = campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=owner, now=NOW).key
    rate_all(staff_site.platform, enter(staff_site.platform, key))
    fields = {"source": "May", "labels": [{"item": "item-0", "label": "No", "attributes": {"n": "9"}}]}
    assert http.post(f"{GOLD_PATH}/platinum", json=fields).json() == {"items": 1}
    body = http.get(f"{GOLD_PATH}/comparison").json()
    assert (body["n_gold"], body["n_platinum"], body["n_items"], body["reason"]) == (1, 1, 3, None)
    assert body["with_crowd"]["summary"]["gold_only"] == 1
    assert {row["platinum"] for row in body["with_platinum"]["confusion"]} == {"safe", "unsafe"}
    (first, *_) = http.get(f"{API}/pilot/items").json()["data"]
    assert first["attributes"] == {
        **{name: text for name, text in first["attributes"].items() if "platinum" not in name},
        "safety_platinum": "No",
        "safety_platinum_source": "May",
        "safety_platinum_n": "9",
    }
    repeated = http.post(f"{GOLD_PATH}/platinum", json=fields)
    assert (repeated.status_code, "has a label of an earlier crowd" in repeated.json()["detail"]) == (409, True)
    assert http.post(f"{GOLD_PATH}/platinum", json={**fields, "replace": True}).status_code == 201


@sqlite_only
def test_all_faults_of_platinum_are_listed(staff_site: StaffSite) -> None:
    create_gold_campaign(staff_site.platform)
    http = program(staff_site)
    labels = [{"item": "item-0", "label": "Perhaps"}, {"item": "nobody", "label": "No"}]
    response = http.post(f"{GOLD_PATH}/platinum", json={"source": "May", "labels": labels})
    assert response.status_code == 422
    assert all(word in response.json()["detail"] for word in ("Perhaps", "nobody"))
    beside = [{"item": "item-0", "label": "No", "attributes": {"label": "x"}}]
    response = http.post(f"{GOLD_PATH}/platinum", json={"source": "May", "labels": beside})
    assert "'label' is reserved" in response.json()["detail"]
    assert "safety_platinum" not in http.get(f"{API}/pilot/items").text


@sqlite_only
def test_experts_cannot_use_the_gold_api(staff_site: StaffSite) -> None:
    create_gold_campaign(staff_site.platform)
    said_nothing = program(staff_site, "expert-1")
    add_member(staff_site, "ben", "analyst")
    for http in (said_nothing, program(staff_site, "ben"), program(staff_site, scopes=frozenset({"see", "items"}))):
        assert http.get(GOLD_PATH).status_code == 403
        assert http.get(f"{GOLD_PATH}/comparison").status_code == 403


@sqlite_only
def test_a_campaign_without_gold_says_so(staff_site: StaffSite) -> None:
    open_api_campaign(staff_site)
    response = program(staff_site).get(GOLD_PATH)
    assert (response.status_code, "has no [gold]" in response.json()["detail"]) == (404, True)
