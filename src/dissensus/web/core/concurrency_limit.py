"""Work that takes a while: a few at a time, so that whoever rates always finds a thread that is free."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import Depends, Request

from dissensus.errors import Unavailable
from dissensus.web.core.site import site_of

PATIENCE_S: Final = 10.0
"""For a turn; who waits holds no thread."""


async def in_turn(request: Request) -> AsyncIterator[None]:
    """Wait for a turn, and keep it until the answer is there."""
    turns = site_of(request).turns
    try:
        async with asyncio.timeout(PATIENCE_S):
            await turns.acquire()
    except TimeoutError:
        raise Unavailable(
            "Others bring items, draw samples or take ratings out at the moment, and a few can at a time. Nothing was "
            "done. Try again in a minute."
        ) from None
    try:
        yield
    finally:
        turns.release()


InTurn = Annotated[None, Depends(in_turn)]
"""Stands last in a route, so that nobody has a turn who may not do it, or who is still sending."""
