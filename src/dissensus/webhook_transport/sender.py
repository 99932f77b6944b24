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
"""Function from host and port to all addresses of the host."""

TIMEOUT_S: Final = 10.0
MAX_RESPONSE_BYTES: Final = 1 << 16
"""Maximum bytes read of an answer; they are read so that receivers do not see a broken connection."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """Result of one delivery attempt."""

    status: int | None  # HTTP status; None without an answer
    reason: str = ""  # Reason of the failure; empty for a success
    retry_after_s: float = 0.0  # Delay before the next attempt that the receiver asks for

    @property
    def accepted(self) -> bool:
        """True if the receiver accepted the message."""
        return not self.reason


def resolve_host(host: str, port: int) -> list[str]:
    """Return all addresses of a host, as resolved by this machine."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@cache
def _default_tls_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSender:
    """Sender of webhook requests to public addresses and allowed networks."""

    networks: tuple[Network, ...] = ()  # Allowed networks besides the public internet, also by plain http
    resolve: HostResolver = resolve_host
    tls: Callable[[], ssl.SSLContext] = _default_tls_context
    limit_s: float = TIMEOUT_S  # Total time of a request after resolution, in seconds

    def check(self, address: str) -> None:
        """Raise unless requests to an address are allowed."""
        self._resolve_checked(parse_target(address))

    def send(self, address: str, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
        """Post a body, and return the result; redirects are not followed."""
        try:
            target = parse_target(address)
            ips = self._resolve_checked(target)
        except InvalidInput:
            return DeliveryResult(None, "it has no allowed address")
        try:
            return self._post(target, PinnedBackend(ips, monotonic() + self.limit_s), headers, body)
        except httpcore.TimeoutException:
            return DeliveryResult(None, f"no answer within {self.limit_s:g} seconds")
        except httpcore.ConnectError as error:
            # The pool hides the cause, which stays as the context.
            untrusted = isinstance(error.__context__, ssl.SSLCertVerificationError)
            return DeliveryResult(None, "its certificate is not trusted" if untrusted else "no connection")
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol, OSError, ValueError):
            return DeliveryResult(None, "the connection broke, or the answer is not HTTP")

    def _resolve_checked(self, target: WebhookTarget) -> tuple[Ip, ...]:
        """Return the addresses of a host, or raise unless all of them are allowed."""
        ips: tuple[Ip, ...] = ()
        # Without allowed networks plain http is refused, so the name is not resolved.
        if target.scheme == "https" or self.networks:
            with suppress(OSError, ValueError):
                ips = tuple(dict.fromkeys(ip_address(address) for address in self.resolve(target.host, target.port)))
        if ips and all(self._is_allowed(ip, target.scheme) for ip in ips):
            return ips
        # One message for hosts that do not exist and those not allowed, so that it does not reveal internal names.
        allowed = "in a network that webhook_networks names" if target.scheme == "http" else "on the public internet"
        remedy = " Give an address with https." if target.scheme == "http" else ""
        raise InvalidInput(f"{format_value(target.host)} is not {allowed}.{remedy}")

    def _is_allowed(self, ip: Ip, scheme: str) -> bool:
        return any(ip in network for network in self.networks) or (scheme == "https" and is_public(ip))

    def _post(
        self, target: WebhookTarget, backend: PinnedBackend, headers: Mapping[str, str], body: bytes
    ) -> DeliveryResult:
        url = httpcore.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
        )
        all_headers = {"Host": target.netloc, "User-Agent": "dissensus", "Connection": "close", **headers}
        with (
            httpcore.ConnectionPool(ssl_context=self.tls(), network_backend=backend) as pool,
            pool.stream("POST", url, headers=list(all_headers.items()), content=body) as answer,
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
