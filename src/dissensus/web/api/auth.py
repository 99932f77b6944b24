"""API authentication by bearer token, before any of the request body is read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING

from fastapi import HTTPException, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.web.api.idempotency import IDEMPOTENCY_KEY, Handler, replay_or_run
from dissensus.web.core.json_body import JsonRoute
from dissensus.web.core.site import site_of
from dissensus.web.core.staff_auth import StaffRequest, authenticate_token, authorize_token

if TYPE_CHECKING:
    from dissensus.store.identity.api_tokens import ApiTokenRow
    from dissensus.store.staff import StaffRow


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated token and the staff member who created it."""

    staff: "StaffRow"  # Owner of the token
    token: "ApiTokenRow"
    key: str = field(repr=False)  # Secret of the token; it is not stored


@dataclass(frozen=True, slots=True)
class RequireScope:
    """Route dependency that declares the required scope of a token; `TokenRoute` enforces it."""

    action: str  # Key of `ACTIONS`

    async def __call__(self, request: Request) -> StaffRequest:
        """Return the staff request that `TokenRoute` authorised."""
        caller: StaffRequest = request.state.caller
        return caller


class TokenRoute(JsonRoute):
    """API route that authenticates and authorises the caller, and replays repeated POST requests."""

    def get_route_handler(self) -> Handler:
        """Wrap the handler in authentication and idempotency."""
        handle = super().get_route_handler()
        action = required_scope(self).action
        parameters = get_flat_params(self.dependant)
        allowed = tuple(sorted(one.alias for one in parameters if isinstance(one.field_info, Query)))

        async def handle_authorized(request: Request) -> Response:
            caller = request.state.token_caller = await run_in_threadpool(_authenticate, request)
            await run_in_threadpool(authorize_token, request, caller.staff, caller.token, action=action)
            _check_query(request, allowed)
            key = request.headers.get(IDEMPOTENCY_KEY)
            if request.method != "POST" or key is None:
                return await handle(request)
            return await replay_or_run(request, handle, token_id=caller.token.id, token=caller.key, key=key)

        return handle_authorized


def _check_query(request: Request, allowed: Sequence[str]) -> None:
    """Refuse query parameters that the route does not have: a typing error must not pass for a default."""
    unknown = [name for name in request.query_params if name not in allowed]
    if unknown:
        permitted = f"Allowed are {format_list(allowed)}." if allowed else "This address has none."
        hint = suggest(unknown[0], allowed)
        raise InvalidInput(f"{format_value(unknown[0])} is not a query parameter here.{hint} {permitted}")


def required_scope(route: APIRoute) -> RequireScope:
    """Return the scope dependency of a route."""
    calls = (dependency.call for dependency in route.dependant.dependencies)
    return next(call for call in calls if isinstance(call, RequireScope))


def _authenticate(request: Request) -> Caller:
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key:
        detail = "The API requires a token. Send one as Authorization: Bearer TOKEN; create it on your account page."
        raise HTTPException(HTTPStatus.UNAUTHORIZED, detail, {"www-authenticate": "Bearer"})
    site = site_of(request)
    caller = Caller(*authenticate_token(site, request, key), key)
    wait = site.rate_limiter.acquire(caller.token.id, now=site.clock())
    if wait:
        per_minute = site.rate_limiter.per_minute
        detail = f"Too many requests with this token: at most {per_minute:,} a minute. Wait a moment, then continue."
        raise HTTPException(HTTPStatus.TOO_MANY_REQUESTS, detail, {"retry-after": str(ceil(wait))})
    return caller
