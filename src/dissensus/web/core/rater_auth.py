"""Raters who are signed in."""

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Cookie, Request
from starlette.datastructures import FormData

from dissensus.errors import NotAllowed
from dissensus.web.core.site import Site
from dissensus.workflows.rater import enrolment

if TYPE_CHECKING:
    from dissensus.store.raters import Rater

UNPROCESSABLE: Final = 422
SESSION_COOKIE: Final = "dissensus_rater"
SessionKey = Annotated[str, Cookie(alias=SESSION_COOKIE, max_length=100)]


def rater_of_session(site: Site, session: str) -> "Rater":
    """Return who is signed in, and refuse whoever is not."""
    rater = enrolment.signed_in(site.platform, session, now=site.clock()) if session else None
    if rater is None:
        raise NotAllowed(
            "You are not signed in (any more). Open your personal link, or the link of the campaign, again."
        )
    return rater


def rater_of_form(site: Site, request: Request, session: str, sent: FormData) -> "Rater":
    """Return who sends a form, and refuse one that is not of their session."""
    rater = rater_of_session(site, session)
    site.tokens.check_form(session, request.headers.get("x-form-token") or str(sent.get("form_token", "")))
    return rater
