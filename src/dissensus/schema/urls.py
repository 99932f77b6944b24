"""Validation of service URLs: HTTPS is required, except on loopback or where a setting allows HTTP."""

import re
from typing import Final
from urllib.parse import urlsplit

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def check_secure_url(address: str, like: str = "https://rate.example/c/pilot", *, plain: bool = False) -> None:
    """Raise unless a URL is HTTPS, or HTTP to loopback or with `plain`."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 - the property raises for an invalid port
    except ValueError:
        parts = urlsplit("")
    safe = parts.scheme == "https" or (parts.scheme == "http" and (plain or parts.hostname in LOOPBACK_HOSTS))
    if not safe or not parts.hostname or parts.username is not None or not re.fullmatch(r"[!-~]+", address):
        raise InvalidInput(f"{format_value(address)} is not an https address. Give one such as {like}.")
