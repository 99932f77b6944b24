"""Staff on the site: passwords, sessions, invitations, tokens, and what an analyst sees."""

import logging
import re
from html import unescape
from uuid import uuid4

import httpx
import pytest
from starlette.requests import Request
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW
from tests.support.staff_browsers import House, make, send, token_of
from tests.support.staff_members import member, opened

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.store.campaigns import CampaignRow
from dissensus.web.core.site import client_network
from dissensus.workflows.campaign import members
from dissensus.workflows.platform import api_tokens, passwords, staff
from dissensus.workflows.rater import enrolment, journey, rating, screening
from dissensus.workflows.rater.enrolment import Arrival

one_kind = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
GOOD = "correct horse battery"
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 20, "rest": 20}


def enter(browser: httpx.Client, name: str, password: str) -> httpx.Response:
    """Sign in by the form."""
    page = browser.get("/sign-in")
    return browser.post("/sign-in", data={"form_token": token_of(page), "name": name, "password": password})


def change(browser: httpx.Client, new: str, *, again: str | None = None, old: str = "") -> httpx.Response:
    return send(browser, "/account/password", new=new, again=new if again is None else again, old=old)


def rate(house: House, kept: CampaignRow, n: int, *, age: str | None = None) -> None:
    """Let raters rate all there is, to the end."""
    for _ in range(n):
        rater, _ = enrolment.enrol_rater(house.platform, Arrival(kept.name, str(kept.key), "en"), AGREED, now=NOW)
        if age is not None:
            assert screening.screen_rater(house.platform, rater, {"rater_age": age}, now=NOW) is not None
        step = journey.next_state(house.platform, rater, now=NOW)
        while step.assignment is not None:
            given = AnswerSave(
                revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")}
            )
            step = rating.submit_answers(house.platform, rater, step.assignment.id, str(uuid4()), given, now=NOW)


def test_a_password_is_set_and_signs_in(house: House) -> None:
    here, there = house.owner(), house.owner()
    assert "You have none yet" in here.get("/account").text
    for new, again, says in (
        ("short", None, "it needs 12 to 1,000"),
        (GOOD, "correct horse batter", "was not written twice the same"),
    ):
        refused = change(here, new, again=again)
        assert refused.status_code == 422
        assert says in refused.text
        assert new not in refused.text
    done = change(here, GOOD)
    assert (done.status_code, done.headers["location"]) == (303, "/account?done=password")
    assert "The password is set" in here.get("/account?done=password").text
    assert there.get("/account").status_code == 403
    assert "is not right" in change(here, "another good one", old="wrong").text
    assert change(here, "another good one", old=GOOD).status_code == 303
    browser = house.stranger()
    assert enter(browser, "ada", GOOD).status_code == 403
    assert browser.get("/campaigns").status_code == 403
    assert enter(browser, "ada", "another good one").headers["location"] == "/campaigns"
    assert browser.get("/campaigns").status_code == 200


def test_what_is_wrong_looks_the_same_and_takes_ever_longer(house: House) -> None:
    staff.create_sign_in_link(house.platform, "ada", now=NOW)
    passwords.set_password_for(house.platform, house.live.site.hasher(), "ada", GOOD)
    told: dict[str, list[str]] = {"ada": [], "zzz": []}
    for name, answers in told.items():
        for _ in range(7):
            page = enter(house.stranger(), name, "wrong password")
            assert page.status_code == 403
            answers.append(re.sub(r'form_token" value="\w+"', "", page.text).replace(name, "NAME"))
    assert told["ada"] == told["zzz"]
    assert "The name or the password is not right." in told["ada"][4]
    assert "Too many tries failed. Try again in 1 second." in told["ada"][5]
    assert enter(house.stranger(), "ada", GOOD).status_code == 403
    house.live.clock.forward(seconds=2)
    assert enter(house.stranger(), "ada", GOOD).status_code == 303


@one_kind
def test_the_form_of_the_password_is_of_the_browser_that_asked(house: House) -> None:
    first, second = house.stranger(), house.stranger()
    token = token_of(first.get("/sign-in"))
    second.get("/sign-in")
    for data in ({}, {"form_token": token}):
        assert second.post("/sign-in", data={**data, "name": "ada", "password": GOOD}).status_code == 403
    hostile = enter(house.stranger(), '"><script>alert(1)</script>\0', "x" * 5000)
    assert hostile.status_code == 403
    assert "<script" not in hostile.text


@one_kind
def test_addresses_are_kept_as_hashes_alone(house: House) -> None:
    enter(house.stranger(), "ada", "wrong password")
    with house.platform.database.reading() as tx:
        rows = tx.exec_driver_sql("SELECT fingerprint FROM login_failure").scalars().all()
    assert len(rows) == 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", row) for row in rows)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::ffff", "2001:db8:1:2::/64"),
        ("unix", "unix"),
        (None, ""),
    ],
)
def test_neighbours_of_the_sixth_version_are_one(host: str | None, network: str) -> None:
    client = None if host is None else (host, 1)
    assert client_network(Request({"type": "http", "client": client})) == network


def test_sessions_are_listed_and_ended(house: House) -> None:
    here, there = house.owner(), house.owner()
    page = here.get("/account").text
    assert (page.count("this one"), page.count("another one")) == (1, 1)
    (session,) = re.findall(r'name="session" value="(\w+)"', page)
    assert send(house.owner("bob"), "/account/sessions/end", session=session).status_code == 303
    assert there.get("/campaigns").status_code == 200
    send(here, "/account/sessions/end", session=session)
    assert there.get("/campaigns").status_code == 403
    assert here.get("/campaigns").status_code == 200


def test_staff_are_invited_change_and_are_removed(house: House) -> None:
    make(house)
    owner, grace = house.owner(), member(house, "grace", "analyst")
    assert "analyst" in grace.get("/campaigns").text
    assert grace.get("/campaigns/pilot/revise").status_code == 403
    send(owner, "/campaigns/pilot/staff/role", person="grace", role="owner")
    assert grace.get("/campaigns/pilot/revise").status_code == 200
    assert send(owner, "/campaigns/pilot/staff/role", person="grace", role="boss").status_code == 422
    assert send(owner, "/campaigns/pilot/staff/remove", person="nobody").status_code == 404
    send(owner, "/campaigns/pilot/staff/remove", person="grace")
    gone, nothing = grace.get("/campaigns/pilot"), grace.get("/campaigns/nothing")
    assert (gone.status_code, nothing.status_code) == (404, 404)
    assert gone.text.replace("pilot", "nothing") == nothing.text
    assert "pilot" not in grace.get("/campaigns").text
    last = send(owner, "/campaigns/pilot/staff/remove", person="ada")
    assert last.status_code == 409
    assert "ada is the last owner of pilot" in last.text


def test_who_is_signed_in_joins_as_who_they_are(house: House) -> None:
    owner_id = make(house)
    key = members.create_member_invitation(house.platform, "pilot", "reviewer", staff_id=owner_id, now=NOW)
    bob, stranger = house.owner("bob"), house.stranger()
    taken = stranger.post(f"/join/{key}", data={"form_token": token_of(stranger.get(f"/join/{key}")), "name": "bob"})
    assert taken.status_code == 422
    assert "Somebody is called 'bob'. If that is you, sign in first" in unescape(taken.text)
    page = bob.get(f"/join/{key}")
    assert "Join as bob" in page.text
    assert bob.post(f"/join/{key}", data={"form_token": "0" * 64}).status_code == 403
    assert bob.post(f"/join/{key}", data={"form_token": token_of(page)}).headers["location"] == "/campaigns/pilot"
    assert bob.get("/campaigns/pilot").status_code == 200
    assert stranger.get(f"/join/{key}").status_code == 403


@one_kind
def test_a_link_that_nobody_used_is_taken_back(house: House) -> None:
    owner_id = make(house)
    key, owner = (
        members.create_member_invitation(house.platform, "pilot", "owner", staff_id=owner_id, now=NOW),
        house.owner(),
    )
    page = owner.get("/campaigns/pilot/staff").text
    assert key not in page
    (invitation,) = re.findall(r'name="invitation" value="(\w+)"', page)
    send(owner, "/campaigns/pilot/staff/take-back", invitation=invitation)
    assert house.stranger().get(f"/join/{key}").status_code == 403


def bearer(house: House, key: str, path: str = "/campaigns/pilot/export.csv") -> httpx.Response:
    return house.stranger().get(path, headers={"authorization": f"Bearer {key}"})


def test_a_token_takes_ratings_out_until_it_is_revoked(house: House, caplog: pytest.LogCaptureFixture) -> None:
    kept, owner = opened(house), house.owner()
    rate(house, kept, 1)
    made = send(owner, "/account/tokens", name="nightly", scope="export", days="30")
    (key,) = re.findall(r'value="(dis_[^"]+)"', made.text)
    with caplog.at_level(logging.INFO):
        assert bearer(house, key).text.startswith("item_id,rater_id")
    assert key not in caplog.text
    page = owner.get("/account").text
    assert "2026-03-01 12:00 UTC" in page
    assert key not in page
    (token,) = re.findall(r'name="token" value="(\w+)"', page)
    assert bearer(house, key, "/campaigns/nothing/export.csv").status_code == 404
    for path in ("/campaigns", "/campaigns/pilot", "/account"):
        assert bearer(house, key, path).status_code == 403
    send(owner, "/account/tokens/revoke", token=token)
    refused = bearer(house, key)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert "has ended or was revoked" in refused.text


@one_kind
def test_a_token_does_no_more_than_its_scopes_and_its_maker(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 1)
    member(house, "grace", "expert")
    grace = staff.find_or_create_owner(house.platform, "grace", now=NOW)
    none, _ = api_tokens.create_token(house.platform, grace, "other", scopes=["numbers"], days=1, now=NOW)
    expert, _ = api_tokens.create_token(house.platform, grace, "mine", scopes=["export"], days=1, now=NOW)
    assert "This token is not for that. Make one that has the scope export." in bearer(house, none).text
    assert "You belong to pilot as expert, and only analysts and owners may" in bearer(house, expert).text
    owner = house.owner()
    for header, status in (("Bearer", 401), ("bearer guess", 401), (f"Basic {expert}", 200), ("x" * 200, 200)):
        answer = owner.get("/campaigns/pilot/export.csv", headers={"authorization": header})
        assert answer.status_code == status
    assert set(bearer(house, "guess").headers) >= {"www-authenticate"}


@one_kind
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "", "scope": "export", "days": "1"}, "cannot be the name of a token"),
        ({"name": "x", "days": "1"}, "A token without a scope can do nothing"),
        ({"name": "x", "scope": "rate", "days": "1"}, "'rate' is no scope of a token. Scopes are 'clone', 'create'"),
        ({"name": "x", "scope": "export", "days": "many"}, "'many' is no number of days"),
        ({"name": "x", "scope": "export", "days": "9999"}, "A token ends within 365 days"),
    ],
)
def test_tokens_that_cannot_be(house: House, fields: dict[str, str], says: str) -> None:
    refused = send(house.owner(), "/account/tokens", **fields)
    assert refused.status_code == 422
    assert says in unescape(refused.text)


def test_an_analyst_sees_results_and_nobody(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 5)
    rater, _ = enrolment.enrol_rater(house.platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    rating.report_item(house.platform, rater, "help", "My name is Zoe.", assignment_id=None, now=NOW)
    grace, owner = member(house, "grace", "analyst"), house.owner()
    seen, all_ = grace.get("/campaigns/pilot").text, owner.get("/campaigns/pilot").text
    for private in (str(kept.key), "My name is Zoe.", "personal links were made", "Raters: rating", "Preview in en"):
        assert private in all_
        assert private not in seen
    assert "<dt>Raters</dt><dd>6</dd>" in seen
    assert "<dt>Items rated, by all raters</dt><dd>10</dd>" in seen
    files = [one.get("/campaigns/pilot/export.csv").text.splitlines() for one in (grace, owner)]
    assert files[0][0] == files[1][0]
    assert len(files[0]) == len(files[1]) == 11


def test_an_analyst_sees_no_small_numbers(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 4)
    grace = member(house, "grace", "analyst")
    page = grace.get("/campaigns/pilot").text
    assert "There are fewer than five raters" in page
    assert "<dt>Items rated" not in page
    assert "<progress" not in page
    assert re.findall(r'<td class="n">([^<]*)</td>', grace.get("/campaigns").text) == ["2", "–", "–"]
    rate(house, kept, 1)
    assert "<dt>Raters</dt><dd>5</dd>" in grace.get("/campaigns/pilot").text
    assert re.findall(r'<td class="n">([^<]*)</td>', grace.get("/campaigns").text) == ["2", "5", "10"]


def test_an_expert_and_a_reviewer_see_no_numbers(house: House) -> None:
    kept = opened(house)
    rate(house, kept, 6)
    for role in ("expert", "reviewer"):
        browser = member(house, f"a {role}", role)
        page = browser.get("/campaigns/pilot").text
        assert f"You belong to it as {role}." in page
        assert "item-0" in page
        assert not re.search(r"Numbers|<dt>Raters|export\.csv|The open link", page)
        assert re.findall(r'<td class="n">([^<]*)</td>', browser.get("/campaigns").text) == ["2", "–", "–"]


@one_kind
def test_a_quota_tells_an_analyst_nothing_of_few(house: House) -> None:
    kept = opened(house, demographics=ABOUT_YOU, quota=QUOTA)
    rate(house, kept, 3, age="young")
    rate(house, kept, 6, age="old")
    grace = member(house, "grace", "analyst")

    def cells() -> list[str]:
        page = grace.get("/campaigns/pilot/quota").text
        assert "key=" not in page
        return re.findall(r'<td class="n">([^<]*)</td></tr>', page)

    assert cells() == ["–", "–", "0"]
    rate(house, kept, 3, age="young")
    assert cells() == ["6", "6", "0"]
    # Two who are under way: with the total of 14 they would be told.
    for _ in range(2):
        enrolment.enrol_rater(house.platform, Arrival("pilot", str(kept.key), "en"), AGREED, now=NOW)
    assert cells() == ["–", "6", "0"]
    assert "<strong>" in house.owner().get("/campaigns/pilot/quota").text
