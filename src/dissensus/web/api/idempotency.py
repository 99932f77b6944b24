"""The same request twice, by a key that the program chose, makes one thing and has one answer."""

import hashlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, Final
from uuid import UUID, uuid4, uuid5

from fastapi import Depends, HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool

from dissensus.web.core.site import site_of
from dissensus.workflows.platform import idempotency
from dissensus.workflows.platform.idempotency import StoredResponse, RequestInProgress

if TYPE_CHECKING:
    from dissensus.web.api.auth import Caller

IDEMPOTENCY_KEY: Final = "idempotency-key"
REPLAYED_HEADERS: Final = {"idempotency-replayed": "true"}
CONFLICT: Final = 409
RESOURCE_NAMESPACE: Final = UUID("b5a0c1de-5f5d-4a5e-9a7e-0f6a1d2c7e43")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


async def replay_or_run(
    request: Request, caller: "Caller", key: str, handle: Handler, door: Callable[[Request], object]
) -> Response:
    """Return what a handler answers to the first of the same requests, to all that the door lets on."""
    platform, now = site_of(request).platform, site_of(request).clock()
    asked = idempotency.IdempotentRequest(
        token_id=caller.token.id, token=caller.key, key=key, digest=_request_digest(request, await request.body())
    )
    try:
        known = await run_in_threadpool(idempotency.begin_request, platform, asked, now=now)
    except RequestInProgress as error:
        raise HTTPException(CONFLICT, str(error), {"retry-after": "1"}) from None
    if known is not None:
        # It may have links, and who asks again may not be who they were.
        await run_in_threadpool(door, request)
        return Response(known.body, known.status, REPLAYED_HEADERS, "application/json")
    try:
        answer = await handle(request)
    except BaseException:
        await run_in_threadpool(idempotency.abandon_request, platform, asked)
        raise
    await run_in_threadpool(idempotency.store_response, platform, asked, StoredResponse(answer.status_code, bytes(answer.body)))
    return answer


def new_resource_id(request: Request) -> str:
    """Return the id of what a request makes: by its key the same, also where its answer was lost once it was made."""
    caller, key = request.state.caller, request.headers.get(IDEMPOTENCY_KEY)
    return str(uuid4() if key is None else uuid5(RESOURCE_NAMESPACE, f"{caller.token.id}\n{request.scope['path']}\n{key}"))


NewResourceId = Annotated[str, Depends(new_resource_id)]


def _request_digest(request: Request, body: bytes) -> str:
    said = f"{request.method} {request.scope['path']}?{request.url.query}\n".encode("utf-8", "surrogatepass")
    return hashlib.sha256(said + body).hexdigest()
