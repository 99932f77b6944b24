"""Network backend that connects to checked addresses only, with one deadline for the whole request."""

import ssl
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any, Final

import httpcore

from dissensus.webhook_transport.target import Ip

WRITE_CHUNK_BYTES: Final = 1 << 10
"""Size of a write: the time left is computed anew for each, so that a slow receiver cannot extend the deadline."""


class PinnedBackend(httpcore.NetworkBackend):
    """Backend that connects to given addresses, whatever the host name, until a deadline of the monotonic clock."""

    def __init__(self, ips: Sequence[Ip], end: float) -> None:
        self._ips = ips
        self._end = end

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - already resolved
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - one deadline for all
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers; each has a share of the time left."""
        backend, last = httpcore.SyncBackend(), len(self._ips) - 1
        for number, ip in enumerate(self._ips):
            share = _seconds_left(self._end, httpcore.ConnectTimeout) / (last - number + 1)
            try:
                stream = backend.connect_tcp(str(ip), port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == last:
                    raise
            else:
                return _DeadlineStream(stream, self._end)
        raise httpcore.ConnectError


class _DeadlineStream(httpcore.NetworkStream):
    """Stream with one deadline for all reads and writes."""

    def __init__(self, stream: httpcore.NetworkStream, end: float) -> None:
        self._stream = stream
        self._end = end

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - one deadline for all
        """Read before the deadline."""
        return self._stream.read(max_bytes, _seconds_left(self._end, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - one deadline for all
        """Write before the deadline."""
        for start in range(0, len(buffer), WRITE_CHUNK_BYTES):
            self._stream.write(
                buffer[start : start + WRITE_CHUNK_BYTES], _seconds_left(self._end, httpcore.WriteTimeout)
            )

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - one deadline for all
    ) -> httpcore.NetworkStream:
        """Start TLS before the deadline."""
        seconds = _seconds_left(self._end, httpcore.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._end)

    def get_extra_info(self, info: str) -> Any:
        """Return extra information about the stream."""
        return self._stream.get_extra_info(info)


def _seconds_left(end: float, error: type[httpcore.TimeoutException]) -> float:
    seconds = end - monotonic()
    if seconds <= 0:
        raise error
    return seconds
