"""Staff pages: passwords, sessions, invitations, tokens and analysts."""

import logging
import re
from html import unescape
from uuid import uuid4

import httpx
import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW
from tests.support.live_site import hidden
from tests.support.staff_members import join_pilot, open_pilot
from tests.support.staff_site import StaffSite, create_draft, send, token_of

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.store.campaigns import CampaignRow
from dissensus.web.api.openapi import reading_scopes, route_scope, token_routes
from dissensus.workflows.campaign import members
from dissensus.workflows.platform import api_tokens, passwords, sign_in_links, staff
from dissensus.workflows.rater import enrolment, next_step, quota_screening, rating
from dissensus.workflows.rater.enrolment import Arrival

PASSWORD = "correct horse battery"
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 20, "rest": 20}


def enter(browser: httpx.Client, name: str, password: str) -> httpx.Response:
    """Sign in by the form."""
    page = browser.get("/sign-in")
    return browser.post("/sign-in", data={"form_token": token_of(page), "name": name, "password": password})


def change(browser: httpx.Client, new: str, *, repeated: str | None = None, old: str = "") -> httpx.Response:
    return send(browser, "/account/password", new=new, repeated=new if repeated is None else repeated, current=old)


def rate(staff_site: StaffSite, campaign: CampaignRow, n: int, *, age: str | None = None) -> None:
    """Let n raters rate all items."""
    for _ in range(n):
        rater, _ = enrolment.enrol_rater(
            staff_site.platform, Arrival(campaign.name, str(campaign.key), "en"), AGREED, now=NOW
        )
        if age is not None:
            assert quota_screening.screen_rater(staff_site.platform, rater, {"rater_age": age}, now=NOW) is not None
        step = next_step.find_next_step(staff_site.platform, rater, now=NOW)
        while step.assignment is not None:
            save = AnswerSave(
                revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value="No")}
            )
            step = rating.submit_answers(staff_site.platform, rater, step.assignment.id, str(uuid4()), save, now=NOW)


@sqlite_only
def test_a_password_is_set_and_signs_in(staff_site: StaffSite) -> None:
    first, second = staff_site.owner(), staff_site.owner()
    assert "You have no password yet" in first.get("/account").text
    for new, repeated, says in (
        ("short", None, "it needs 12 to 1,000"),
        (PASSWORD, "correct horse batter", "The two new passwords differ"),
    ):
        refused = change(first, new, repeated=repeated)
        assert refused.status_code == 422
        assert says in refused.text
        assert new not in refused.text
    done = change(first, PASSWORD)
    assert (done.status_code, done.headers["location"]) == (303, "/account?outcome=password")
    assert "The password is set" in first.get("/account?outcome=password").text
    assert second.get("/account").status_code == 403
    assert "The current password is wrong" in change(first, "another good one", old="wrong").text
    assert change(first, "another good one", old=PASSWORD).status_code == 303
    browser = staff_site.stranger()
    assert enter(browser, "ada", PASSWORD).status_code == 403
    assert browser.get("/campaigns").status_code == 403
    assert enter(browser, "ada", "another good one").headers["location"] == "/campaigns"
    assert browser.get("/campaigns").status_code == 200


@sqlite_only
def test_sign_in_leads_back_to_the_page(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    change(staff_site.owner(), PASSWORD)
    browser = staff_site.stranger()
    assert browser.get("/campaigns/pilot/staff?page=2").status_code == 403
    to_sign_in = browser.get("/campaigns/pilot/staff?page=2", headers={"accept": "text/html"}).headers["location"]
    assert to_sign_in == "/sign-in?to=%2Fcampaigns%2Fpilot%2Fstaff%3Fpage%3D2"
    page = browser.get(to_sign_in)
    form = {"form_token": token_of(page), "name": "ada"}
    assert browser.post("/sign-in", data={**form, "password": "wrong"}).status_code == 403
    signed_in = browser.post("/sign-in", data={**form, "password": PASSWORD})
    assert signed_in.headers["location"] == "/campaigns/pilot/staff?page=2"
    send(browser, "/sign-out", sessions="current")
    assert enter(browser, "ada", PASSWORD).headers["location"] == "/campaigns"


@sqlite_only
@pytest.mark.parametrize("to", ["https://example.org/", "//example.org", r"/\example.org", "/a//example.org", "rate"])
def test_sign_in_leads_to_pages_of_this_site_only(staff_site: StaffSite, to: str) -> None:
    browser = staff_site.stranger()
    refused = browser.get("/sign-in", params={"to": to})
    assert (refused.status_code, "is not a page of this site" in refused.text) == (422, True)
    key = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).key
    page = browser.get(f"/sign-in/{key}")
    browser.cookies.set("dissensus_return", to.encode().hex())
    done = browser.post(f"/sign-in/{key}", data={"form_token": token_of(page)})
    assert done.headers["location"] == "/campaigns"


@sqlite_only
def test_errors_of_staff_keep_the_header_of_their_pages(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    browser = staff_site.owner()
    for path, says in (
        ("/campaigns/pilot/care", "only carers may read wellbeing surveys"),
        ("/campaigns/nothing", "There is no campaign"),
        ("/campaigns/pilot/attempts/x", "There is nothing at this address."),
    ):
        page = browser.get(path)
        assert page.status_code in (403, 404)
        assert says in page.text
        assert '<p class="brand">' in page.text
        assert "open your link again" not in page.text
    refused = browser.get("/campaigns/pilot/care").text
    assert 'Invite one at <a href="/campaigns/pilot/staff">' in refused
    assert "Sign out" in refused
    unsigned = staff_site.stranger().post("/campaigns/pilot/state", data={"state": "open"})
    assert (unsigned.status_code, 'href="/sign-in"' in unsigned.text) == (403, True)
    assert '<p class="brand">' not in staff_site.stranger().get("/nowhere").text


@sqlite_only
def test_changes_of_credentials_and_roles_need_a_recent_confirmation(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    join_pilot(staff_site, "grace", "analyst")
    owner = staff_site.owner()
    change(owner, PASSWORD)
    staff_site.live.clock.forward(minutes=10)
    invitations, page = "/campaigns/pilot/staff", "/account/confirm?to=%2Fcampaigns%2Fpilot%2Fstaff"
    for path, fields in (
        ("invite", {"role": "expert"}),
        ("role", {"person": "grace", "role": "owner"}),
        ("remove", {"person": "grace"}),
    ):
        refused = send(owner, f"{invitations}/{path}", **fields)
        assert (refused.status_code, refused.headers["location"]) == (303, page)
    token = {"name": "nightly", "scope": "export", "days": "1"}
    assert send(owner, "/account/tokens", **token).headers["location"] == "/account/confirm?to=%2Faccount"
    assert "analyst since" in owner.get(invitations).text
    wrong = send(owner, "/account/confirm", to=invitations, password="wrong")
    assert (wrong.status_code, "The current password is wrong" in wrong.text) == (422, True)
    assert send(owner, f"{invitations}/invite", role="expert").status_code == 303
    confirmed = send(owner, "/account/confirm", to=invitations, password=PASSWORD)
    assert (confirmed.status_code, confirmed.headers["location"]) == (303, invitations)
    assert send(owner, f"{invitations}/invite", role="expert").status_code == 200
    assert "dis_" in send(owner, "/account/tokens", **token).text


@sqlite_only
def test_a_first_password_needs_a_recent_sign_in(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    staff_site.live.clock.forward(minutes=10)
    assert change(browser, PASSWORD).headers["location"] == "/account/confirm?to=%2Faccount"
    page = browser.get("/account/confirm?to=/account").text
    assert "dissensus sign-in ada" in page
    assert 'type="password"' not in page
    assert change(staff_site.owner(), PASSWORD).status_code == 303
    assert "You have a password" in staff_site.owner().get("/account").text


@sqlite_only
@pytest.mark.parametrize("to", ["https://evil.example", "//evil.example", "/account/../sign-out", "/campaigns"])
def test_a_confirmation_leads_to_pages_of_the_site_only(staff_site: StaffSite, to: str) -> None:
    browser = staff_site.owner()
    change(browser, PASSWORD)
    assert "evil" not in browser.get("/account/confirm", params={"to": to}).text
    confirmed = send(browser, "/account/confirm", to=to, password=PASSWORD)
    assert confirmed.headers["location"] == "/account"


@sqlite_only
def test_idle_sessions_end_on_pages(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    for _ in range(2):
        staff_site.live.clock.forward(minutes=59)
        assert browser.get("/campaigns").status_code == 200
    staff_site.live.clock.forward(minutes=60)
    assert browser.get("/campaigns").status_code == 403


@sqlite_only
def test_a_token_may_have_all_scopes_that_change_nothing(staff_site: StaffSite) -> None:
    browser = staff_site.owner()
    page = browser.get("/account").text
    assert re.findall(r"<h4>([^<]+)</h4>", page)[:2] == ["Campaigns", "Items"]
    assert "dis_" in send(browser, "/account/tokens", name="reader", read="all", scope="webhooks", days="30").text
    scopes = "export, list, log, numbers, raters, see, small-numbers, webhooks"
    assert re.search(rf"<td[^>]*>{re.escape(scopes)}</td>", browser.get("/account").text)
    for scope in reading_scopes():
        assert not any(route.methods != {"GET"} for route in token_routes() if route_scope(route) == scope)


@sqlite_only
def test_people_see_what_concerned_their_credentials(staff_site: StaffSite) -> None:
    browser, bob = staff_site.owner(), staff_site.owner("bob")
    change(browser, PASSWORD)
    send(browser, "/account/tokens", name="nightly", scope="export", days="30")
    page = browser.get("/account").text
    for shown in ("Signed in", "by: link", "127.0.0.0/24", "Password changed", "token: nightly, scopes: export"):
        assert shown in page
    assert "Password changed" not in bob.get("/account").text


@sqlite_only
def test_failed_sign_ins_look_alike_and_are_delayed(staff_site: StaffSite) -> None:
    sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW)
    passwords.set_password_for(staff_site.platform, staff_site.live.site.hasher(), "ada", PASSWORD, now=NOW)
    responses: dict[str, list[str]] = {"ada": [], "zzz": []}
    for name, answers in responses.items():
        for _ in range(7):
            page = enter(staff_site.stranger(), name, "wrong password")
            assert page.status_code == 403
            answers.append(re.sub(r'form_token" value="\w+"', "", page.text).replace(name, "NAME"))
    assert responses["ada"] == responses["zzz"]
    assert "The name or the password is wrong." in responses["ada"][4]
    assert "Too many tries. Try again in 1 second." in responses["ada"][5]
    assert enter(staff_site.stranger(), "ada", PASSWORD).status_code == 403
    staff_site.live.clock.forward(seconds=2)
    assert enter(staff_site.stranger(), "ada", PASSWORD).status_code == 303


@sqlite_only
def test_the_password_form_is_bound_to_the_browser(staff_site: StaffSite) -> None:
    first, second = staff_site.stranger(), staff_site.stranger()
    token = token_of(first.get("/sign-in"))
    second.get("/sign-in")
    for data in ({}, {"form_token": token}):
        assert second.post("/sign-in", data={**data, "name": "ada", "password": PASSWORD}).status_code == 403
    hostile = enter(staff_site.stranger(), '"><script>alert(1)</script>\0', "x" * 5000)
    assert hostile.status_code == 403
    assert "<script" not in hostile.text


@sqlite_only
def test_client_addresses_are_stored_as_hashes(staff_site: StaffSite) -> None:
    enter(staff_site.stranger(), "ada", "wrong password")
    with staff_site.platform.database.reading() as tx:
        rows = tx.exec_driver_sql("SELECT fingerprint FROM sign_in_failure").scalars().all()
    assert len(rows) == 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", row) for row in rows)


@sqlite_only
def test_sessions_are_listed_and_ended(staff_site: StaffSite) -> None:
    first, second = staff_site.owner(), staff_site.owner()
    page = first.get("/account").text
    assert (page.count("this browser"), page.count("another browser")) == (1, 1)
    (session,) = re.findall(r'name="session" value="(\w+)"', page)
    assert send(staff_site.owner("bob"), "/account/sessions/end", session=session).status_code == 303
    assert second.get("/campaigns").status_code == 200
    send(first, "/account/sessions/end", session=session)
    assert second.get("/campaigns").status_code == 403
    assert first.get("/campaigns").status_code == 200


@sqlite_only
def test_staff_are_invited_change_and_are_removed(staff_site: StaffSite) -> None:
    create_draft(staff_site)
    owner, grace = staff_site.owner(), join_pilot(staff_site, "grace", "analyst")
    assert "analyst" in grace.get("/campaigns").text
    assert grace.get("/campaigns/pilot/revise").status_code == 403
    send(owner, "/campaigns/pilot/staff/role", person="grace", role="owner")
    assert grace.get("/campaigns/pilot/revise").status_code == 200
    assert send(owner, "/campaigns/pilot/staff/role", person="grace", role="boss").status_code == 422
    assert send(owner, "/campaigns/pilot/staff/remove", person="nobody").status_code == 404
    send(owner, "/campaigns/pilot/staff/remove", person="grace")
    assert grace.get("/campaigns").status_code == 403
    grace = staff_site.owner("grace")
    response, unknown = grace.get("/campaigns/pilot"), grace.get("/campaigns/nothing")
    assert (response.status_code, unknown.status_code) == (404, 404)
    assert response.text.replace("pilot", "nothing") == unknown.text
    assert "pilot" not in grace.get("/campaigns").text
    last = send(owner, "/campaigns/pilot/staff/remove", person="ada")
    assert last.status_code == 409
    assert "ada is the last owner of pilot" in last.text


@sqlite_only
def test_signed_in_staff_join_with_their_account(staff_site: StaffSite) -> None:
    owner_id = create_draft(staff_site)
    key = members.create_member_invitation(staff_site.platform, "pilot", "reviewer", staff_id=owner_id, now=NOW)
    bob, stranger = staff_site.owner("bob"), staff_site.stranger()
    form = {"name": "bob", "password": PASSWORD, "repeated": PASSWORD}
    response = stranger.post(f"/join/{key}", data={"form_token": token_of(stranger.get(f"/join/{key}")), **form})
    assert response.status_code == 422
    assert "Somebody is called 'bob'. If that is you, sign in first" in unescape(response.text)
    page = bob.get(f"/join/{key}")
    assert "Join as bob" in page.text
    assert bob.post(f"/join/{key}", data={"form_token": "0" * 64}).status_code == 403
    assert bob.post(f"/join/{key}", data={"form_token": token_of(page)}).headers["location"] == "/campaigns/pilot"
    assert bob.get("/campaigns/pilot").status_code == 200
    assert stranger.get(f"/join/{key}").status_code == 403


@sqlite_only
def test_an_unused_invitation_can_be_revoked(staff_site: StaffSite) -> None:
    owner_id = create_draft(staff_site)
    key, owner = (
        members.create_member_invitation(staff_site.platform, "pilot", "owner", staff_id=owner_id, now=NOW),
        staff_site.owner(),
    )
    page = owner.get("/campaigns/pilot/staff").text
    assert key not in page
    (invitation,) = re.findall(r'name="invitation" value="(\w+)"', page)
    send(owner, "/campaigns/pilot/staff/revoke", invitation=invitation)
    assert staff_site.stranger().get(f"/join/{key}").status_code == 403


def bearer(staff_site: StaffSite, key: str, path: str = "/campaigns/pilot/export.csv") -> httpx.Response:
    return staff_site.stranger().get(path, headers={"authorization": f"Bearer {key}"})


@sqlite_only
def test_a_token_exports_ratings_until_it_is_revoked(staff_site: StaffSite, caplog: pytest.LogCaptureFixture) -> None:
    campaign, owner = open_pilot(staff_site), staff_site.owner()
    rate(staff_site, campaign, 1)
    response = send(owner, "/account/tokens", name="nightly", scope="export", days="30")
    (key,) = re.findall(r'value="(dis_[^"]+)"', response.text)
    with caplog.at_level(logging.INFO):
        assert bearer(staff_site, key).text.startswith("item_id,rater_id")
    assert key not in caplog.text
    page = owner.get("/account").text
    assert "2026-03-01 12:00 UTC" in page
    assert key not in page
    (token,) = re.findall(r'name="token" value="(\w+)"', page)
    assert bearer(staff_site, key, "/campaigns/nothing/export.csv").status_code == 404
    for path in ("/campaigns", "/campaigns/pilot", "/account"):
        assert bearer(staff_site, key, path).status_code == 403
    send(owner, "/account/tokens/revoke", token=token)
    refused = bearer(staff_site, key)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert "invalid, expired or revoked" in refused.text


@sqlite_only
def test_a_token_is_limited_by_its_scopes_and_its_owner(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    rate(staff_site, campaign, 1)
    join_pilot(staff_site, "grace", "expert")
    grace = staff.find_or_create_owner(staff_site.platform, "grace", now=NOW)
    numbers_key, _ = api_tokens.create_token(staff_site.platform, grace, "other", scopes=["numbers"], days=1, now=NOW)
    expert, _ = api_tokens.create_token(staff_site.platform, grace, "mine", scopes=["export"], days=1, now=NOW)
    assert "This token lacks the scope export. Create one that has it." in bearer(staff_site, numbers_key).text
    assert "You are a member of pilot as expert, and only analysts and owners may" in bearer(staff_site, expert).text
    owner = staff_site.owner()
    for header, status in (("Bearer", 401), ("bearer guess", 401), (f"Basic {expert}", 200), ("x" * 200, 200)):
        answer = owner.get("/campaigns/pilot/export.csv", headers={"authorization": header})
        assert answer.status_code == status
    assert set(bearer(staff_site, "guess").headers) >= {"www-authenticate"}


@sqlite_only
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "", "scope": "export", "days": "1"}, "cannot be the name of a token"),
        ({"name": "x", "days": "1"}, "A token without a scope can do nothing"),
        ({"name": "x", "scope": "rate", "days": "1"}, "'rate' is not a scope. Scopes are 'archive', 'clone'"),
        ({"name": "x", "scope": "export", "days": "many"}, "'many' is not a valid number of days"),
        ({"name": "x", "scope": "export", "days": "9999"}, "A token is valid for 1 to 365 days"),
    ],
)
def test_invalid_tokens_are_rejected(staff_site: StaffSite, fields: dict[str, str], says: str) -> None:
    refused = send(staff_site.owner(), "/account/tokens", **fields)
    assert refused.status_code == 422
    assert says in unescape(refused.text)
    # The form is shown as it was filled in.
    assert f'value="{fields["days"]}"' in refused.text
    assert ('value="export" checked' in refused.text) == (fields.get("scope") == "export")


@sqlite_only
def test_an_analyst_sees_results_without_identities(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    rate(staff_site, campaign, 5)
    rater, _ = enrolment.enrol_rater(staff_site.platform, Arrival("pilot", str(campaign.key), "en"), AGREED, now=NOW)
    rating.report_item(staff_site.platform, rater, "help", "My name is Zoe.", assignment_id=None, now=NOW)
    grace, owner = join_pilot(staff_site, "grace", "analyst"), staff_site.owner()
    text, all_ = grace.get("/campaigns/pilot").text, owner.get("/campaigns/pilot").text
    for private in (str(campaign.key), "My name is Zoe.", "personal links, ", "Preview in en"):
        assert private in all_
        assert private not in text
    assert "<dt>Raters: finished</dt><dd>5</dd>" in text
    assert "<dt>Ratings</dt><dd>10</dd>" in text
    files = [one.get("/campaigns/pilot/export.csv").text.splitlines() for one in (grace, owner)]
    assert files[0][0] == files[1][0]
    assert len(files[0]) == len(files[1]) == 11


@sqlite_only
def test_an_observer_sees_no_small_numbers(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    grace = join_pilot(staff_site, "grace", "observer")
    assert re.findall(r'<td class="n"[^>]*>([^<]*)</td>', grace.get("/campaigns").text) == ["2", "0", "0"]
    rate(staff_site, campaign, 4)
    page = grace.get("/campaigns/pilot").text
    assert "Results are shown once five raters have taken part" in page
    assert "<dt>Ratings</dt>" not in page
    assert "<progress" not in page
    assert re.findall(r'<td class="n"[^>]*>([^<]*)</td>', grace.get("/campaigns").text) == ["2", "–", "–"]
    rate(staff_site, campaign, 1)
    page = grace.get("/campaigns/pilot").text
    assert "<dt>Raters</dt><dd>5</dd>" in page
    assert "Raters: finished" not in page
    assert grace.get("/campaigns/pilot/export.csv").status_code == 403
    assert re.findall(r'<td class="n"[^>]*>([^<]*)</td>', grace.get("/campaigns").text) == ["2", "5", "10"]


@sqlite_only
def test_an_expert_sees_no_numbers(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    rate(staff_site, campaign, 6)
    browser = join_pilot(staff_site, "grace", "expert")
    page = browser.get("/campaigns/pilot").text
    assert "Your role: expert." in page
    assert "item-0" in page
    assert not re.search(r"Progress|<dt>Raters|export\.csv|Open link", page)
    assert re.findall(r'<td class="n"[^>]*>([^<]*)</td>', browser.get("/campaigns").text) == ["2", "–", "–"]


@sqlite_only
def test_a_reviewer_reviews_and_changes_nothing_else(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site)
    visitor = staff_site.live.visitor()
    entered = visitor.enter(str(campaign.key))
    visitor.send("/notice", form_token=hidden(entered)["form_token"], kind="help", text="I need a hand")
    rex = join_pilot(staff_site, "rex", "reviewer")
    page = rex.get("/campaigns/pilot").text
    assert "Progress" in page
    assert not re.search(r"export\.csv|Open link|Manage members|Pause it", page)
    notices = rex.get("/campaigns/pilot/notices").text
    assert "I need a hand" in notices
    (notice,) = re.findall(r'name="notice" value="([^"]+)"', notices)
    assert send(rex, "/campaigns/pilot/settle", notice=notice).status_code == 303
    assert rex.get("/campaigns/pilot/items").status_code == 200
    for path in ("export.csv", "pay", "staff", "webhooks", "care"):
        assert rex.get(f"/campaigns/pilot/{path}").status_code == 403, path
    for path, fields in (("invite", {"n": "1"}), ("state", {"state": "closed"})):
        assert send(rex, f"/campaigns/pilot/{path}", **fields).status_code == 403, path


@sqlite_only
def test_only_owners_and_analysts_see_how_a_quota_fills(staff_site: StaffSite) -> None:
    campaign = open_pilot(staff_site, demographics=ABOUT_YOU, quota=QUOTA)
    rate(staff_site, campaign, 3, age="young")
    observer, analyst = join_pilot(staff_site, "eve", "observer"), join_pilot(staff_site, "grace", "analyst")
    assert observer.get("/campaigns/pilot/quota").status_code == 403
    assert "/campaigns/pilot/quota" not in observer.get("/campaigns/pilot").text
    page = analyst.get("/campaigns/pilot/quota").text
    assert '<strong>3<span class="target">' in page
    assert "key=" not in page
