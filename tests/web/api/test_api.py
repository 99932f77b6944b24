"""What programs do by the API, over both kinds of database."""

import base64
import re
import zlib
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from tests.support.api_programs import API, belongs, opened, pages, program, rate, rows
from tests.support.campaigns import ABOUT_YOU, NOW, definition
from tests.support.gold_campaigns import YES, said, staffed
from tests.support.staff_browsers import TOML, House

from dissensus.store import campaigns as store
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.platform import staff

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
TALK = [{"speaker": "human", "text": "Hi"}, {"speaker": "bot", "text": "Hello!"}]


def item(item_id: str) -> dict[str, Any]:
    return {"id": item_id, "conversation": TALK, "attributes": {"topic": "x"}}


def opened_already(house: House) -> CampaignRow:
    with house.platform.database.reading() as tx:
        return store.get_campaign_by_name(tx, "pilot")


def test_a_campaign_goes_through_its_life(house: House) -> None:
    http = program(house)
    made = http.post(API, json={"definition": definition().as_mapping(), "items": [item("a"), item("b")]})
    assert made.status_code == 201, made.text
    assert (made.json()["state"], made.json()["role"], made.json()["moves"]) == ("draft", "owner", ["open"])
    assert http.post(f"{API}/pilot/items", json={"items": [item("c")]}).json() == {"items": 3}
    assert [one["id"] for one in rows(http, f"{API}/pilot/items")] == ["a", "b", "c"]
    assert rows(http, f"{API}/pilot/items")[0] == {**item("a"), "response_b": None}
    assert http.post(f"{API}/pilot/state", json={"to": "open"}).json()["state"] == "open"
    links = http.post(f"{API}/pilot/invitations", json={"n": 2}).json()["links"]
    assert all(re.fullmatch(rf"{house.live.url}/c/pilot\?key=[\w-]{{32}}", link) for link in links)
    assert house.stranger().get(links[0]).status_code == 200
    assert http.post(f"{API}/pilot/state", json={"to": "paused"}).json()["moves"] == ["open", "closed"]
    changed = definition(title="Another title").as_mapping()
    revised = http.put(f"{API}/pilot/definition", json={"definition": changed}).json()
    assert revised["definition"]["title"] == {"en": "Another title"}
    assert http.get(f"{API}/pilot").json() == revised


def test_a_definition_may_be_toml(house: House) -> None:
    http = program(house)
    made = http.post(API, json={"definition": TOML})
    assert made.status_code == 201, made.text
    again = http.post(API, json={"definition": {**made.json()["definition"], "name": "twin"}})
    assert again.json()["definition"] == {**made.json()["definition"], "name": "twin"}


def test_ratings_come_in_pages_with_ids_of_one_listing_alone(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 3, answer="Yes")
    rate(house, kept, 2, answer="No", release=True)
    http = program(house)
    found = rows(http, f"{API}/pilot/ratings", 4)
    assert len(found) == 15
    assert {row["Q_safe"] for row in found} == {"Yes", "No"}
    ids = {row["rater_id"] for row in found}
    assert len(ids) == 5
    assert ids.isdisjoint(row["rater_id"] for row in rows(http, f"{API}/pilot/ratings", 4))
    assert len(rows(http, f"{API}/pilot/ratings", 4, purpose="release")) == 6
    assert "Why" not in found[0]
    exported = http.get("/campaigns/pilot/export.csv").text.splitlines()
    page = http.get(f"{API}/pilot/ratings").json()
    assert [column["name"] for column in page["columns"]] == exported[0].split(",")
    scales = {column["name"]: column["scale"] for column in page["columns"] if column["type"] == "category"}
    assert scales == {"Q_safe": ["No", "Unsure", "Yes"]}
    audit.link_pending_events(house.platform)
    # One for each listing, and one for the CSV.
    assert sum(one["kind"] == "exported" for one in rows(http, f"{API}/pilot/events", 100)) == 5


def test_columns_hold_from_the_first_page_to_the_last(house: House) -> None:
    owner_id, experts = staffed(house.platform)
    campaigns.change_state(house.platform, "pilot", "open", staff_id=owner_id, now=NOW)
    rate(house, opened_already(house), 2)
    http = program(house)
    turning = pages(http, f"{API}/pilot/ratings", 4)
    first = next(turning)
    for expert in experts:
        said(house.platform, expert, YES if expert == experts[0] else {**YES, "motivation": ""})
    (last,) = turning
    assert [column["name"] for column in first["columns"]] == list(last["data"][0]) == list(first["data"][0])
    again = rows(http, f"{API}/pilot/ratings", 4)
    # What was settled meanwhile stands in the next listing, with the item that it is about alone.
    assert {row["item_id"]: row["safety_gold"] for row in again} == {"item-0": "Yes", "item-1": None, "item-2": None}
    audit.link_pending_events(house.platform)
    begun = [one["content"] for one in rows(http, f"{API}/pilot/events", 100) if one["kind"] == "exported"]
    assert ["safety_gold" in one["attributes"] for one in begun] == [False, True]


def test_a_listing_has_nothing_that_was_finished_after_it_began(house: House) -> None:
    """Else who keeps a place takes out all that ever comes, and the log tells of one listing."""
    kept = opened(house)
    rate(house, kept, 2)
    http = program(house)
    first = http.get(f"{API}/pilot/ratings", params={"limit": 5}).json()
    later = NOW + timedelta(minutes=1)
    rate(house, kept, 2, now=later)
    place = {"limit": 500, "after": first["next"]}
    assert len(http.get(f"{API}/pilot/ratings", params=place).json()["data"]) == 1
    house.live.clock.forward(minutes=2)
    assert len(rows(http, f"{API}/pilot/ratings", 500)) == 12


def test_a_place_in_a_list_says_nothing_to_who_carries_it(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 2)
    http = program(house)
    with house.platform.database.reading() as tx:
        ids = [*tx.scalars(select(AssignmentTable.id)), *tx.scalars(select(RaterTable.id))]
    audit.link_pending_events(house.platform)
    for path in ("ratings", "raters", "items", "events"):
        following = http.get(f"{API}/pilot/{path}", params={"limit": 1}).json()["next"]
        # What is signed stands before what signs it; it may be packed.
        said = following.lstrip(".").partition(".")[0]
        plain = base64.urlsafe_b64decode(said + "=" * (-len(said) % 4))
        with suppress(zlib.error):
            plain = zlib.decompress(plain)
        assert not any(word in plain for word in (b"pilot", path.encode(), *(one.encode() for one in ids)))
        assert http.get(f"{API}/pilot/{path}", params={"after": following}).status_code == 200
        for forged in (following[:-1], f"{following}A", following.swapcase(), f".{following}", "."):
            assert http.get(f"{API}/pilot/{path}", params={"after": forged}).status_code == 404


def test_who_withdraws_is_in_no_later_page(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 2)
    http = program(house)
    raters = rows(http, f"{API}/pilot/raters", 1)
    assert [(one["standing"], one["n_done"]) for one in raters] == [("finished", 3), ("finished", 3)]
    turning = pages(http, f"{API}/pilot/ratings", 3)
    next(turning)
    for rater in raters:
        assert http.delete(f"{API}/pilot/raters/{rater['id']}").json() == {"items": 3}
    assert next(turning)["data"] == []
    assert http.delete(f"{API}/pilot/raters/{raters[1]['id']}").status_code == 404
    assert [one["standing"] for one in rows(http, f"{API}/pilot/raters")] == ["withdrawn", "withdrawn"]


def test_pages_hold_while_more_comes(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 3)
    http = program(house)
    turning = pages(http, f"{API}/pilot/raters", 2)
    first = next(turning)["data"]
    rate(house, kept, 2)
    found = first + [row for page in turning for row in page["data"]]
    assert len({one["id"] for one in found}) == len(found) == 5
    owner_id = staff.create_sign_in_link(house.platform, "ada", now=NOW).staff.id
    listing = pages(http, API, 1)
    assert [one["name"] for one in next(listing)["data"]] == ["pilot"]
    for name in ("second", "third"):
        house.live.clock.forward(seconds=1)
        campaigns.create_campaign(house.platform, definition(name), (), staff_id=owner_id, now=house.live.clock())
    assert [one["name"] for one in rows(http, API, 1)] == ["pilot", "second", "third"]


def test_the_log_tells_what_happened_and_of_no_rater(house: House) -> None:
    rate(house, opened(house), 1)
    audit.link_pending_events(house.platform)
    http = program(house)
    found = rows(http, f"{API}/pilot/events", 3)
    assert [one["sequence"] for one in found] == list(range(1, len(found) + 1))
    assert [one["kind"] for one in found[:2]] == ["created", "state_changed"]
    (rater,) = rows(http, f"{API}/pilot/raters")
    submitted = [one for one in found if one["kind"] == "item_submitted"]
    assert {(one["by"], one["staff"], *one["content"]) for one in submitted} == {("rater", None, "item")}
    assert rater["id"] not in str(found)
    (member,) = http.get(f"{API}/pilot/members").json()["members"]
    assert found[0]["staff"] == member["id"]
    http.delete(f"{API}/pilot/raters/{rater['id']}")
    erased = [one for one in rows(http, f"{API}/pilot/events", 3) if one["kind"] == "erased"]
    assert erased
    assert all((one["at"], one["by"], one["content"]) == (None, None, {}) for one in erased)


def test_somebody_is_invited(house: House) -> None:
    opened(house)
    http = program(house)
    made = http.post(f"{API}/pilot/members", json={"role": "analyst"})
    assert (made.status_code, made.json()["role"]) == (201, "analyst")
    assert "analyst" in house.stranger().get(made.json()["link"]).text
    answer = http.get(f"{API}/pilot/members").json()
    assert [(one["name"], one["role"]) for one in answer["members"]] == [("ada", "owner")]
    (pending,) = answer["invitations"]
    assert (pending["role"], pending["expires_at"]) == ("analyst", made.json()["expires_at"])


def test_who_belongs_changes(house: House) -> None:
    opened(house)
    belongs(house, "ben", "analyst")
    http = program(house)
    ada, ben = (one["id"] for one in http.get(f"{API}/pilot/members").json()["members"])
    assert http.put(f"{API}/pilot/members/{ben}/role", json={"role": "expert"}).json()["role"] == "expert"
    refused = http.put(f"{API}/pilot/members/{ada}/role", json={"role": "expert"})
    assert (refused.status_code, "ada is the last owner" in refused.json()["detail"]) == (409, True)
    assert http.delete(f"{API}/pilot/members/{ada}").status_code == 409
    assert http.delete(f"{API}/pilot/members/{ben}").json()["name"] == "ben"
    assert http.delete(f"{API}/pilot/members/{ben}").status_code == 404
    link = http.post(f"{API}/pilot/members", json={"role": "analyst"}).json()["link"]
    (pending,) = http.get(f"{API}/pilot/members").json()["invitations"]
    taken, again = (http.delete(f"{API}/pilot/members/invitations/{pending['id']}") for _ in range(2))
    assert (taken.json()["invitations"], again.status_code) == ([], 404)
    assert house.stranger().get(link).status_code == 403


def test_a_campaign_is_cloned_and_its_draft_emptied(house: House) -> None:
    rate(house, opened(house), 1)
    http = program(house)
    made = http.post(f"{API}/pilot/clones", json={"name": "second"})
    assert (made.status_code, made.json()["state"], made.json()["numbers"]["raters"]) == (201, "draft", 0)
    assert made.json()["definition"] == {**http.get(f"{API}/pilot").json()["definition"], "name": "second"}
    assert http.post(f"{API}/pilot/clones", json={"name": "second"}).status_code == 409
    assert http.post(f"{API}/pilot/clones", json={"name": "new"}).status_code == 422
    assert len(rows(http, f"{API}/second/items")) == 3
    assert http.delete(f"{API}/second/items").json() == {"items": 0}
    assert rows(http, f"{API}/second/items") == []
    assert http.delete(f"{API}/pilot/items").status_code == 409


@one_kind
def test_an_analyst_learns_no_small_numbers(house: House) -> None:
    kept = opened(house)
    belongs(house, "ben", "analyst")
    ada, ben = program(house), program(house, "ben")
    for n, seen in ((0, (0, 0)), (4, (None, None)), (1, (5, 15))):
        rate(house, kept, n)
        numbers = ben.get(f"{API}/pilot").json()["numbers"]
        assert (numbers["raters"], numbers["rated"], numbers["standings"]) == (*seen, None)
        (line,) = ben.get(API).json()["data"]
        assert (line["raters"], line["rated"]) == seen
    assert ada.get(f"{API}/pilot").json()["numbers"]["standings"]["finished"] == 5
    belongs(house, "eve", "expert")
    assert program(house, "eve").get(f"{API}/pilot").json()["numbers"] is None
    few = program(house, scopes=frozenset({"see", "list", "small-numbers"}))
    assert few.get(f"{API}/pilot").json()["numbers"] is None
    assert few.get(API).json()["data"][0]["raters"] is None


@one_kind
def test_a_quota_is_told_as_far_as_one_may_know(house: House) -> None:
    quota = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 2, "rest": 1, "source": "recruiter"}
    opened(house, demographics=ABOUT_YOU, quota=quota)
    belongs(house, "ben", "analyst")
    (young, *_) = program(house).get(f"{API}/pilot/quota").json()["cells"]
    assert young == {"cell": "young", "target": 2, "places": 2, "finished": 0, "held": 0, "screened": 0}
    (young, *_) = program(house, "ben").get(f"{API}/pilot/quota").json()["cells"]
    assert young == {"cell": "young", "target": 2, "places": None, "finished": 0, "held": None, "screened": None}
    links = program(house).post(f"{API}/pilot/invitations", json={"n": 1})
    assert (links.status_code, "Name the cell" in links.json()["detail"]) == (422, True)


@one_kind
def test_a_place_in_one_list_is_none_in_another(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 2)
    http = program(house)
    after = http.get(f"{API}/pilot/raters", params={"limit": 1}).json()["next"]
    for path, query in (
        (f"{API}/pilot/items", {"after": after}),
        (f"{API}/pilot/raters", {"after": f"{after}x"}),
        (f"{API}/pilot/raters", {"after": "é\0"}),
        (f"{API}/pilot/ratings", {"after": after}),
    ):
        refused = http.get(path, params=query)
        assert (refused.status_code, "is no `next` of this list" in refused.json()["detail"]) == (404, True)
    after = http.get(f"{API}/pilot/ratings", params={"limit": 1}).json()["next"]
    assert http.get(f"{API}/pilot/ratings", params={"after": after, "purpose": "release"}).status_code == 404
