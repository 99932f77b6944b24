"""Who comes to the API: programs with a token, and nothing of what they send is read before that is known."""

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Final

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from dissensus.web.api.idempotency import IDEMPOTENCY_KEY, Handler, replay_or_run
from dissensus.web.core.site import site_of
from dissensus.web.core.staff_auth import UNAUTHORIZED, Visit, bearer, with_token

if TYPE_CHECKING:
    from dissensus.store.api_tokens import Token
    from dissensus.store.staff import Staff

TOO_MANY_REQUESTS: Final = 429


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose program it is that asks.

    Parameters
    ----------
    staff, token
        Who made the token, and the token.
    key
        Its key, which is kept nowhere.
    """

    staff: "Staff"
    token: "Token"
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RequireScope:
    """Names the action of a route of the API, and lets tokens on alone that are for it, of who may do it.

    Parameters
    ----------
    action
        In the table of permissions.
    """

    action: str

    def __call__(self, request: Request) -> Visit:
        """Return who comes, and refuse who may not."""
        caller: Caller = request.state.caller
        return with_token(request, caller.staff, caller.token, action=self.action)


class TokenRoute(APIRoute):
    """A route of the API."""

    def get_route_handler(self) -> Handler:
        """Return what answers: first who comes, then what they send."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            caller = request.state.caller = await run_in_threadpool(_authenticate, request)
            key = request.headers.get(IDEMPOTENCY_KEY)
            if request.method != "POST" or key is None:
                return await handle(request)
            return await replay_or_run(request, caller, key, handle, required_scope(self))

        return answer


def required_scope(route: APIRoute) -> RequireScope:
    """Return what lets those on alone who may."""
    return next(one.call for one in route.dependant.dependencies if isinstance(one.call, RequireScope))


def _authenticate(request: Request) -> Caller:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    key = key.strip()
    if kind.lower() != "bearer" or not key:
        told = "The API is for programs with a token. Send one as Authorization: Bearer TOKEN; your account makes them."
        raise HTTPException(UNAUTHORIZED, told, {"www-authenticate": "Bearer"})
    site = site_of(request)
    caller = Caller(*bearer(site, key), key)
    wait = site.meter.wait(caller.token.id, now=site.clock())
    if wait:
        told = f"This token asks too often: at most {site.meter.a_minute:,} times a minute. Wait a moment, then go on."
        raise HTTPException(TOO_MANY_REQUESTS, told, {"retry-after": str(ceil(wait))})
    return caller
