"""Who comes, and whether they may: what every route of staff depends on."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Cookie, Depends, Header, HTTPException, Path, Request
from starlette.datastructures import FormData

from dissensus.errors import NotAllowed
from dissensus.web.core.permissions import Action, Who, action_named, may
from dissensus.web.core.request_limits import MOST_UPLOADED
from dissensus.web.core.site import Site, site_of
from dissensus.workflows.campaign import audit, members
from dissensus.workflows.platform import api_tokens, staff

if TYPE_CHECKING:
    from dissensus.store.api_tokens import Token
    from dissensus.store.staff import Staff

COOKIE: Final = "dissensus_owner"
UNAUTHORIZED: Final = 401
MOST_FIELDS: Final = 100
"""Of a form: an attribute that divides items is one, and so is a kind of personal data."""

SiteOf = Annotated[Site, Depends(site_of)]
Name = Annotated[str, Path(max_length=100)]
Key = Annotated[str, Path(max_length=100)]
SessionKey = Annotated[str, Cookie(alias=COOKIE, max_length=100)]


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody of the staff who does what they may."""

    staff: "Staff"
    session: str  # The key of the session, and what its forms carry; both empty where a program came with a token
    form_token: str
    role: Who = "staff"  # Who they are in the campaign that it is about
    may: frozenset[str] = may("staff")  # All that they may do there
    # What the token is for that a program came with; None where nobody came with one
    scopes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """Names the action of a route that asks by itself who comes: those of strangers and raters."""

    action: str  # In the table of permissions

    def __call__(self) -> None:
        """Let everybody on."""


@dataclass(frozen=True, slots=True)
class May:
    """Names the action of a route of staff, and lets those on alone who may do it."""

    action: str  # In the table of permissions
    by_token: bool = False  # Whether the page answers programs that come with a token too

    def __call__(
        self,
        request: Request,
        site: SiteOf,
        session: SessionKey = "",
        authorization: Annotated[str, Header(max_length=300)] = "",
    ) -> Visit:
        """Return who comes, and refuse who may not."""
        # Another kind of authorization is of a proxy before the site, and says nothing here.
        kind, _, key = authorization.partition(" ")
        if self.by_token and kind.lower() == "bearer":
            return with_token(request, *bearer(site, key.strip()), action=self.action)
        return _within(request, site, _by_session(site, session), self.action)


def bearer(site: Site, key: str) -> "tuple[Staff, Token]":
    """Return whose a token is, and the token; refuse one that is not good."""
    found = api_tokens.authenticate_token(site.platform, key, now=site.clock())
    if found is None:
        told = "This token is none of ours, has ended or was revoked. Make another one on the page of your account."
        raise HTTPException(UNAUTHORIZED, told, {"www-authenticate": "Bearer"})
    return found


def with_token(request: Request, staff: "Staff", token: "Token", *, action: str) -> Visit:
    """Return who comes with a token, and refuse what it is not for, or they may not do."""
    if action not in token.scopes:
        raise NotAllowed(f"This token is not for that. Make one that has the scope {action}.")
    visit = Visit(staff, "", "", may=may("staff") & token.scopes, scopes=token.scopes)
    return _within(request, site_of(request), visit, action)


def _by_session(site: Site, session: str) -> Visit:
    found = staff.staff_of_session(site.platform, session, now=site.clock()) if session else None
    if found is None:
        raise NotAllowed("You are not signed in (any more). Sign in at /sign-in, or by a link: dissensus sign-in NAME")
    return Visit(found, session, site.tokens.form(session))


def _within(request: Request, site: Site, visit: Visit, what: str) -> Visit:
    action = action_named(what)
    if action.about == "campaign":
        name = request.path_params["name"]
        visit = _as_member(site, visit, name, action)
        if action.of_raters and request.method == "GET":
            looked(site, visit, name, what)
    request.state.visit = visit
    return visit


def _as_member(site: Site, visit: Visit, name: str, action: Action) -> Visit:
    role = members.member_role(site.platform, name, visit.staff.id)
    if role not in action.who:
        others = " and ".join(f"{who}s" for who in sorted(action.who))
        raise NotAllowed(f"You belong to {name} as {role}, and only {others} may {action.says}. Ask an owner.")
    return replace(visit, role=role, may=seen_in(visit, role))


def looked(site: Site, visit: Visit, name: str, what: str) -> None:
    """Keep that somebody is shown what single raters did or said."""
    audit.log_view(site.platform, name, what, staff_id=visit.staff.id, now=site.clock())


def seen_in(visit: Visit, role: Who) -> frozenset[str]:
    """Return what somebody may do in a role; a token shows no small numbers where it shows none at all."""
    allowed = may(role) if visit.scopes is None else may(role) & visit.scopes
    return allowed if "numbers" in allowed else allowed - {"small-numbers"}


async def _form(request: Request) -> AsyncIterator[FormData]:
    # Nothing is read from whoever may not: the visit is there once that is known.
    _: Visit = request.state.visit
    async with request.form(max_files=2, max_fields=MOST_FIELDS, max_part_size=MOST_UPLOADED) as sent:
        yield sent


def checked(site: SiteOf, request: Request, sent: Annotated[FormData, Depends(_form)]) -> FormData:
    """Return a form, and refuse one that is not of the session; a route asks for it after the visit."""
    site.tokens.check_form(request.state.visit.session, str(sent.get("form_token", "")))
    return sent


async def _small_form(request: Request) -> AsyncIterator[FormData]:
    async with request.form(max_files=0, max_fields=10) as sent:
        yield sent


Sent = Annotated[FormData, Depends(checked)]
SmallForm = Annotated[FormData, Depends(_small_form)]
"""Of somebody who is not signed in yet; the route checks its token."""
