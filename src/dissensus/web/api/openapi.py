"""OpenAPI document of the JSON API, and its routes by scope."""

from functools import cache
from typing import Any, Final, get_args

from fastapi import APIRouter, Depends
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.routing import Match
from starlette.types import Scope

import dissensus
from dissensus.campaign.audit_log import EventKind
from dissensus.web.api import (
    campaigns,
    chats,
    gold,
    items,
    members,
    monitoring,
    notices,
    pay,
    results,
    submissions,
    webhooks,
)
from dissensus.web.api.auth import TokenRoute, required_scope
from dissensus.web.core.permissions import ACTIONS, SCOPES
from dissensus.web.core.problem import PROBLEM_SCHEMA
from dissensus.web.core.staff_auth import Public
from dissensus.workflows.platform.idempotency import MAX_KEY_LENGTH

ROUTE_MODULES: Final = (
    campaigns,
    items,
    members,
    notices,
    chats,
    results,
    monitoring,
    gold,
    pay,
    submissions,
    webhooks,
)
ROUTERS: Final = tuple(module.router for module in ROUTE_MODULES)
DESCRIPTION: Final = """Everything that staff do with campaigns, for programs.

Requests are authenticated by an API token of your account; each route names the scope that the token needs. Errors are
problem details (RFC 9457). Lists are paginated: send `next` as `after`, with the rest of the address unchanged.
"""
IDEMPOTENCY_KEY_PARAMETER: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A unique value that you choose, such as a UUID: a repetition of the request within a day gets the "
    "same response and creates nothing more.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[ -~]+$"},
}

router = APIRouter(dependencies=[Depends(Public("look"))])


@router.get("/api/v1/openapi.json", include_in_schema=False)
def get_document() -> JSONResponse:
    """Return the document."""
    return JSONResponse(openapi_document())


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document."""
    routes = [route for module_router in ROUTERS for route in module_router.routes]
    document = get_openapi(title="Dissensus", version=dissensus.__version__, description=DESCRIPTION, routes=routes)
    components = document["components"]
    components["schemas"]["Problem"] = PROBLEM_SCHEMA
    # Clients accept event kinds that they do not know; the document names those of this version.
    components["schemas"]["EventResource"]["properties"]["kind"]["enum"] = [*get_args(EventKind)]
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "API token of your account."}
    }
    for route in routes:
        if isinstance(route, TokenRoute):
            for method in route.methods or ():
                operation = document["paths"][route.path][method.lower()]
                # FastAPI takes it from the function, whose name leaves out what its module says.
                operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
                operation["security"] = [{"token": [route_scope(route)]}]
                if method == "POST":
                    operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY_PARAMETER)
    return document


def scopes_by_subject() -> dict[str, tuple[str, ...]]:
    """Return the scopes by the subject of the first requests that need them."""
    subjects: dict[str, str] = {}
    for route in token_routes():
        subjects.setdefault(route_scope(route), str(route.tags[0]))
    return {
        subject: tuple(scope for scope in ACTIONS if subjects.get(scope) == subject)
        for subject in dict.fromkeys(subjects.values())
    }


def reading_scopes() -> frozenset[str]:
    """Return the scopes whose requests change nothing."""
    writing = {route_scope(route) for route in token_routes() if route.methods != {"GET"}}
    return SCOPES - writing


def token_routes() -> list[TokenRoute]:
    """Return the routes of the API."""
    return [route for module_router in ROUTERS for route in module_router.routes if isinstance(route, TokenRoute)]


def methods_at(scope: Scope) -> list[str]:
    """Return the HTTP methods allowed at an address of the API."""
    matched = [route.methods or () for route in token_routes() if route.matches(scope)[0] is not Match.NONE]
    return sorted({method for methods in matched for method in methods})


def route_scope(route: TokenRoute) -> str:
    """Return the token scope that a route requires."""
    return required_scope(route).action
