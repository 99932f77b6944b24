"""Webhook addresses: parsing, and the check that they are public."""

import re
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

Network: TypeAlias = IPv4Network | IPv6Network
Ip: TypeAlias = IPv4Address | IPv6Address

MAX_ADDRESS_LENGTH: Final = 2_000
DEFAULT_PORTS: Final = {"https": 443, "http": 80}
GLOBAL_UNICAST: Final = ip_network("2000::/3")
NOT_PUBLIC: Final = tuple(map(ip_network, ("168.63.129.16/32", "192.0.0.0/24", "3fff::/20")))
"""Non-public networks that `ipaddress` reports as global: metadata service of a cloud, protocols, documentation."""
ADDRESS_EXAMPLE: Final = "https://example.org/dissensus"


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Parts of a webhook address."""

    scheme: Literal["https", "http"]
    host: str
    port: int
    path: str  # With the query
    netloc: str  # Host and port as written


def parse_target(address: str) -> WebhookTarget:
    """Parse a webhook address, or raise `InvalidInput`.

    Examples
    --------
    >>> parse_target("https://example.org:8443/hook?of=pilot").path
    '/hook?of=pilot'
    >>> parse_target("ftp://example.org")
    Traceback (most recent call last):
        ...
    dissensus.errors.InvalidInput: 'ftp://example.org' is not a webhook address. Give one such as https://example.org/dissensus.
    """
    port, parts = None, urlsplit("")
    with suppress(ValueError):
        port, parts = urlsplit(address).port, urlsplit(address)
    plain = len(address) <= MAX_ADDRESS_LENGTH and re.fullmatch(r"[!-~]+", address) and not parts.fragment
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or not plain or port == 0 or "\\" in address:
        raise InvalidInput(f"{format_value(address)} is not a webhook address. Give one such as {ADDRESS_EXAMPLE}.")
    if "@" in parts.netloc:
        raise InvalidInput(
            "A webhook address must not contain a user name or a password: the signature identifies the sender."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    scheme: Literal["https", "http"] = "https" if parts.scheme == "https" else "http"
    return WebhookTarget(scheme, parts.hostname, port or DEFAULT_PORTS[scheme], path, parts.netloc)


def is_public(ip: Ip) -> bool:
    """Return whether an address is public; IPv6 addresses with an embedded IPv4 address are not.

    Examples
    --------
    >>> from ipaddress import ip_address
    >>> [is_public(ip_address(ip)) for ip in ("93.184.215.14", "10.0.0.1", "169.254.169.254", "2002:7f00:1::")]
    [True, False, False, False]
    """
    if any(ip in network for network in NOT_PUBLIC):
        return False
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast and not ip.is_reserved
    # Other addresses are local, or embed an IPv4 address, such as those of NAT64.
    return ip in GLOBAL_UNICAST and ip.is_global and ip.sixtofour is None and ip.teredo is None


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse networks separated by commas.

    Examples
    --------
    >>> parse_networks("10.0.0.0/8, fd00::/8")
    (IPv4Network('10.0.0.0/8'), IPv6Network('fd00::/8'))
    """
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InvalidInput(f"{error}. Give networks such as 10.0.0.0/8, separated by commas.") from None
