"""Authentication and authorisation of staff, by session cookie or API token."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar
from urllib.parse import urlencode

from fastapi import Cookie, Depends, Header, HTTPException, Path, Query, Request
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser

from dissensus.errors import NotAllowed
from dissensus.web.core.campaign_tabs import CampaignNavigation, build_navigation
from dissensus.web.core.forms import MAX_CARRIED_BYTES, MAX_FIELD_BYTES, is_multipart
from dissensus.web.core.permissions import Action, Actor, actions_of, find_action
from dissensus.web.core.responses import SEE_OTHER, is_local_path
from dissensus.web.core.site import Site, site_of, truncated_network
from dissensus.web.core.translations import DEFAULT_LANGUAGE
from dissensus.workflows.campaign import audit, campaigns, members
from dissensus.workflows.platform import api_tokens, second_factors, sessions

if TYPE_CHECKING:
    from dissensus.store.identity.api_tokens import ApiTokenRow
    from dissensus.store.staff import StaffRow

STAFF_COOKIE: Final = "dissensus_staff"
MAX_FORM_FIELDS: Final = 2_000
"""Maximum fields of a form; a step of the builder with many answers and languages has hundreds."""
MAX_FORM_FILES: Final = 100
MAX_TEXT_BYTES: Final = 2 * MAX_CARRIED_BYTES
"""Maximum bytes of all fields of a form with files."""

SiteOf = Annotated[Site, Depends(site_of)]
Name = Annotated[str, Path(max_length=100)]
Live = Annotated[bool, Query(description="True for a page that renews itself: no single rater is shown or logged.")]
Key = Annotated[str, Path(max_length=100)]
SessionKey = Annotated[str, Cookie(alias=STAFF_COOKIE, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffPage:
    """Base of all pages for signed-in staff; these pages are in English."""

    template: ClassVar[str]

    staff_name: str
    form_token: str
    navigation: CampaignNavigation | None = None  # None outside campaigns
    language: str = DEFAULT_LANGUAGE


AnyStaffPage = TypeVar("AnyStaffPage", bound=StaffPage)


@dataclass(frozen=True, slots=True)
class StaffRequest:
    """An authorised request by a member of staff."""

    staff: "StaffRow"
    session: str  # Session key; empty with an API token
    form_token: str  # CSRF token; empty with an API token
    role: Actor = "staff"  # Role in the campaign of the request
    permissions: frozenset[str] = actions_of("staff")  # Permitted actions
    scopes: frozenset[str] | None = None  # Scopes of the API token; None in a browser session
    token_id: str | None = None  # API token; None in a browser session
    navigation: CampaignNavigation | None = None  # None outside campaigns, and with an API token

    def page(self, page: type[AnyStaffPage], /, **fields: Any) -> AnyStaffPage:
        """Return a page for this member of staff, with the fields that all their pages have."""
        return page(staff_name=self.staff.name, form_token=self.form_token, navigation=self.navigation, **fields)


@dataclass(frozen=True, slots=True)
class Public:
    """Dependency that names the action of a route without staff authentication."""

    action: str  # Key of `ACTIONS`

    def __call__(self) -> None:
        """Allow everyone."""


@dataclass(frozen=True, slots=True)
class Require:
    """Dependency that authenticates staff and requires permission for one action."""

    action: str  # Key of `ACTIONS`
    by_token: bool = False  # True if the page also accepts API tokens
    recent: bool = False  # True if the person must have proved their identity in the last minutes

    def __call__(
        self,
        request: Request,
        site: SiteOf,
        session: SessionKey = "",
        authorization: Annotated[str, Header(max_length=300)] = "",
    ) -> StaffRequest:
        """Return the authorised request, or raise `NotAllowed`."""
        # Other schemes belong to a proxy in front of the site.
        scheme, _, key = authorization.partition(" ")
        if self.by_token and scheme.lower() == "bearer":
            return authorize_token(request, *authenticate_token(site, request, key.strip()), action=self.action)
        visitor = _authenticate_session(site, request, session)
        request.state.staff_visitor = visitor
        caller = _authorize(request, site, visitor, self.action)
        if self.recent:
            check_recent_confirmation(site, request, session)
        return caller


def check_recent_confirmation(site: Site, request: Request, session: str) -> None:
    """Raise a redirect to the confirmation of the identity unless it is recent; it leads back to the page of the form.

    The page of a form is at the parent of the address to which the form is sent.
    """
    if sessions.is_recently_confirmed(site.platform, session, now=site.clock()):
        return
    page_path = request.url.path.rpartition("/")[0]
    detail = "Confirm that it is you: this needs your password, or a new sign-in."
    raise HTTPException(SEE_OTHER, detail, {"location": f"/account/confirm?{urlencode({'to': page_path})}"})


def authenticate_token(site: Site, request: Request, key: str) -> "tuple[StaffRow, ApiTokenRow]":
    """Return the owner of an API token and the token; raise an error with status 401 if it is invalid."""
    network = truncated_network(request)
    owner_and_token = api_tokens.authenticate_token(site.platform, key, network=network, now=site.clock())
    if owner_and_token is None:
        detail = "This token is invalid, expired or revoked. Create another one on your account page."
        raise HTTPException(HTTPStatus.UNAUTHORIZED, detail, {"www-authenticate": "Bearer"})
    return owner_and_token


def authorize_token(request: Request, staff: "StaffRow", token: "ApiTokenRow", *, action: str) -> StaffRequest:
    """Return the authorised request of a token; raise `NotAllowed` without the scope or permission."""
    if action not in token.scopes:
        raise NotAllowed(f"This token lacks the scope {action}. Create one that has it.")
    permissions = actions_of("staff") & token.scopes
    caller = StaffRequest(staff, "", "", permissions=permissions, scopes=token.scopes, token_id=token.id)
    return _authorize(request, site_of(request), caller, action)


def _authenticate_session(site: Site, request: Request, session: str) -> StaffRequest:
    member = sessions.staff_of_session(site.platform, session, now=site.clock()) if session else None
    if member is None:
        detail = "You are not signed in (any more). Sign in at /sign-in, or with a link: dissensus sign-in NAME"
        # Programs keep the status, which redirects would hide.
        if request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
            raise NotAllowed(detail)
        raise HTTPException(SEE_OTHER, detail, {"location": sign_in_path(request)})
    return StaffRequest(member, session, site.tokens.csrf_token(session))


def sign_in_path(request: Request) -> str:
    """Return the path of the sign-in that leads back to the page of a request."""
    query = request.url.query
    page_path = f"{request.url.path}?{query}" if query else request.url.path
    return f"/sign-in?{urlencode({'to': page_path})}" if is_local_path(page_path) else "/sign-in"


def find_visitor(request: Request) -> StaffRequest | None:
    """Return the signed-in member of staff, whether or not this request is permitted; None before authentication."""
    visitor: StaffRequest | None = getattr(request.state, "staff_visitor", None)
    return visitor


def _authorize(request: Request, site: Site, caller: StaffRequest, action_name: str) -> StaffRequest:
    action = find_action(action_name)
    if action.resource == "campaign":
        name = request.path_params["name"]
        caller = _check_role(site, caller, name, action)
        if caller.token_id is None:
            campaign = campaigns.load_definition(site.platform, name, staff_id=caller.staff.id)
            navigation = build_navigation(name, campaign, caller.permissions, request.url.path)
            caller = replace(caller, navigation=navigation)
        if action.shows_raters and request.method == "GET":
            log_access(site, caller, name, action_name)
    elif "staff" not in action.actors and not (caller.staff.operator and "operator" in action.actors):
        raise NotAllowed(f"Only operators may {action.description}. One is named by: dissensus staff operator NAME")
    request.state.caller = caller
    return caller


def _check_role(site: Site, caller: StaffRequest, name: str, action: Action) -> StaffRequest:
    role = members.member_role(site.platform, name, caller.staff.id, token_id=caller.token_id)
    if role not in action.actors:
        *first, last = (f"{allowed_role}s" for allowed_role in sorted(action.actors))
        permitted = f"{', '.join(first)} and {last}" if first else last
        remedy = f"Invite one at /campaigns/{name}/staff." if role == "owner" else "Ask an owner."
        raise NotAllowed(
            f"You are a member of {name} as {role}, and only {permitted} may {action.description}. {remedy}"
        )
    if role == "owner" and site.settings.owners_need_second_factor:
        _check_second_factor(site, caller)
    return replace(caller, role=role, permissions=permissions_in_role(caller, role))


def _check_second_factor(site: Site, caller: StaffRequest) -> None:
    """Send owners without a second factor to its page; refuse their API tokens."""
    if second_factors.has_second_factor(site.platform, caller.staff.id):
        return
    detail = "On this site, owners need a second factor. Set one up on your account page."
    if caller.token_id is not None:
        raise NotAllowed(detail)
    raise HTTPException(SEE_OTHER, detail, {"location": "/account/second-factor"})


def log_access(site: Site, caller: StaffRequest, name: str, action: str) -> None:
    """Log to the audit log that staff viewed records of individual raters."""
    audit.log_view(site.platform, name, action, staff_id=caller.staff.id, now=site.clock())


def permissions_in_role(caller: StaffRequest, role: Actor) -> frozenset[str]:
    """Return the permitted actions in a role; without `numbers` a token has no `small-numbers` either."""
    allowed = actions_of(role) if caller.scopes is None else actions_of(role) & caller.scopes
    return allowed if "numbers" in allowed else allowed - {"small-numbers"}


def find_caller(request: Request) -> StaffRequest:
    """Return the authorised caller; raise `NotAllowed` without one.

    FastAPI goes on with other dependencies where a parameter of the authorisation is invalid, such as a long cookie.
    """
    caller: StaffRequest | None = getattr(request.state, "caller", None)
    if caller is None:
        raise NotAllowed("You are not signed in (any more). Sign in at /sign-in.")
    return caller


async def _form(request: Request) -> AsyncIterator[FormData]:
    find_caller(request)
    if is_multipart(request.headers):
        try:
            form = await _BoundedParser(
                request.headers,
                request.stream(),
                max_files=MAX_FORM_FILES,
                max_fields=MAX_FORM_FIELDS,
                max_part_size=MAX_CARRIED_BYTES,
            ).parse()
        except MultiPartException as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, error.message) from None
        try:
            yield form
        finally:
            await form.close()
    else:
        # Percent-encoded fields take long to decode; forms with files or long texts are multipart.
        async with request.form(max_fields=MAX_FORM_FIELDS, max_part_size=MAX_FIELD_BYTES) as form:
            yield form


class _BoundedParser(MultiPartParser):
    """Parser of multipart forms with a limit of all text together, which takes up to four times its size in memory."""

    n_bytes = 0

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """Count the bytes of fields that are not files."""
        if self._current_part.file is None:
            self.n_bytes += end - start
            if self.n_bytes > MAX_TEXT_BYTES:
                # Worded as the parser itself does, for `OVERSIZED_FIELD` of the error handlers.
                raise MultiPartException(f"Part exceeded maximum size of {MAX_TEXT_BYTES >> 10}KB.")
        super().on_part_data(data, start, end)


def read_form(site: SiteOf, request: Request, form: Annotated[FormData, Depends(_form)]) -> FormData:
    """Return a submitted form after checking its CSRF token; routes declare it after authorisation."""
    site.tokens.check_csrf_token(find_caller(request).session, str(form.get("form_token", "")))
    return form


async def _small_form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=0, max_fields=10, max_part_size=MAX_FIELD_BYTES) as form:
        yield form


StaffForm = Annotated[FormData, Depends(read_form)]
PublicForm = Annotated[FormData, Depends(_small_form)]
"""Form of somebody who is not signed in yet; the route checks its CSRF token."""
