"""Webhook sender: posts one body, and returns the result."""

import socket
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address
from time import monotonic
from typing import Final, TypeAlias

import httpcore
import httpx

from dissensus.errors import InvalidInput
from dissensus.http_client import parse_retry_after
from dissensus.schema.hints import format_value
from dissensus.webhook_transport.connection import PinnedBackend
from dissensus.webhook_transport.target import Ip, Network, WebhookTarget, is_public, parse_target

HostResolver: TypeAlias = Callable[[str, int], Sequence[str]]
"""Returns all addresses of a host, for a port."""

TIMEOUT_S: Final = 10.0
MAX_RESPONSE_BYTES: Final = 1 << 16
"""Bytes of an answer, so that the other side can finish its sentence."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """Result of one delivery attempt."""

    status: int | None  # Of the answer; None where none came
    reason: str = ""  # Why it was not taken, in a few words of ours; empty where it was
    wait_s: float = 0.0  # Seconds that the other side asks for

    @property
    def taken(self) -> bool:
        """True if the receiver accepted the message."""
        return not self.reason


def resolve_host(host: str, port: int) -> list[str]:
    """Return all addresses of a host, as this machine finds them."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@cache
def _default_tls_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSender:
    """Sends messages."""

    networks: tuple[Network, ...] = ()  # Where they may go besides the public internet, by plain http too
    resolve: HostResolver = resolve_host  # Finds the addresses of a host
    tls: Callable[[], ssl.SSLContext] = _default_tls_context  # Returns what certificates are checked by
    limit_s: float = TIMEOUT_S  # Seconds in all, once the addresses are found

    def check(self, address: str) -> None:
        """Refuse an address to which nothing is sent."""
        self._found(parse_target(address))

    def send(self, address: str, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
        """Post a body, and return what came of it; redirects are not followed."""
        try:
            target = parse_target(address)
            ips = self._found(target)
        except InvalidInput:
            return DeliveryResult(None, "it has no address that may be asked")
        try:
            return self._post(target, PinnedBackend(ips, monotonic() + self.limit_s), headers, body)
        except httpcore.TimeoutException:
            return DeliveryResult(None, f"no answer within {self.limit_s:g} seconds")
        except httpcore.ConnectError as error:
            # The pool hides the cause, which stays as the context.
            untrusted = isinstance(error.__context__, ssl.SSLCertVerificationError)
            return DeliveryResult(None, "its certificate is not trusted" if untrusted else "no connection")
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError, ValueError):
            return DeliveryResult(None, "the connection broke, or the answer is none")

    def _found(self, target: WebhookTarget) -> tuple[Ip, ...]:
        """Return the addresses of a host, all of which may be asked."""
        ips: tuple[Ip, ...] = ()
        # With http there is nothing to look for outside of those networks.
        if target.scheme == "https" or self.networks:
            with suppress(OSError, ValueError):
                ips = tuple(dict.fromkeys(ip_address(one) for one in self.resolve(target.host, target.port)))
        if ips and all(self._may(ip, target.scheme) for ip in ips):
            return ips
        # One sentence for both, so that nobody learns which names there are inside.
        where = "in a network that webhook_networks names" if target.scheme == "http" else "on the public internet"
        other = " Give an address with https." if target.scheme == "http" else ""
        raise InvalidInput(f"{format_value(target.host)} is nowhere {where}.{other}")

    def _may(self, ip: Ip, scheme: str) -> bool:
        return any(ip in network for network in self.networks) or (scheme == "https" and is_public(ip))

    def _post(
        self, target: WebhookTarget, backend: PinnedBackend, headers: Mapping[str, str], body: bytes
    ) -> DeliveryResult:
        url = httpcore.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
        )
        sent = {"Host": target.netloc, "User-Agent": "dissensus", "Connection": "close", **headers}
        with (
            httpcore.ConnectionPool(ssl_context=self.tls(), network_backend=backend) as pool,
            pool.stream("POST", url, headers=list(sent.items()), content=body) as answer,
        ):
            with suppress(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError):
                _drain_response(answer.iter_stream())
            return _to_result(answer)


def _drain_response(pieces: Iterable[bytes]) -> None:
    n = 0
    for piece in pieces:
        n += len(piece)
        if n >= MAX_RESPONSE_BYTES:
            return


def _to_result(answer: httpcore.Response) -> DeliveryResult:
    status = answer.status
    if 200 <= status < 300:
        return DeliveryResult(status)
    more = ", and redirects are not followed" if 300 <= status < 400 else ""
    return DeliveryResult(status, f"it answered HTTP {status}{more}", parse_retry_after(httpx.Headers(answer.headers)))
