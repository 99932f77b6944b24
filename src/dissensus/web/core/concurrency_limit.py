"""Slots for slow requests, so that raters always find a free thread, and nobody takes every turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from dissensus.errors import Unavailable

MAX_SLOW_REQUESTS: Final = 2
"""Slow requests that one worker handles at the same time."""
SLOT_TIMEOUT_S: Final = 10.0
"""Timeout for a slot; a waiting request holds no thread."""


class ConcurrencyLimit:
    """Slots for the slow requests of one worker; each person has one of them at a time."""

    def __init__(self, n_slots: int = MAX_SLOW_REQUESTS) -> None:
        self._slots = asyncio.Semaphore(n_slots)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, person: str) -> AsyncIterator[None]:
        """Acquire a slot; raise `Unavailable` after the timeout."""
        turn = self._turns.setdefault(person, asyncio.Lock())
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(SLOT_TIMEOUT_S):
                    await stack.enter_async_context(turn)
                    await stack.enter_async_context(self._slots)
            except TimeoutError:
                raise Unavailable(
                    "The site is busy with other uploads, samples or exports, and handles only a few at a time, one of "
                    "each person. Nothing was changed. Try again in a minute."
                ) from None
            yield
