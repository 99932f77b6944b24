"""Webhook signatures by the Standard Webhooks specification.

A message is signed over its id, the time at which it is sent and its body, by a secret of its webhook:
https://www.standardwebhooks.com. The secret is derived from that of the site by HKDF with SHA-256 (RFC 5869), so that
it is kept nowhere.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from dissensus.errors import InvalidInput, NotAllowed

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"

PREFIX: Final = "whsec_"
VERSION: Final = "v1"
MIN_SECRET_BYTES: Final = 24
"""Bytes of a secret, by Standard Webhooks."""
TOLERANCE: Final = timedelta(minutes=5)
"""Largest difference of a message's time from now, against replay."""


def derive_secret(site_secret: str, webhook_id: str) -> str:
    """Return the secret of a webhook: 32 bytes that nobody can tell who has not that of the site.

    Examples
    --------
    >>> derive_secret("known to the site alone", "0198")
    'whsec_h+QNdkkUKv8ThpUMgbjEBJH8reCl6JWC2o0xbfvVO7U='
    """
    extracted = hmac.digest(b"dissensus-webhook", site_secret.encode(), hashlib.sha256)
    expanded = hmac.digest(extracted, webhook_id.encode() + b"\x01", hashlib.sha256)
    return PREFIX + base64.b64encode(expanded).decode()


def sign_webhook(secret: str, message_id: str, body: bytes, *, now: datetime) -> dict[str, str]:
    """Return the headers by which a receiver knows who sent a message.

    Examples
    --------
    >>> sign_webhook("whsec_" + "A" * 44, "one", b"{}", now=datetime(2030, 1, 2, tzinfo=UTC))["webhook-timestamp"]
    '1893542400'
    """
    timestamp = str(int(now.timestamp()))
    signature = _signature(parse_secret(secret), message_id, timestamp, body)
    return {ID: message_id, TIMESTAMP: timestamp, SIGNATURE: f"{VERSION},{signature}"}


def verify_signature(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: datetime, tolerance: timedelta = TOLERANCE
) -> str:
    """Return the id of a message that was signed by a secret, at a time near now."""
    key = parse_secret(secret)
    small = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = small.get(ID, ""), small.get(TIMESTAMP, "")
    expected = _signature(key, message_id, timestamp, body).encode()
    values = [one.partition(",") for one in small.get(SIGNATURE, "").split()]
    # Each is compared, so that the time does not tell which one is near.
    good = [hmac.compare_digest(expected, _encode(text)) for version, _, text in values if version == VERSION]
    if not any(good) or not re.fullmatch("[0-9]{1,11}", timestamp):
        raise NotAllowed("The request is not signed with the secret of this webhook. Do nothing with it.")
    at = datetime.fromtimestamp(int(timestamp), UTC)
    if abs(now - at) > tolerance:
        raise NotAllowed(
            f"The request was signed at {at:%Y-%m-%d %H:%M:%S} UTC, too far from now, which is "
            f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC. Do nothing with it. Is the clock of this machine right?"
        )
    return message_id


def parse_secret(secret: str) -> bytes:
    """Return the bytes of a secret, and refuse what is none without showing it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (ValueError, binascii.Error):
        key = b""
    if len(key) < MIN_SECRET_BYTES:
        raise InvalidInput(f"This is no secret of a webhook. It begins with {PREFIX}; copy it again, whole.")
    return key


def _signature(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    content = _encode(f"{message_id}.{timestamp}.") + body
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
