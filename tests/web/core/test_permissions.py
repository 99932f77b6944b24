"""Every route enforces the permissions table, for every role."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW, definition, items
from tests.support.live_site import LiveSite
from tests.support.paths import ROOT
from tests.support.permission_tables import tabulate_permissions

from dissensus.schema.campaign.roles import ROLES, Role, parse_role
from dissensus.store.staff import StaffRow
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.core.permissions import ACTIONS, ACTORS, SCOPES, actions_of, find_action
from dissensus.web.core.staff_auth import Public, Require, read_form
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform import api_tokens, directory, passwords, sessions, sign_in_links
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

API = "/api/v1"
PASSWORD = "a few plain words"
DOOR = "d" * 32
VISITORS = ("stranger", "rater", "foreign", "operator", *ROLES)
"""Foreign: staff who own another campaign. Operators are here members of none."""
QUICK = ("rater", "foreign", "observer")


def routes_of(app: FastAPI) -> list[APIRoute]:
    rows = [context.original_route for context in iter_route_contexts(app.routes)]
    assert len(rows) > 50
    assert all(isinstance(route, APIRoute) for route in rows)
    return [route for route in rows if isinstance(route, APIRoute)]


def route_actions(route: APIRoute) -> set[str]:
    return {one.call.action for one in _flat(route.dependant) if isinstance(one.call, Require | Public | RequireScope)}


def _flat(dependant: Dependant) -> Iterator[Dependant]:
    for dependency in dependant.dependencies:
        yield dependency
        yield from _flat(dependency)


@dataclass(frozen=True)
class StaffedCampaign:
    """A campaign with a member in every role, and another campaign."""

    live: LiveSite
    key: str
    people: dict[str, StaffRow]
    keys: dict[str, str]
    browser: httpx.Client
    sessions: dict[str, str]

    def ask(self, method: str, path: str, visitor: str) -> str:
        """Send a request with a valid form as this visitor, and return the outcome."""
        if path.startswith(f"{API}/campaigns"):
            return self._by_token(method, path, visitor)
        tokens = self.live.site.tokens
        session, cookies = self._session_of(visitor), {"dissensus_sign_in": DOOR}
        if visitor != "stranger":
            cookies["dissensus_rater" if visitor == "rater" else "dissensus_staff"] = session
        bound, path = self._filled(path)
        arrival = Arrival("pilot", self.key, "en", enrolment.new_entry_id(NOW))
        cookies["dissensus_arrival"] = tokens.sign_arrival(arrival, now=NOW)
        form_token = tokens.csrf_token(
            session if bound == "" or ("/join/" in path and visitor in self.people) else bound
        )
        data = {
            "form_token": form_token,
            "name": self.people["owner"].name,
            "password": PASSWORD,
            "repeated": PASSWORD,
            "key": self.key,
        }
        cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        headers = {"x-form-token": form_token, "cookie": cookie}
        options: dict[str, Any] = {"data": {**data, "language": "en", "purpose": "rating"}} if method == "POST" else {}
        answer = self.browser.request(method, path, headers=headers, **options)
        self.browser.cookies.clear()
        return outcome(answer)

    def _session_of(self, visitor: str) -> str:
        """The key of the session of a visitor, begun anew if a request ended the last one; strangers have none."""
        if visitor == "stranger":
            return ""
        person = enrolment.rater_of_session if visitor == "rater" else sessions.staff_of_session
        session = self.sessions.get(visitor)
        if session is None or person(self.live.platform, session, now=NOW) is None:
            session = self.sessions[visitor] = self._begin_session(visitor)
        return session

    def _begin_session(self, visitor: str) -> str:
        platform = self.live.platform
        if visitor == "rater":
            return enrolment.enrol_rater(platform, Arrival("pilot", self.key, "en"), AGREED, now=NOW)[1]
        link = sign_in_links.create_sign_in_link(platform, self.people[visitor].name, now=NOW)
        return sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW)

    def _by_token(self, method: str, path: str, visitor: str) -> str:
        """Send a request with the token of this visitor; raters and strangers have none."""
        headers = {"authorization": f"Bearer {self.keys[visitor]}"} if visitor in self.keys else {}
        return outcome(self.browser.request(method, self._filled(path)[1], headers=headers))

    def _filled(self, path: str) -> tuple[str, str]:
        """Return the value to which the CSRF token of a page without session is bound, and the path."""
        platform, tokens = self.live.platform, self.live.site.tokens
        if path in ("/sign-in", "/sign-in/mail", "/passkey", "/passkey/options"):
            return DOOR, path
        if path.startswith("/sign-in/"):
            key = sign_in_links.create_sign_in_link(platform, "owner", now=NOW).key
            return key, f"/sign-in/{key}"
        if path.startswith("/join/"):
            key = members.create_member_invitation(
                platform, "third", "expert", staff_id=self.people["owner"].id, now=NOW
            )
            return key, f"/join/{key}"
        if path.startswith("/withdraw/"):
            rater, _ = enrolment.enrol_rater(platform, Arrival("pilot", self.key, "en"), AGREED, now=NOW)
            return "", f"/withdraw/{tokens.sign_withdrawal(rater.id)}"
        if path.startswith("/static/"):
            return "", "/static/x/staff.css"
        for part in re.findall(r"{(?!name|position)\w+}", path):
            path = path.replace(part, "x")
        path = path.replace("{name}", "pilot").replace("{position}", "0")
        assert "{" not in path, f"{path} has a part that this test does not know"
        return "", f"{path}?key={self.key}" if path.startswith("/c/") else path


def outcome(answer: httpx.Response) -> str:
    assert answer.status_code != 500
    if answer.status_code in (401, 403):
        return "refused"
    return "absent" if answer.status_code == 404 and "There is no campaign" in answer.text else "allowed"


def expected(action: str, visitor: str) -> str:
    permission = find_action(action)
    if permission.resource == "campaign" and visitor in ("foreign", "operator"):
        return "absent"
    allowed = visitor in permission.actors or (visitor == "foreign" and "staff" in permission.actors)
    return "allowed" if allowed else "refused"


@pytest.fixture
def staff_site(live: LiveSite) -> Iterator[StaffedCampaign]:
    platform, people = live.platform, {}
    for role in ("foreign", "operator", *ROLES):
        people[role] = sign_in_links.create_sign_in_link(platform, role, now=NOW).staff
    directory.set_operator(platform, "operator", operator=True, now=NOW)
    owner_id = people["owner"].id
    campaigns.create_campaign(platform, definition(), items(3), staff_id=owner_id, now=NOW)
    campaigns.create_campaign(platform, definition("other"), items(3), staff_id=people["foreign"].id, now=NOW)
    campaigns.create_campaign(platform, definition("third"), items(3), staff_id=owner_id, now=NOW)
    for role in ROLES[1:]:
        members.add_member(platform, "pilot", role, role, staff_id=owner_id, now=NOW)
    passwords.set_password_for(platform, live.site.hasher(), "owner", PASSWORD, now=NOW)
    key = str(campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW).key)
    keys = {
        who: api_tokens.create_token(platform, one, "all", scopes=SCOPES, days=1, now=NOW)[0]
        for who, one in people.items()
    }
    with httpx.Client(base_url=live.url, timeout=20) as browser:
        yield StaffedCampaign(live, key, people, keys, browser, {})


@sqlite_only
def test_every_route_names_one_action_of_the_table(live: LiveSite) -> None:
    actions_by_path = {route.path: route_actions(route) for route in routes_of(live.app)}
    assert [path for path, actions in actions_by_path.items() if len(actions) != 1 or not actions <= set(ACTIONS)] == []
    assert set().union(*actions_by_path.values()) == set(ACTIONS)


@sqlite_only
def test_campaign_actions_match_campaign_routes(live: LiveSite) -> None:
    for route in routes_of(live.app):
        (action,) = route_actions(route)
        path = route.path.removeprefix(API)
        assert (find_action(action).resource == "campaign") == path.startswith("/campaigns/{name}"), route.path


@sqlite_only
@pytest.mark.parametrize(
    "visitor", [pytest.param(who, marks=[] if who in QUICK else pytest.mark.slow) for who in VISITORS]
)
def test_every_route_enforces_the_permissions_table(staff_site: StaffedCampaign, visitor: str) -> None:
    wrong = []
    for route in routes_of(staff_site.live.app):
        (action,) = route_actions(route)
        for method in route.methods or ():
            result = staff_site.ask(method, route.path, visitor)
            if result != expected(action, visitor):
                wrong.append(f"{method} {route.path}: {result}, and {expected(action, visitor)} by the table")
    assert wrong == []


@sqlite_only
def test_every_staff_form_checks_its_csrf_token(live: LiveSite) -> None:
    unchecked = []
    for route in routes_of(live.app):
        calls = {dependant.call for dependant in _flat(route.dependant)}
        is_staff_form = any(isinstance(call, Require) for call in calls) and "POST" in (route.methods or ())
        if is_staff_form and not isinstance(route, TokenRoute) and read_form not in calls:
            unchecked.append(route.path)
    assert unchecked == []


@sqlite_only
def test_every_staff_form_without_its_csrf_token_is_refused(staff_site: StaffedCampaign) -> None:
    platform = staff_site.live.platform
    actors = (*ROLES, "operator")
    links = {
        role: sign_in_links.create_sign_in_link(platform, staff_site.people[role].name, now=NOW) for role in actors
    }
    sessions = {
        role: sign_in_links.sign_in_with_link(platform, link.key, network=None, now=NOW) for role, link in links.items()
    }
    accepted, n_forms = [], 0
    for route in routes_of(staff_site.live.app):
        calls = {dependant.call for dependant in _flat(route.dependant)}
        if isinstance(route, TokenRoute) or not any(isinstance(call, Require) for call in calls):
            continue
        for _ in {"POST"} & (route.methods or set()):
            (action,) = route_actions(route)
            role = next(role for role in actors if role in find_action(action).actors)
            path, headers = staff_site._filled(route.path)[1], {"cookie": f"dissensus_staff={sessions[role]}"}
            answer = staff_site.browser.post(path, data={"form_token": "0" * 64, "name": "pilot"}, headers=headers)
            n_forms += 1
            if answer.status_code != 403 or "This form does not belong to your session" not in answer.text:
                accepted.append(path)
    assert accepted == []
    assert n_forms > 40


@sqlite_only
def test_api_routes_use_all_scopes(live: LiveSite) -> None:
    scopes = {
        action for route in routes_of(live.app) for action in route_actions(route) if isinstance(route, TokenRoute)
    }
    assert scopes == SCOPES


@sqlite_only
def test_a_token_without_the_scope_is_rejected_everywhere(staff_site: StaffedCampaign) -> None:
    platform = staff_site.live.platform
    for route in routes_of(staff_site.live.app):
        if not isinstance(route, TokenRoute):
            continue
        (action,) = route_actions(route)
        scopes = SCOPES - {action}
        key, _ = api_tokens.create_token(
            platform, staff_site.people["owner"], f"{route.name} {action}", scopes=scopes, days=1, now=NOW
        )
        staff_site.keys["owner"] = key
        assert {staff_site.ask(method, route.path, "owner") for method in route.methods or ()} == {"refused"}, (
            route.path
        )


@sqlite_only
def test_forbidden_actions_are_rejected_with_the_reason(staff_site: StaffedCampaign, live: LiveSite) -> None:
    platform = live.platform
    session = sign_in_links.sign_in_with_link(
        platform, sign_in_links.create_sign_in_link(platform, "analyst", now=NOW).key, network=None, now=NOW
    )
    with httpx.Client(base_url=live.url, cookies={"dissensus_staff": session}) as browser:
        text = browser.get("/campaigns/pilot/revise").text
    assert "You are a member of pilot as analyst, and only owners may change its definition. Ask an owner." in text


@pytest.mark.parametrize("role", ROLES)
def test_roles_extend_staff_and_owners_have_most(role: Role) -> None:
    # Only carers see wellbeing surveys.
    assert actions_of("staff") < actions_of(role) <= actions_of("owner") | {"care"}
    assert "care" in actions_of(role) if role == "carer" else "care" not in actions_of(role)
    assert parse_role(role) == role


def test_the_permissions_table_is_consistent() -> None:
    assert {who for action in ACTIONS.values() for who in action.actors} == set(ACTORS)
    assert actions_of("stranger") < actions_of("staff")
    assert {"account", "label", "adjudicate", "rehearse"}.isdisjoint(SCOPES)
    with pytest.raises(LookupError, match="Did you mean 'export'"):
        find_action("exports")


def test_the_documentation_has_the_table() -> None:
    page = (ROOT / "docs" / "staff.md").read_text(encoding="utf-8")
    table = re.search(r"^\| Action .*?(?=\n\n)", page, re.MULTILINE | re.DOTALL)
    assert table is not None
    assert table[0] == tabulate_permissions()
