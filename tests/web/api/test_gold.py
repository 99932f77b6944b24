"""What experts said, by the API: nobody learns more by it than by the pages."""

from typing import Any

import pytest
from tests.support.api_programs import API, belongs, opened, program, rows
from tests.support.campaigns import NOW, items
from tests.support.gold_campaigns import YES, disputed, said, staffed
from tests.support.raters import enter, rate_all
from tests.support.staff_browsers import House

from dissensus.workflows.campaign import campaigns
from dissensus.workflows.gold import adjudication

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
HERE = f"{API}/pilot/gold"
AGREED = {"safety_gold": "Yes", "degree_of_harm": "Extreme", "harm_type": "Health,Racial"}


def parts(item: dict[str, Any]) -> dict[str, Any]:
    return {part["part"]: part for part in item["parts"]}


def test_nobody_reads_labels_before_all_are_in(house: House) -> None:
    _, experts = staffed(house.platform)
    http = program(house)
    assert [one["state"] for one in rows(http, HERE)] == ["unlabelled"] * 3
    said(house.platform, experts[0], YES)
    said(house.platform, experts[1], YES)
    (item,) = rows(http, HERE, state="begun")
    assert (item["position"], item["labellers"]) == (0, ["expert-0", "expert-1"])
    found = parts(item)
    assert (found["safety"]["n_labels"], found["safety"]["needed"], found["safety"]["state"]) == (2, 3, "open")
    # What is settled of a part holds already; who said what of it waits for the rest.
    assert found["degree"]["settled"] == {"degree": "Extreme"}
    assert [part["labels"] for part in item["parts"]] == [None, None, None]
    assert "belittles" not in http.get(HERE).text
    assert item["columns"] == {name: value for name, value in AGREED.items() if name != "safety_gold"}
    said(house.platform, experts[2], {"safety": "Yes", "reasons": ["Other"]})
    (item,) = rows(http, HERE, state="settled")
    labels = parts(item)["safety"]["labels"]
    assert [(one["by"], one["said"]["safety"]) for one in labels] == [(f"expert-{n}", "Yes") for n in range(3)]
    assert AGREED.items() <= item["columns"].items()


def test_corrections_and_decisions_are_its_history(house: House) -> None:
    owner, _ = disputed(house.platform)
    http = program(house)
    (item,) = rows(http, HERE, state="disputed")
    assert (parts(item)["safety"]["state"], parts(item)["safety"]["settled"]) == ("disputed", None)
    decision = {"safety": "No", "why": "I looked."}
    adjudication.decide_gold(house.platform, "pilot", 0, decision, seen=0, staff_id=owner, now=NOW)
    (item,) = rows(http, HERE, state="settled")
    safety = parts(item)["safety"]
    assert [(one["by"], one["why"], one["said"]) for one in safety["decisions"]] == [
        ("ada", "I looked.", {"safety": "No"})
    ]
    assert safety["settled"]["motivation"] == "I looked."


@one_kind
def test_pages_of_one_state_leave_none_out(house: House) -> None:
    _, (expert, *_) = staffed(house.platform, rated=items(9))
    for position in (1, 4, 8):
        said(house.platform, expert, YES, position)
    http = program(house)
    assert [one["position"] for one in rows(http, HERE, 1, state="begun")] == [1, 4, 8]
    assert [one["position"] for one in rows(http, HERE, 2, state="unlabelled")] == [0, 2, 3, 5, 6, 7]
    assert [one["position"] for one in rows(http, HERE, 4)] == list(range(9))
    after = http.get(HERE, params={"state": "begun", "limit": 1}).json()["next"]
    assert http.get(HERE, params={"state": "settled", "after": after}).status_code == 404
    assert http.get(HERE, params={"state": "done"}).status_code == 422


def test_gold_stands_beside_the_crowd_and_an_earlier_one(house: House) -> None:
    owner, experts = staffed(house.platform)
    http = program(house)
    nothing = http.get(f"{HERE}/comparison").json()
    assert (nothing["n_gold"], nothing["found"], nothing["reason"]) == (0, None, "Nobody has rated an item yet.")
    for expert in experts:
        said(house.platform, expert, YES if expert == experts[0] else {**YES, "motivation": ""})
    key = campaigns.change_state(house.platform, "pilot", "open", staff_id=owner, now=NOW).key
    rate_all(house.platform, enter(house.platform, key))
    sent = {"source": "May", "labels": [{"item": "item-0", "label": "No", "beside": {"n": "9"}}]}
    assert http.post(f"{HERE}/platinum", json=sent).json() == {"items": 1}
    found = http.get(f"{HERE}/comparison").json()
    assert (found["n_gold"], found["n_platinum"], found["n_items"], found["reason"]) == (1, 1, 3, None)
    assert found["found"]["summary"]["gold_only"] == 1
    assert {row["platinum"] for row in found["with_platinum"]["confusion"]} == {"safe", "unsafe"}
    (first, *_) = http.get(f"{API}/pilot/items").json()["data"]
    assert first["attributes"] == {
        **{name: text for name, text in first["attributes"].items() if "platinum" not in name},
        "safety_platinum": "No",
        "safety_platinum_source": "May",
        "safety_platinum_n": "9",
    }
    again = http.post(f"{HERE}/platinum", json=sent)
    assert (again.status_code, "has a label of an earlier crowd" in again.json()["detail"]) == (409, True)
    assert http.post(f"{HERE}/platinum", json={**sent, "replacing": True}).status_code == 201


@one_kind
def test_platinum_that_is_none_is_told_all_at_once(house: House) -> None:
    staffed(house.platform)
    http = program(house)
    labels = [{"item": "item-0", "label": "Perhaps"}, {"item": "nobody", "label": "No"}]
    told = http.post(f"{HERE}/platinum", json={"source": "May", "labels": labels})
    assert told.status_code == 422
    assert all(word in told.json()["detail"] for word in ("Perhaps", "nobody"))
    beside = [{"item": "item-0", "label": "No", "beside": {"label": "x"}}]
    told = http.post(f"{HERE}/platinum", json={"source": "May", "labels": beside})
    assert "'label' cannot stand beside a label" in told.json()["detail"]
    assert "safety_platinum" not in http.get(f"{API}/pilot/items").text


@one_kind
def test_experts_learn_nothing_by_it(house: House) -> None:
    staffed(house.platform)
    said_nothing = program(house, "expert-1")
    belongs(house, "ben", "analyst")
    for http in (said_nothing, program(house, "ben"), program(house, scopes=frozenset({"see", "items"}))):
        assert http.get(HERE).status_code == 403
        assert http.get(f"{HERE}/comparison").status_code == 403


def test_a_campaign_without_gold_says_so(house: House) -> None:
    opened(house)
    told = program(house).get(HERE)
    assert (told.status_code, "has no [gold]" in told.json()["detail"]) == (404, True)
