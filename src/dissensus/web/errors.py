"""How errors look to visitors: nothing below this room knows of HTTP."""

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotAllowed, NotFound, Unavailable
from dissensus.web.contexts import Trouble
from dissensus.web.phrases import chosen, languages
from dissensus.web.site import site_of

STATUS: Final[dict[type[DissensusError], int]] = {
    InvalidInput: 422,
    NotAllowed: 403,
    NotFound: 404,
    Conflict: 409,
    Unavailable: 503,
}


def install(app: FastAPI) -> None:
    """Let an application answer our errors, and those of addresses that are none."""
    app.add_exception_handler(DissensusError, _answer)
    app.add_exception_handler(404, _answer)
    app.add_exception_handler(405, _answer)


async def _answer(request: Request, error: Exception) -> Response:
    status, text = _told(error)
    if request.headers.get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    language = chosen(request.headers.get("accept-language", ""), languages())
    context = Trouble(language=language, status=status, text=text)
    return HTMLResponse(site_of(request).pages.render(context), status)


def _told(error: Any) -> tuple[int, str]:
    if isinstance(error, DissensusError):
        return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400), str(error)
    return int(error.status_code), "There is nothing at this address." if error.status_code == 404 else str(
        error.detail
    )
