"""Timeouts for connections that send no request, and for those that do not read the response."""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIMEOUT_S: Final = 30
"""Time for the request line and headers, from the start of the connection or the first byte of a later request."""

READ_TIMEOUT_S: Final = 60
"""Time for a client to read from a response whose buffer is full."""


class TimedHttpProtocol(H11Protocol):
    """HTTP/1.1 protocol that ends connections which send no request, or do not read the response.

    Uvicorn only limits the time between two requests. Silent connections would stay until all file descriptors are in
    use, and a response that is not read would keep its slot and its database transaction.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        for timer in (self._head_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request head."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            if self._head_timer is not None:
                self._head_timer.cancel()
            self._head_timer = None
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.abort)

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(READ_TIMEOUT_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue after the client has read."""
        super().resume_writing()
        if self._read_timer is not None:
            self._read_timer.cancel()
