"""Concurrency limit of slow requests: few at a time, and one of each person, so that raters find a free thread."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from dissensus.errors import Unavailable

MAX_SLOW_REQUESTS: Final = 2
"""Slow requests that one worker process handles at once."""
SLOT_TIMEOUT_S: Final = 10.0
"""Time that a request waits for a slot; it holds no thread meanwhile."""


class ConcurrencyLimit:
    """Slots for the slow requests of one worker; a person holds at most one at a time."""

    def __init__(self, n_slots: int = MAX_SLOW_REQUESTS) -> None:
        self._slots = asyncio.Semaphore(n_slots)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def slot(self, person: str) -> AsyncIterator[None]:
        """Hold a slot for a person; raise `Unavailable` if none is free in time."""
        person_lock = self._locks.setdefault(person, asyncio.Lock())
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(SLOT_TIMEOUT_S):
                    await stack.enter_async_context(person_lock)
                    await stack.enter_async_context(self._slots)
            except TimeoutError:
                raise Unavailable(
                    "The site is busy with other uploads, samples or exports, and handles only a few at a time, one of "
                    "each person. Nothing was changed. Try again in a minute."
                ) from None
            yield
