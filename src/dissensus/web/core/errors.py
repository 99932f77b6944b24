"""How errors look to visitors: nothing below this room knows of HTTP, and nothing of the inside is told."""

import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dissensus.errors import Conflict, DissensusError, InvalidInput, NoDatabase, NotAllowed, NotFound, Unavailable
from dissensus.web.api.openapi import methods_at
from dissensus.web.core.contexts import Trouble
from dissensus.web.core.forms import wrong
from dissensus.web.core.problem import PREFIX, invalid, problem
from dissensus.web.core.request_limits import TooLarge, TooSlow
from dissensus.web.core.site import site_of
from dissensus.web.core.translations import chosen, languages

STATUS: Final[dict[type[DissensusError], int]] = {
    InvalidInput: 422,
    NotAllowed: 403,
    NotFound: 404,
    Conflict: 409,
    Unavailable: 503,
}
SAID: Final[Mapping[int, str]] = {
    400: "What was sent cannot be read. Load the page again and repeat.",
    404: "There is nothing at this address.",
    405: "This address takes no such request. Open it as a page, or send the form of its page.",
}
"""What our framework refuses, in our words."""
SAID_TO_PROGRAMS: Final[Mapping[int, str]] = {
    400: "What was sent cannot be read. Send JSON in UTF-8.",
    404: "There is nothing at this address. /api/v1/openapi.json tells what there is.",
    405: "This address takes no such request. /api/v1/openapi.json tells which it takes.",
}
PLACES: Final[Mapping[str, str]] = {"path": "the address", "query": "the address", "cookie": "a cookie"}
REFERENCE_BYTES: Final = 4
NOT_ALLOWED: Final = 405

log = logging.getLogger("dissensus.errors")


AWAY: Final = "The site is busy, or cannot reach its database. Try again in a moment: what comes twice is kept once."


def install(app: FastAPI) -> None:
    """Let an application answer every error by a page, or by data to who asks for that."""
    app.add_exception_handler(DissensusError, _refuse)
    app.add_exception_handler(HTTPException, _turn_away)
    app.add_exception_handler(RequestValidationError, _correct)
    # Added first, it stands within all others, so that they see a plain answer with the status 500.
    app.add_middleware(Unbroken)


class Unbroken:
    """An ASGI application before another one, that answers where the other breaks."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through; what breaks is written down under a reference, and that alone is told."""
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
        except (TooLarge, TooSlow):
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
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)
    if not isinstance(error, NoDatabase):
        return _answer(request, status, str(error))
    # What the database says of itself is for who runs it.
    log.error("%s", error)
    return _answer(request, status, AWAY)


async def _turn_away(request: Request, error: Any) -> Response:
    if isinstance(error.__cause__, (TooLarge, TooSlow)):
        raise error.__cause__
    said = SAID_TO_PROGRAMS if request.url.path.startswith(PREFIX) else SAID
    answer = _answer(request, error.status_code, said.get(error.status_code, str(error.detail)))
    answer.headers.update(error.headers or {})
    if error.status_code == NOT_ALLOWED and (methods := methods_at(request.scope)):
        # The framework names those of one route alone.
        answer.headers["allow"] = ", ".join(methods)
    return answer


async def _correct(request: Request, error: Any) -> Response:
    if request.url.path.startswith(PREFIX):
        return invalid(error.errors())
    return _answer(request, 422, "\n".join(dict.fromkeys(map(_fault, error.errors()))))


def _fault(fault: Mapping[str, Any]) -> str:
    place, *names = fault["loc"]
    field = ".".join(map(str, names)) or "What was sent"
    return f"{field} in {PLACES.get(place, 'the form')} {wrong(fault)}"


def _broken(request: Request, reference: str) -> Response:
    text = f"Something broke here, and not by you. What was saved stays saved. Reference: {reference}"
    return _answer(request, 500, text, reference=reference)


def _answer(request: Request, status: int, text: str, *, reference: str | None = None) -> Response:
    if request.url.path.startswith(PREFIX):
        return problem(status, text, **({} if reference is None else {"reference": reference}))
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    language = chosen(request.headers.get("accept-language", ""), languages())
    context = Trouble(language=language, status=status, text=text, reference=reference)
    return HTMLResponse(site_of(request).pages.render(context), status)
