"""Relying party of passkeys: the host name and origin of the site, from its public address."""

from contextlib import suppress
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from dissensus.errors import InvalidInput
from dissensus.web.core.site import Site
from dissensus.workflows.platform.passkeys import RelyingParty

DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def find_relying_party(site: Site, request: Request) -> RelyingParty | None:
    """Return the relying party for a request, or None where browsers offer no passkeys."""
    return parse_relying_party(site.address_for(request))


def require_relying_party(site: Site, request: Request) -> RelyingParty:
    """Return the relying party for a request; raise `InvalidInput` where browsers offer no passkeys."""
    party = find_relying_party(site, request)
    if party is None:
        raise InvalidInput("This address has no passkeys: they need HTTPS and a host name, or localhost.")
    return party


def parse_relying_party(address: str) -> RelyingParty | None:
    """Return the relying party of an address; None without HTTPS and a host name, or localhost.

    Examples
    --------
    >>> parse_relying_party("https://Rate.example.org:443/")
    RelyingParty(id='rate.example.org', origin='https://rate.example.org')
    >>> parse_relying_party("http://localhost:8000").origin
    'http://localhost:8000'
    >>> [parse_relying_party(f"{scheme}://{host}") for scheme, host in (("http", "a.org"), ("https", "192.0.2.1"))]
    [None, None]
    >>> parse_relying_party("http://localhost:99999") is None
    True
    """
    try:
        parts = urlsplit(address)
        address_port = parts.port
    except ValueError:
        # Without a public address in the settings, this one comes from the header Host, which can hold any port.
        return None
    host = _ascii_host(parts.hostname or "")
    if not host or (parts.scheme != "https" and host != "localhost"):
        return None
    port = "" if address_port in (None, DEFAULT_PORTS.get(parts.scheme)) else f":{address_port}"
    return RelyingParty(host, f"{parts.scheme}://{host}{port}")


def _ascii_host(host: str) -> str:
    """Return a host name in its ASCII form; empty for an IP address, for which browsers offer no passkeys."""
    with suppress(ValueError):
        ip_address(host)
        return ""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
