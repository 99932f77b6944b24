"""Concurrency limit of slow requests, so that raters always find a free thread."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import Depends, Request

from dissensus.errors import Unavailable
from dissensus.web.core.site import site_of

SLOT_TIMEOUT_S: Final = 10.0
"""Timeout for a slot; a waiting request holds no thread."""


async def acquire_slot(request: Request) -> AsyncIterator[None]:
    """Acquire a slot and hold it until the response is sent; raise `Unavailable` after the timeout."""
    slots = site_of(request).slow_request_slots
    try:
        async with asyncio.timeout(SLOT_TIMEOUT_S):
            await slots.acquire()
    except TimeoutError:
        raise Unavailable(
            "The site is busy with other uploads, samples or exports, and handles only a few at a time. Nothing was "
            "changed. Try again in a minute."
        ) from None
    try:
        yield
    finally:
        slots.release()


SlowRequestSlot = Annotated[None, Depends(acquire_slot)]
"""Declare it last, so that a slot is taken only after authorisation and upload."""
