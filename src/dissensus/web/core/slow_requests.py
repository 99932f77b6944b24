"""Concurrency limit of slow requests: dependency of their routes."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request

from dissensus.web.core.site import site_of
from dissensus.web.core.staff_auth import find_caller


async def acquire_slot(request: Request) -> AsyncIterator[None]:
    """Hold a slot until the route returns; the response is sent without it."""
    async with site_of(request).slow_requests.slot(find_caller(request).staff.id):
        yield


SlowRequestSlot = Annotated[None, Depends(acquire_slot, scope="function")]
"""Declare it last, so that a slot is taken only after authorisation and upload."""
