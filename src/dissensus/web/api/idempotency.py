"""Idempotency keys: a repeated POST gets the response of the first one and creates nothing more."""

import hashlib
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID, uuid4, uuid5

from fastapi import Depends, HTTPException, Request, Response
from starlette.concurrency import run_in_threadpool

from dissensus.schema.advice import site_message
from dissensus.web.core.site import site_of
from dissensus.workflows.platform import idempotency
from dissensus.workflows.platform.idempotency import RequestInProgress, StoredResponse

IDEMPOTENCY_KEY: Final = "idempotency-key"
REPLAYED_HEADERS: Final = {"idempotency-replayed": "true"}
RESOURCE_NAMESPACE: Final = UUID("b5a0c1de-5f5d-4a5e-9a7e-0f6a1d2c7e43")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


async def replay_or_run(request: Request, handle: Handler, *, token_id: str, token: str, key: str) -> Response:
    """Run the handler for a new key, and replay its stored response to repetitions; the caller is authorised."""
    platform, now = site_of(request).platform, site_of(request).clock()
    digest = await run_in_threadpool(_request_digest, request, await request.body())
    keyed_request = idempotency.IdempotentRequest(token_id=token_id, token=token, key=key, digest=digest)
    try:
        stored = await run_in_threadpool(idempotency.begin_request, platform, keyed_request, now=now)
    except RequestInProgress as error:
        raise HTTPException(HTTPStatus.CONFLICT, site_message(error), {"retry-after": "1"}) from None
    if stored is not None:
        return Response(stored.body, stored.status, REPLAYED_HEADERS, "application/json")
    try:
        response = await handle(request)
    except BaseException:
        await run_in_threadpool(idempotency.abandon_request, platform, keyed_request)
        raise
    await run_in_threadpool(
        idempotency.store_response, platform, keyed_request, StoredResponse(response.status_code, bytes(response.body))
    )
    return response


def new_resource_id(request: Request) -> str:
    """Return the id of a new resource, derived from the idempotency key so that a repetition has the same id."""
    caller, key = request.state.token_caller, request.headers.get(IDEMPOTENCY_KEY)
    return str(
        uuid4() if key is None else uuid5(RESOURCE_NAMESPACE, f"{caller.token.id}\n{request.scope['path']}\n{key}")
    )


NewResourceId = Annotated[str, Depends(new_resource_id)]


def _request_digest(request: Request, body: bytes) -> str:
    request_line = f"{request.method} {request.scope['path']}?{request.url.query}\n".encode("utf-8", "surrogatepass")
    return hashlib.sha256(request_line + body).hexdigest()
