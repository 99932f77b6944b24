"""Webhook signatures by the Standard Webhooks specification.

The signature covers the id, time and body of a message: https://www.standardwebhooks.com. The secret of a webhook is
derived from that of the site by HKDF with SHA-256 (RFC 5869), so that it need not be stored. Receivers use this module
without the libraries of the site, `cryptography` among them.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from dissensus.errors import InvalidInput, NotAllowed

ID_HEADER: Final = "webhook-id"
TIMESTAMP_HEADER: Final = "webhook-timestamp"
SIGNATURE_HEADER: Final = "webhook-signature"

PREFIX: Final = "whsec_"
VERSION: Final = "v1"
MIN_SECRET_BYTES: Final = 24
"""Minimum length required by Standard Webhooks."""
TOLERANCE: Final = timedelta(minutes=5)
"""Maximum difference between the time of a signature and now, against replay."""


def derive_secret(site_secret: str, webhook_id: str) -> str:
    """Derive the secret of a webhook from that of the site.

    Examples
    --------
    >>> derive_secret("known to the site alone", "0198")
    'whsec_h+QNdkkUKv8ThpUMgbjEBJH8reCl6JWC2o0xbfvVO7U='
    """
    extracted = hmac.digest(b"dissensus-webhook", site_secret.encode(), hashlib.sha256)
    expanded = hmac.digest(extracted, webhook_id.encode() + b"\x01", hashlib.sha256)
    return PREFIX + base64.b64encode(expanded).decode()


def sign_webhook(secret: str, message_id: str, body: bytes, *, now: datetime) -> dict[str, str]:
    """Return the headers that authenticate a message.

    Examples
    --------
    >>> sign_webhook("whsec_" + "A" * 44, "one", b"{}", now=datetime(2030, 1, 2, tzinfo=UTC))["webhook-timestamp"]
    '1893542400'
    """
    timestamp = str(int(now.timestamp()))
    signature = _signature(parse_secret(secret), message_id, timestamp, body)
    return {ID_HEADER: message_id, TIMESTAMP_HEADER: timestamp, SIGNATURE_HEADER: f"{VERSION},{signature}"}


def verify_signature(
    secret: str, headers: Mapping[str, str], body: bytes, *, now: datetime, tolerance: timedelta = TOLERANCE
) -> str:
    """Verify the signature of a message and its time, and return its id."""
    key = parse_secret(secret)
    headers_by_name = {name.lower(): value for name, value in headers.items()}
    message_id, timestamp = headers_by_name.get(ID_HEADER, ""), headers_by_name.get(TIMESTAMP_HEADER, "")
    expected = _signature(key, message_id, timestamp, body).encode()
    received = [value.partition(",") for value in headers_by_name.get(SIGNATURE_HEADER, "").split()]
    # All signatures are compared, so that the time taken reveals nothing.
    matches = [hmac.compare_digest(expected, _encode(value)) for version, _, value in received if version == VERSION]
    if not any(matches) or not re.fullmatch("[0-9]{1,11}", timestamp):
        raise NotAllowed("The request is not signed with the secret of this webhook. Do nothing with it.")
    signed_at = datetime.fromtimestamp(int(timestamp), UTC)
    if abs(now - signed_at) > tolerance:
        raise NotAllowed(
            f"The request was signed at {signed_at:%Y-%m-%d %H:%M:%S} UTC, too far from now, which is "
            f"{now.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC. Do nothing with it. Check the clock of this machine."
        )
    return message_id


def parse_secret(secret: str) -> bytes:
    """Decode a secret; the error for an invalid one does not show it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        key = b""
    if len(key) < MIN_SECRET_BYTES:
        raise InvalidInput(f"This is not the secret of a webhook. It begins with {PREFIX}; copy all of it again.")
    return key


def _signature(key: bytes, message_id: str, timestamp: str, body: bytes) -> str:
    content = _encode(f"{message_id}.{timestamp}.") + body
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
