"""The API as a document that programs read, and the routes that it tells of."""

from functools import cache
from typing import Any, Final

from fastapi import APIRouter, Depends
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.routing import Match
from starlette.types import Scope

import dissensus
from dissensus.web.api import campaigns, gold, items, monitoring, notices, pay, people, results, submissions, webhooks
from dissensus.web.api.auth import TokenRoute, required_scope
from dissensus.web.api.error_responses import PROBLEM_SCHEMA, STATUS_DESCRIPTIONS
from dissensus.web.core.permissions import as_markdown
from dissensus.web.core.staff_auth import Open
from dissensus.workflows.platform.idempotency import MAX_KEY_LENGTH

ROUTE_MODULES: Final = (campaigns, items, people, notices, results, monitoring, gold, pay, submissions, webhooks)
ROUTERS: Final = tuple(room.router for room in ROUTE_MODULES)
DESCRIPTION: Final = """Everything that staff do with campaigns, for programs.

A token of your account says who asks; each request names the scope that the token needs. What goes wrong is told as
problem details (RFC 9457). Lists come in pages: send `next` as `after`, with the rest of the address as it was.
"""
IDEMPOTENCY_KEY_PARAMETER: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Chosen by you, such as a UUID: the same request again within a day has the same answer, and makes "
    "nothing more.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[ -~]+$"},
}

router = APIRouter(dependencies=[Depends(Open("look"))])


@router.get("/api/v1/openapi.json", include_in_schema=False)
def get_document() -> JSONResponse:
    """Return the document."""
    return JSONResponse(openapi_document())


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document, of OpenAPI 3.1."""
    routes = [route for one in ROUTERS for route in one.routes]
    made = get_openapi(title="Dissensus", version=dissensus.__version__, description=DESCRIPTION, routes=routes)
    parts = made["components"]
    parts["schemas"]["Problem"] = PROBLEM_SCHEMA
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": "Of your account."}}
    for route in routes:
        if isinstance(route, TokenRoute):
            for method in route.methods or ():
                operation = made["paths"][route.path][method.lower()]
                operation["security"] = [{"token": [route_scope(route)]}]
                if method == "POST":
                    operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY_PARAMETER)
    return made


def routes_as_table() -> str:
    """Return all requests as Markdown, a row each."""
    head = ["Request", "Address, below `/api/v1`", "Scope", "Does"]
    routes = [route for one in ROUTERS for route in one.routes if isinstance(route, TokenRoute)]
    rows = [
        [f"`{method}`", f"`{route.path.removeprefix('/api/v1')}`", f"`{route_scope(route)}`", _first_line(route)]
        for route in routes
        for method in route.methods or ()
    ]
    return as_markdown(head, rows)


def _first_line(route: TokenRoute) -> str:
    return route.description.partition("\n")[0]


def errors_as_table() -> str:
    """Return what can go wrong as Markdown, a row a status."""
    return as_markdown(["Status", "Means"], [[str(status), why] for status, why in STATUS_DESCRIPTIONS.items()])


def methods_at(scope: Scope) -> list[str]:
    """Return by which methods an address of the API can be asked."""
    found = [route for one in ROUTERS for route in one.routes if isinstance(route, TokenRoute)]
    matched = [route.methods or () for route in found if route.matches(scope)[0] is not Match.NONE]
    return sorted({method for methods in matched for method in methods})


def route_scope(route: TokenRoute) -> str:
    """Return what a token must be for to ask a route."""
    return required_scope(route).action
