"""Error handlers: map errors to HTTP responses without disclosing internals."""

import logging
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, ClassVar, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.errors import (
    Conflict,
    DissensusError,
    InvalidInput,
    NoDatabase,
    NotAllowed,
    NotFound,
    TooManyRequests,
    Unavailable,
)
from dissensus.schema.advice import site_message
from dissensus.web.api.openapi import methods_at
from dissensus.web.core.forms import describe_form_error
from dissensus.web.core.problem import API_ADDRESS, problem_response, validation_problem
from dissensus.web.core.rater_auth import SESSION_COOKIE
from dissensus.web.core.site import site_of
from dissensus.web.core.staff_auth import STAFF_COOKIE, find_visitor
from dissensus.web.core.translations import DEFAULT_LANGUAGE, languages, negotiate_language
from dissensus.web.middleware.access_log import name_request
from dissensus.web.middleware.request_limits import RequestTooLarge, RequestTooSlow

STATUS_CODES: Final[dict[type[DissensusError], int]] = {
    InvalidInput: 422,
    NotAllowed: 403,
    NotFound: 404,
    Conflict: 409,
    TooManyRequests: 429,
    Unavailable: 503,
}
PAGE_MESSAGES: Final[Mapping[int, str]] = {
    400: "The request cannot be read. Load the page again and repeat.",
    404: "There is nothing at this address.",
    405: "This address does not accept this kind of request. Open it as a page, or send the form on its page.",
}
"""Messages for errors that the framework raises."""
API_MESSAGES: Final[Mapping[int, str]] = {
    400: "The request cannot be read. Send JSON in UTF-8.",
    404: "There is nothing at this address. /api/v1/openapi.json lists all addresses.",
    405: "This address does not accept this method. /api/v1/openapi.json lists the methods.",
}
FORM_LOCATIONS: Final[Mapping[str, str]] = {"path": "the address", "query": "the address", "cookie": "a cookie"}
OVERSIZED_FIELD: Final = re.compile("(Field|Part) exceeded maximum size")
"""Detail of the framework for a form with a field that is too large."""
REFERENCE_BYTES: Final = 4
STAFF_PACKAGES: Final = ("dissensus.web.staff.", "dissensus.web.builder.", "dissensus.web.planning.")
"""Packages with the pages of staff."""

log = logging.getLogger("dissensus.errors")

RATER_START: Final = "/rate"
UNAVAILABLE_MESSAGE: Final = (
    "The site is busy, or cannot reach its database. Please try again in a moment. "
    "Sending twice is safe; it is stored once."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """An error for raters and visitors; of an internal error only a reference to the log entry is shown."""

    template: ClassVar[str] = "error.html"

    language: str
    status: int
    text: str
    start: str  # Path that leads on: the current page of a rater, or the start page
    reference: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffErrorPage:
    """An error for staff, in the frame of their pages."""

    template: ClassVar[str] = "staff/error.html"

    staff_name: str  # Empty if nobody is signed in, or the error occurred before authentication
    form_token: str
    status: int
    text: str
    language: str = DEFAULT_LANGUAGE


def install_error_handlers(app: FastAPI) -> None:
    """Install handlers that answer errors with a page, or with JSON for API clients."""
    app.add_exception_handler(DissensusError, _handle_domain_error)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    # Added first, so it is the innermost: the other middleware see an ordinary response with status 500.
    app.add_middleware(ErrorBoundaryMiddleware)


class ErrorBoundaryMiddleware:
    """ASGI middleware: log unhandled exceptions under a reference and answer with status 500."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_tracked(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, send_tracked)
        except (RequestTooLarge, RequestTooSlow):
            raise
        except ClientDisconnect:
            # The client is gone; the response only counts in the metrics.
            await Response(status_code=400)(scope, receive, send)
        except Exception:
            reference = secrets.token_hex(REFERENCE_BYTES)
            log.exception("Unhandled exception at %s %s. Reference: %s", *name_request(scope), reference)
            if started:
                raise
            await _internal_error(Request(scope, receive), reference)(scope, receive, send)


async def _handle_domain_error(request: Request, error: Exception) -> Response:
    status = next((status for kind, status in STATUS_CODES.items() if isinstance(error, kind)), 400)
    if isinstance(error, TooManyRequests):
        response = _response(request, status, site_message(error))
        response.headers["retry-after"] = str(error.retry_after_s)
        return response
    if not isinstance(error, NoDatabase):
        return _response(request, status, site_message(error))
    # Details of the database belong in the log, not in the response.
    log.error("No database at %s %s: %s", *name_request(request.scope), error)
    return _response(request, status, UNAVAILABLE_MESSAGE)


async def _handle_http_error(request: Request, error: Any) -> Response:
    if isinstance(error.__cause__, (RequestTooLarge, RequestTooSlow)):
        raise error.__cause__
    if OVERSIZED_FIELD.match(str(error.detail)):
        return _response(request, 413, "A field of the form is too large. Shorten it, or send it as a file.")
    messages = API_MESSAGES if API_ADDRESS.match(request.url.path) else PAGE_MESSAGES
    response = _response(request, error.status_code, messages.get(error.status_code, str(error.detail)))
    response.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (methods := methods_at(request.scope)):
        # The framework lists the methods of one route only.
        response.headers["allow"] = ", ".join(methods)
    return response


async def _handle_validation_error(request: Request, error: Any) -> Response:
    if API_ADDRESS.match(request.url.path):
        return validation_problem(error.errors())
    return _response(request, 422, "\n".join(dict.fromkeys(map(_describe, error.errors()))))


def _describe(error: Mapping[str, Any]) -> str:
    location, *names = error["loc"]
    field = ".".join(map(str, names)) or "The request"
    return f"{field} in {FORM_LOCATIONS.get(location, 'the form')} {describe_form_error(error)}"


def _internal_error(request: Request, reference: str) -> Response:
    text = f"Something went wrong on our side. What you saved is still saved. Reference: {reference}"
    return _response(request, 500, text, reference=reference)


def _response(request: Request, status: int, text: str, *, reference: str | None = None) -> Response:
    if API_ADDRESS.match(request.url.path):
        return problem_response(status, text, **({} if reference is None else {"reference": reference}))
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    context = _error_page(request, status, text, reference)
    return HTMLResponse(site_of(request).renderer.render(context), status)


def _error_page(request: Request, status: int, text: str, reference: str | None) -> ErrorPage | StaffErrorPage:
    if not _is_for_staff(request):
        language = negotiate_language(request.headers.get("accept-language", ""), languages())
        return ErrorPage(language=language, status=status, text=text, start=_find_start(request), reference=reference)
    visitor = find_visitor(request)
    staff_name, form_token = ("", "") if visitor is None else (visitor.staff.name, visitor.form_token)
    return StaffErrorPage(staff_name=staff_name, form_token=form_token, status=status, text=text)


def _find_start(request: Request) -> str:
    return RATER_START if SESSION_COOKIE in request.cookies and request.url.path != RATER_START else "/"


def _is_for_staff(request: Request) -> bool:
    """Return whether a request was for a page of staff, or for no page by a browser of staff."""
    endpoint = request.scope.get("endpoint")
    return STAFF_COOKIE in request.cookies if endpoint is None else endpoint.__module__.startswith(STAFF_PACKAGES)
