"""Campaigns, ratings, events and members over the API, on both kinds of database."""

import base64
import re
import zlib
from contextlib import suppress
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from tests.databases import sqlite_only
from tests.support.api_programs import API, add_member, open_api_campaign, pages, program, rate, rows
from tests.support.campaigns import ABOUT_YOU, NOW, definition
from tests.support.gold_campaigns import YES, create_gold_campaign, label_item
from tests.support.staff_site import TOML, StaffSite, create_draft

from dissensus.store import campaigns as store
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import audit, campaigns
from dissensus.workflows.platform import sign_in_links

TALK = [{"speaker": "human", "text": "Hi"}, {"speaker": "bot", "text": "Hello!"}]


def item(item_id: str) -> dict[str, Any]:
    return {"id": item_id, "conversation": TALK, "attributes": {"topic": "x"}}


def load_campaign(staff_site: StaffSite) -> CampaignRow:
    with staff_site.platform.database.reading() as tx:
        return store.get_campaign_by_name(tx, "pilot")


@sqlite_only
def test_a_campaign_is_created_opened_rated_and_closed(staff_site: StaffSite) -> None:
    http = program(staff_site)
    response = http.post(API, json={"definition": definition().as_mapping(), "items": [item("a"), item("b")]})
    assert response.status_code == 201, response.text
    assert (response.json()["state"], response.json()["role"], response.json()["allowed_states"]) == (
        "draft",
        "owner",
        ["open"],
    )
    assert http.post(f"{API}/pilot/items", json={"items": [item("c")]}).json() == {"items": 3}
    assert [one["id"] for one in rows(http, f"{API}/pilot/items")] == ["a", "b", "c"]
    assert rows(http, f"{API}/pilot/items")[0] == {**item("a"), "response_b": None}
    assert http.post(f"{API}/pilot/state", json={"state": "open"}).json()["state"] == "open"
    links = http.post(f"{API}/pilot/invitations", json={"n": 2}).json()["links"]
    assert all(re.fullmatch(rf"{staff_site.live.url}/c/pilot\?key=[\w-]{{32}}", link) for link in links)
    assert staff_site.stranger().get(links[0]).status_code == 200
    assert http.post(f"{API}/pilot/state", json={"state": "paused"}).json()["allowed_states"] == ["open", "closed"]
    changed = definition(title="Another title").as_mapping()
    revised = http.put(f"{API}/pilot/definition", json={"definition": changed}).json()
    assert revised["definition"]["title"] == {"en": "Another title"}
    assert http.get(f"{API}/pilot").json() == revised


@sqlite_only
def test_a_definition_may_be_toml(staff_site: StaffSite) -> None:
    http = program(staff_site)
    response = http.post(API, json={"definition": TOML})
    assert response.status_code == 201, response.text
    copied = http.post(API, json={"definition": {**response.json()["definition"], "name": "twin"}})
    assert copied.json()["definition"] == {**response.json()["definition"], "name": "twin"}


def test_ratings_pages_have_ids_valid_for_one_listing(staff_site: StaffSite) -> None:
    campaign = open_api_campaign(staff_site)
    rate(staff_site, campaign, 3, answer="Yes")
    rate(staff_site, campaign, 2, answer="No", release=True)
    http = program(staff_site)
    ratings = rows(http, f"{API}/pilot/ratings", 4)
    assert len(ratings) == 15
    assert {row["Q_safe"] for row in ratings} == {"Yes", "No"}
    ids = {row["rater_id"] for row in ratings}
    assert len(ids) == 5
    assert ids.isdisjoint(row["rater_id"] for row in rows(http, f"{API}/pilot/ratings", 4))
    assert len(rows(http, f"{API}/pilot/ratings", 4, purpose="release")) == 6
    assert "Why" not in ratings[0]
    exported = http.get("/campaigns/pilot/export.csv").text.splitlines()
    page = http.get(f"{API}/pilot/ratings").json()
    assert [column["name"] for column in page["columns"]] == exported[0].split(",")
    scales = {column["name"]: column["scale"] for column in page["columns"] if column["type"] == "category"}
    assert scales == {"Q_safe": ["No", "Unsure", "Yes"]}
    audit.link_pending_events(staff_site.platform)
    # One event for each listing, and one for the CSV.
    assert sum(one["kind"] == "exported" for one in rows(http, f"{API}/pilot/events", 100)) == 5


def test_columns_are_the_same_on_all_pages(staff_site: StaffSite) -> None:
    owner_id, experts = create_gold_campaign(staff_site.platform)
    campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=owner_id, now=NOW)
    rate(staff_site, load_campaign(staff_site), 2)
    http = program(staff_site)
    listing = pages(http, f"{API}/pilot/ratings", 4)
    first = next(listing)
    for expert in experts:
        label_item(staff_site.platform, expert, YES if expert == experts[0] else {**YES, "motivation": ""})
    (last,) = listing
    assert [column["name"] for column in first["columns"]] == list(last["data"][0]) == list(first["data"][0])
    next_listing = rows(http, f"{API}/pilot/ratings", 4)
    # Labels settled meanwhile are in the next listing, beside their item only.
    assert {row["item_id"]: row["safety_gold"] for row in next_listing} == {
        "item-0": "Yes",
        "item-1": None,
        "item-2": None,
    }
    audit.link_pending_events(staff_site.platform)
    exports = [one["content"] for one in rows(http, f"{API}/pilot/events", 100) if one["kind"] == "exported"]
    assert ["safety_gold" in one["attributes"] for one in exports] == [False, True]


@sqlite_only
def test_a_listing_omits_ratings_finished_after_it_began(staff_site: StaffSite) -> None:
    """Otherwise an old cursor would export later ratings without another log entry."""
    campaign = open_api_campaign(staff_site)
    rate(staff_site, campaign, 2)
    http = program(staff_site)
    first = http.get(f"{API}/pilot/ratings", params={"limit": 5}).json()
    later = NOW + timedelta(minutes=1)
    rate(staff_site, campaign, 2, now=later)
    cursor = {"limit": 500, "after": first["next"]}
    assert len(http.get(f"{API}/pilot/ratings", params=cursor).json()["data"]) == 1
    staff_site.live.clock.forward(minutes=2)
    assert len(rows(http, f"{API}/pilot/ratings", 500)) == 12


def test_cursors_reveal_nothing(staff_site: StaffSite) -> None:
    campaign = open_api_campaign(staff_site)
    rate(staff_site, campaign, 2)
    http = program(staff_site)
    with staff_site.platform.database.reading() as tx:
        ids = [*tx.scalars(select(AssignmentTable.id)), *tx.scalars(select(RaterTable.id))]
    audit.link_pending_events(staff_site.platform)
    for path in ("ratings", "raters", "items", "events"):
        following = http.get(f"{API}/pilot/{path}", params={"limit": 1}).json()["next"]
        # The payload precedes the signature, and may be compressed.
        payload = following.lstrip(".").partition(".")[0]
        plain = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        with suppress(zlib.error):
            plain = zlib.decompress(plain)
        assert not any(word in plain for word in (b"pilot", path.encode(), *(one.encode() for one in ids)))
        assert http.get(f"{API}/pilot/{path}", params={"after": following}).status_code == 200
        for forged in (following[:-1], f"{following}A", following.swapcase(), f".{following}", "."):
            assert http.get(f"{API}/pilot/{path}", params={"after": forged}).status_code == 422


def test_withdrawn_raters_are_missing_from_later_pages(staff_site: StaffSite) -> None:
    campaign = open_api_campaign(staff_site)
    rate(staff_site, campaign, 2)
    http = program(staff_site)
    raters = rows(http, f"{API}/pilot/raters", 1)
    assert [(one["standing"], one["n_rated"]) for one in raters] == [("finished", 3), ("finished", 3)]
    turning = pages(http, f"{API}/pilot/ratings", 3)
    next(turning)
    for rater in raters:
        assert http.delete(f"{API}/pilot/raters/{rater['id']}").json() == {"items": 3}
    assert next(turning)["data"] == []
    assert http.delete(f"{API}/pilot/raters/{raters[1]['id']}").status_code == 404
    assert [one["standing"] for one in rows(http, f"{API}/pilot/raters")] == ["withdrawn", "withdrawn"]


def test_pages_are_stable_while_rows_are_added(staff_site: StaffSite) -> None:
    campaign = open_api_campaign(staff_site)
    rate(staff_site, campaign, 3)
    http = program(staff_site)
    following = pages(http, f"{API}/pilot/raters", 2)
    first = next(following)["data"]
    rate(staff_site, campaign, 2)
    ratings = first + [row for page in following for row in page["data"]]
    assert len({one["id"] for one in ratings}) == len(ratings) == 5
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    listing = pages(http, API, 1)
    assert [one["name"] for one in next(listing)["data"]] == ["pilot"]
    for name in ("second", "third"):
        staff_site.live.clock.forward(seconds=1)
        campaigns.create_campaign(
            staff_site.platform, definition(name), (), staff_id=owner_id, now=staff_site.live.clock()
        )
    assert [one["name"] for one in rows(http, API, 1)] == ["pilot", "second", "third"]


@sqlite_only
def test_events_do_not_identify_raters(staff_site: StaffSite) -> None:
    rate(staff_site, open_api_campaign(staff_site), 1)
    audit.link_pending_events(staff_site.platform)
    http = program(staff_site)
    events = rows(http, f"{API}/pilot/events", 3)
    assert [one["sequence"] for one in events] == list(range(1, len(events) + 1))
    assert [one["kind"] for one in events[:2]] == ["created", "state_changed"]
    (rater,) = rows(http, f"{API}/pilot/raters")
    submitted = [one for one in events if one["kind"] == "item_submitted"]
    assert {(one["actor"], one["staff"], *one["content"]) for one in submitted} == {("rater", None, "item")}
    assert rater["id"] not in str(events)
    (member,) = http.get(f"{API}/pilot/members").json()["members"]
    assert events[0]["staff"] == member["id"]
    http.delete(f"{API}/pilot/raters/{rater['id']}")
    erased = [one for one in rows(http, f"{API}/pilot/events", 3) if one["kind"] == "erased"]
    assert erased
    assert all((one["at"], one["actor"], one["content"]) == (None, None, {}) for one in erased)


@sqlite_only
def test_a_member_is_invited(staff_site: StaffSite) -> None:
    open_api_campaign(staff_site)
    http = program(staff_site)
    response = http.post(f"{API}/pilot/members", json={"role": "analyst"})
    assert (response.status_code, response.json()["role"]) == (201, "analyst")
    assert "analyst" in staff_site.stranger().get(response.json()["link"]).text
    answer = http.get(f"{API}/pilot/members").json()
    assert [(one["name"], one["role"]) for one in answer["members"]] == [("ada", "owner")]
    (pending,) = answer["invitations"]
    assert (pending["role"], pending["expires_at"]) == ("analyst", response.json()["expires_at"])


@sqlite_only
def test_members_and_roles_can_be_changed(staff_site: StaffSite) -> None:
    open_api_campaign(staff_site)
    add_member(staff_site, "ben", "analyst")
    http = program(staff_site)
    ada, ben = (one["id"] for one in http.get(f"{API}/pilot/members").json()["members"])
    assert http.put(f"{API}/pilot/members/{ben}/role", json={"role": "expert"}).json()["role"] == "expert"
    refused = http.put(f"{API}/pilot/members/{ada}/role", json={"role": "expert"})
    assert (refused.status_code, "ada is the last owner" in refused.json()["detail"]) == (409, True)
    assert http.delete(f"{API}/pilot/members/{ada}").status_code == 409
    assert http.delete(f"{API}/pilot/members/{ben}").json()["name"] == "ben"
    assert http.delete(f"{API}/pilot/members/{ben}").status_code == 404
    link = http.post(f"{API}/pilot/members", json={"role": "analyst"}).json()["link"]
    (pending,) = http.get(f"{API}/pilot/members").json()["invitations"]
    deleted, repeated = (http.delete(f"{API}/pilot/members/invitations/{pending['id']}") for _ in range(2))
    assert (deleted.json()["invitations"], repeated.status_code) == ([], 404)
    assert staff_site.stranger().get(link).status_code == 403


@sqlite_only
def test_a_campaign_is_cloned_and_the_items_of_the_draft_removed(staff_site: StaffSite) -> None:
    rate(staff_site, open_api_campaign(staff_site), 1)
    http = program(staff_site)
    response = http.post(f"{API}/pilot/clones", json={"name": "second"})
    assert (response.status_code, response.json()["state"], response.json()["numbers"]["raters"]) == (201, "draft", 0)
    assert response.json()["definition"] == {**http.get(f"{API}/pilot").json()["definition"], "name": "second"}
    assert http.post(f"{API}/pilot/clones", json={"name": "second"}).status_code == 409
    assert http.post(f"{API}/pilot/clones", json={"name": "new"}).status_code == 422
    assert len(rows(http, f"{API}/second/items")) == 3
    assert http.delete(f"{API}/second/items").json() == {"items": 0}
    assert rows(http, f"{API}/second/items") == []
    assert http.delete(f"{API}/pilot/items").status_code == 409


@sqlite_only
def test_an_observer_gets_no_small_numbers(staff_site: StaffSite) -> None:
    campaign = open_api_campaign(staff_site)
    add_member(staff_site, "ben", "observer")
    ada, ben = program(staff_site), program(staff_site, "ben")
    for n, visible in ((0, (0, 0)), (4, (None, None)), (1, (5, 15))):
        rate(staff_site, campaign, n)
        numbers = ben.get(f"{API}/pilot").json()["numbers"]
        assert (numbers["raters"], numbers["ratings"], numbers["standings"]) == (*visible, None)
        (line,) = ben.get(API).json()["data"]
        assert (line["raters"], line["ratings"]) == visible
    assert ada.get(f"{API}/pilot").json()["numbers"]["standings"]["finished"] == 5
    add_member(staff_site, "eve", "expert")
    assert program(staff_site, "eve").get(f"{API}/pilot").json()["numbers"] is None
    few = program(staff_site, scopes=frozenset({"see", "list", "small-numbers"}))
    assert few.get(f"{API}/pilot").json()["numbers"] is None
    assert few.get(API).json()["data"][0]["raters"] is None


@sqlite_only
def test_quota_numbers_are_restricted_by_role(staff_site: StaffSite) -> None:
    quota = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 2, "rest": 1, "source": "recruiter"}
    open_api_campaign(staff_site, demographics=ABOUT_YOU, quota=quota)
    add_member(staff_site, "ben", "observer")
    (young, *_) = program(staff_site).get(f"{API}/pilot/quota").json()["cells"]
    assert young == {"cell": "young", "target": 2, "capacity": 2, "finished": 0, "in_progress": 0, "screened_out": 0}
    assert program(staff_site, "ben").get(f"{API}/pilot/quota").status_code == 403
    links = program(staff_site).post(f"{API}/pilot/invitations", json={"n": 1})
    assert (links.status_code, "Name the cell" in links.json()["detail"]) == (422, True)


@sqlite_only
def test_a_cursor_is_valid_for_its_list_only(staff_site: StaffSite) -> None:
    campaign = open_api_campaign(staff_site)
    rate(staff_site, campaign, 2)
    http = program(staff_site)
    after = http.get(f"{API}/pilot/raters", params={"limit": 1}).json()["next"]
    for path, query in (
        (f"{API}/pilot/items", {"after": after}),
        (f"{API}/pilot/raters", {"after": "junk"}),
        (f"{API}/pilot/raters", {"after": f"{after}x"}),
        (f"{API}/pilot/raters", {"after": "é\0"}),
        (f"{API}/pilot/ratings", {"after": after}),
    ):
        refused = http.get(path, params=query)
        assert (refused.status_code, "is not a `next` of this list" in refused.json()["detail"]) == (422, True)
    after = http.get(f"{API}/pilot/ratings", params={"limit": 1}).json()["next"]
    assert http.get(f"{API}/pilot/ratings", params={"after": after, "purpose": "release"}).status_code == 422


@sqlite_only
def test_unknown_query_parameters_are_refused_with_those_that_are_allowed(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    http = program(staff_site)
    refused = http.get(f"{API}/pilot/items", params={"limt": 3})
    assert refused.status_code == 422
    assert refused.json()["detail"] == (
        "'limt' is not a query parameter here. Did you mean 'limit'? Allowed are 'after', 'limit'."
    )
    assert "This address has none." in http.get(f"{API}/pilot", params={"x": ""}).json()["detail"]


@sqlite_only
def test_a_body_that_is_not_json_cannot_be_read(staff_site: StaffSite) -> None:
    http = program(staff_site)
    refused = http.post(API, content=b'{"definition": "x",\n "items": [}', headers={"content-type": "application/json"})
    assert refused.status_code == 400
    assert refused.json()["detail"] == "The request cannot be read. Send JSON in UTF-8."


@sqlite_only
def test_the_open_link_is_in_the_answer_for_those_who_may_see_it(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    link = program(staff_site).get(f"{API}/pilot").json()["open_link"]
    assert link.startswith(f"{staff_site.live.url}/c/pilot?key=")
    assert program(staff_site, scopes=frozenset({"see"})).get(f"{API}/pilot").json()["open_link"] is None
    create_draft(staff_site, "closed-door", open_link=False)
    assert program(staff_site).get(f"{API}/closed-door").json()["open_link"] is None
