"""Error handlers: map errors to HTTP responses without disclosing internals."""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.errors import Conflict, DissensusError, InvalidInput, NoDatabase, NotAllowed, NotFound, Unavailable
from dissensus.web.api.openapi import methods_at
from dissensus.web.core.forms import describe_form_fault
from dissensus.web.core.problem import API_PREFIX, problem_response, validation_problem
from dissensus.web.core.request_limits import RequestTooLarge, RequestTooSlow
from dissensus.web.core.site import site_of
from dissensus.web.core.translations import languages, negotiate_language

STATUS_CODES: Final[dict[type[DissensusError], int]] = {
    InvalidInput: 422,
    NotAllowed: 403,
    NotFound: 404,
    Conflict: 409,
    Unavailable: 503,
}
PAGE_MESSAGES: Final[Mapping[int, str]] = {
    400: "What was sent cannot be read. Load the page again and repeat.",
    404: "There is nothing at this address.",
    405: "This address takes no such request. Open it as a page, or send the form of its page.",
}
"""Messages for errors that the framework raises."""
API_MESSAGES: Final[Mapping[int, str]] = {
    400: "What was sent cannot be read. Send JSON in UTF-8.",
    404: "There is nothing at this address. /api/v1/openapi.json tells what there is.",
    405: "This address takes no such request. /api/v1/openapi.json tells which it takes.",
}
FORM_LOCATIONS: Final[Mapping[str, str]] = {"path": "the address", "query": "the address", "cookie": "a cookie"}
REFERENCE_BYTES: Final = 4
NOT_ALLOWED: Final = 405

log = logging.getLogger("dissensus.errors")

UNAVAILABLE_MESSAGE: Final = (
    "The site is busy, or cannot reach its database. Please try again in a moment. "
    "Sending twice is safe; it is stored once."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """An error; internal errors show only a reference to the log entry."""

    template: ClassVar[str] = "error.html"

    language: str
    status: int
    text: str
    reference: str | None = None


def install_error_handlers(app: FastAPI) -> None:
    """Install handlers that answer every error with a page, or with JSON for API clients."""
    app.add_exception_handler(DissensusError, _refuse)
    app.add_exception_handler(HTTPException, _turn_away)
    app.add_exception_handler(RequestValidationError, _correct)
    # Added first, it stands within all others, so that they see a plain answer with the status 500.
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

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except (RequestTooLarge, RequestTooSlow):
            raise
        except ClientDisconnect:
            # Nobody is there to read it; it is counted.
            await Response(status_code=400)(scope, receive, send)
        except Exception:
            reference = secrets.token_hex(REFERENCE_BYTES)
            log.exception("Something broke. Reference: %s", reference)
            if started:
                raise
            await _broken(Request(scope, receive), reference)(scope, receive, send)


async def _refuse(request: Request, error: Exception) -> Response:
    status = next((status for kind, status in STATUS_CODES.items() if isinstance(error, kind)), 400)
    if not isinstance(error, NoDatabase):
        return _answer(request, status, str(error))
    # What the database says of itself is for who runs it.
    log.error("%s", error)
    return _answer(request, status, UNAVAILABLE_MESSAGE)


async def _turn_away(request: Request, error: Any) -> Response:
    if isinstance(error.__cause__, (RequestTooLarge, RequestTooSlow)):
        raise error.__cause__
    said = API_MESSAGES if request.url.path.startswith(API_PREFIX) else PAGE_MESSAGES
    answer = _answer(request, error.status_code, said.get(error.status_code, str(error.detail)))
    answer.headers.update(error.headers or {})
    if error.status_code == NOT_ALLOWED and (methods := methods_at(request.scope)):
        # The framework names those of one route alone.
        answer.headers["allow"] = ", ".join(methods)
    return answer


async def _correct(request: Request, error: Any) -> Response:
    if request.url.path.startswith(API_PREFIX):
        return validation_problem(error.errors())
    return _answer(request, 422, "\n".join(dict.fromkeys(map(_fault, error.errors()))))


def _fault(fault: Mapping[str, Any]) -> str:
    place, *names = fault["loc"]
    field = ".".join(map(str, names)) or "What was sent"
    return f"{field} in {FORM_LOCATIONS.get(place, 'the form')} {describe_form_fault(fault)}"


def _broken(request: Request, reference: str) -> Response:
    text = f"Something broke here, and not by you. What was saved stays saved. Reference: {reference}"
    return _answer(request, 500, text, reference=reference)


def _answer(request: Request, status: int, text: str, *, reference: str | None = None) -> Response:
    if request.url.path.startswith(API_PREFIX):
        return problem_response(status, text, **({} if reference is None else {"reference": reference}))
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    language = negotiate_language(request.headers.get("accept-language", ""), languages())
    context = ErrorPage(language=language, status=status, text=text, reference=reference)
    return HTMLResponse(site_of(request).renderer.render(context), status)
