"""Responses of middleware to refused requests."""

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Scope

from dissensus.web.core.problem import API_ADDRESS, problem_response


def refuse(scope: Scope, status: int, text: str) -> Response:
    """Return an error response, as JSON for API clients."""
    if API_ADDRESS.match(scope["path"]):
        return problem_response(status, text)
    if Headers(scope=scope).get("accept", "").startswith("application/json"):
        return JSONResponse({"error": text}, status)
    return PlainTextResponse(text, status)
