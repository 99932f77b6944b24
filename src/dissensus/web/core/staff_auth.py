"""Authentication and authorisation of staff, by session cookie or API token."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar

from fastapi import Cookie, Depends, Header, HTTPException, Path, Request
from starlette.datastructures import FormData

from dissensus.errors import NotAllowed
from dissensus.web.core.permissions import Action, Actor, actions_of, find_action
from dissensus.web.core.request_limits import MAX_UPLOAD_BYTES
from dissensus.web.core.site import Site, site_of
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.workflows.campaign import audit, members
from dissensus.workflows.platform import api_tokens, staff

if TYPE_CHECKING:
    from dissensus.store.api_tokens import ApiTokenRow
    from dissensus.store.staff import StaffRow

STAFF_COOKIE: Final = "dissensus_owner"
UNAUTHORIZED: Final = 401
MAX_FORM_FIELDS: Final = 100
"""Maximum fields of a form; each item attribute and each kind of personal data is one field."""

SiteOf = Annotated[Site, Depends(site_of)]
Name = Annotated[str, Path(max_length=100)]
Key = Annotated[str, Path(max_length=100)]
SessionKey = Annotated[str, Cookie(alias=STAFF_COOKIE, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffPage:
    """Base of all pages for signed-in staff; these pages are in English."""

    template: ClassVar[str]

    owner: str
    form_token: str
    language: str = DEFAULT_LANGUAGE


AnyStaffPage = TypeVar("AnyStaffPage", bound=StaffPage)


@dataclass(frozen=True, slots=True)
class StaffRequest:
    """An authorised request by a member of staff."""

    staff: "StaffRow"
    session: str  # The key of the session, and what its forms carry; both empty where a program came with a token
    form_token: str
    role: Actor = "staff"  # Who they are in the campaign that it is about
    may: frozenset[str] = actions_of("staff")  # All that they may do there
    scopes: frozenset[str] | None = None  # Of the API token; None in a browser session

    def page(self, page: type[AnyStaffPage], /, **fields: Any) -> AnyStaffPage:
        """Return a page for this member of staff, with the fields that all their pages have."""
        return page(owner=self.staff.name, form_token=self.form_token, **fields)


@dataclass(frozen=True, slots=True)
class Public:
    """Dependency that names the action of a route without staff authentication."""

    action: str  # In the table of permissions

    def __call__(self) -> None:
        """Allow everyone."""


@dataclass(frozen=True, slots=True)
class Require:
    """Dependency that authenticates staff and requires permission for one action."""

    action: str  # In the table of permissions
    by_token: bool = False  # True if the page answers programs that come with a token too

    def __call__(
        self,
        request: Request,
        site: SiteOf,
        session: SessionKey = "",
        authorization: Annotated[str, Header(max_length=300)] = "",
    ) -> StaffRequest:
        """Return the authorised request, or raise `NotAllowed`."""
        # Another kind of authorization is of a proxy before the site, and says nothing here.
        kind, _, key = authorization.partition(" ")
        if self.by_token and kind.lower() == "bearer":
            return authorize_token(request, *authenticate_token(site, key.strip()), action=self.action)
        return _within(request, site, _by_session(site, session), self.action)


def authenticate_token(site: Site, key: str) -> "tuple[StaffRow, ApiTokenRow]":
    """Return the owner of an API token and the token; raise 401 for an invalid one."""
    found = api_tokens.authenticate_token(site.platform, key, now=site.clock())
    if found is None:
        told = "This token is none of ours, has ended or was revoked. Make another one on the page of your account."
        raise HTTPException(UNAUTHORIZED, told, {"www-authenticate": "Bearer"})
    return found


def authorize_token(request: Request, staff: "StaffRow", token: "ApiTokenRow", *, action: str) -> StaffRequest:
    """Return the authorised request of a token; raise `NotAllowed` without the scope or permission."""
    if action not in token.scopes:
        raise NotAllowed(f"This token is not for that. Make one that has the scope {action}.")
    caller = StaffRequest(staff, "", "", may=actions_of("staff") & token.scopes, scopes=token.scopes)
    return _within(request, site_of(request), caller, action)


def _by_session(site: Site, session: str) -> StaffRequest:
    found = staff.staff_of_session(site.platform, session, now=site.clock()) if session else None
    if found is None:
        raise NotAllowed("You are not signed in (any more). Sign in at /sign-in, or by a link: dissensus sign-in NAME")
    return StaffRequest(found, session, site.tokens.form(session))


def _within(request: Request, site: Site, caller: StaffRequest, what: str) -> StaffRequest:
    action = find_action(what)
    if action.about == "campaign":
        name = request.path_params["name"]
        caller = _as_member(site, caller, name, action)
        if action.shows_raters and request.method == "GET":
            log_access(site, caller, name, what)
    request.state.caller = caller
    return caller


def _as_member(site: Site, caller: StaffRequest, name: str, action: Action) -> StaffRequest:
    role = members.member_role(site.platform, name, caller.staff.id)
    if role not in action.who:
        others = " and ".join(f"{who}s" for who in sorted(action.who))
        raise NotAllowed(f"You belong to {name} as {role}, and only {others} may {action.description}. Ask an owner.")
    return replace(caller, role=role, may=permissions_in_role(caller, role))


def log_access(site: Site, caller: StaffRequest, name: str, what: str) -> None:
    """Log to the audit log that staff viewed records of individual raters."""
    audit.log_view(site.platform, name, what, staff_id=caller.staff.id, now=site.clock())


def permissions_in_role(caller: StaffRequest, role: Actor) -> frozenset[str]:
    """Return the permitted actions in a role; without `numbers` a token has no `small-numbers` either."""
    allowed = actions_of(role) if caller.scopes is None else actions_of(role) & caller.scopes
    return allowed if "numbers" in allowed else allowed - {"small-numbers"}


async def _form(request: Request) -> AsyncIterator[FormData]:
    # Nothing is read from whoever may not: the caller is there once that is known.
    _: StaffRequest = request.state.caller
    async with request.form(max_files=2, max_fields=MAX_FORM_FIELDS, max_part_size=MAX_UPLOAD_BYTES) as sent:
        yield sent


def read_form(site: SiteOf, request: Request, sent: Annotated[FormData, Depends(_form)]) -> FormData:
    """Return a submitted form after checking its CSRF token; declare it after authorisation."""
    site.tokens.check_form(request.state.caller.session, str(sent.get("form_token", "")))
    return sent


async def _small_form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=0, max_fields=10) as sent:
        yield sent


StaffForm = Annotated[FormData, Depends(read_form)]
PublicForm = Annotated[FormData, Depends(_small_form)]
"""Form of somebody who is not signed in yet; the route checks its CSRF token."""
