"""Authentication of raters by session cookie."""

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Cookie, Request
from starlette.datastructures import FormData

from dissensus.errors import NotAllowed
from dissensus.web.core.site import Site
from dissensus.workflows.rater import enrolment

if TYPE_CHECKING:
    from dissensus.store.raters import RaterRow

SESSION_COOKIE: Final = "dissensus_rater"
SessionKey = Annotated[str, Cookie(alias=SESSION_COOKIE, max_length=100)]


def rater_of_session(site: Site, session: str) -> "RaterRow":
    """Return the signed-in rater, or raise `NotAllowed`."""
    rater = enrolment.rater_of_session(site.platform, session, now=site.clock()) if session else None
    if rater is None:
        raise NotAllowed(
            "You are not signed in (any more). Open your personal link, or the link of the campaign, again."
        )
    return rater


def rater_of_form(site: Site, request: Request, session: str, form: FormData) -> "RaterRow":
    """Return the signed-in rater after checking the form's CSRF token."""
    rater = rater_of_session(site, session)
    site.tokens.check_csrf_token(session, request.headers.get("x-form-token") or str(form.get("form_token", "")))
    return rater
