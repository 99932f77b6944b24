"""UUIDv7 ids, and random keys with their hashes."""

import hashlib
import secrets
from datetime import datetime
from uuid import UUID

KEY_BYTES = 24


def new_id(now: datetime) -> str:
    """Return a UUID of version 7 (RFC 9562, section 5.7): milliseconds, then random bits."""
    milliseconds = int(now.timestamp() * 1000)
    value = (milliseconds << 80) | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    return str(UUID(int=value & ~(0x3 << 62) | (0x2 << 62)))


def new_key() -> str:
    """Return a random key of 192 bits for a link or a cookie."""
    return secrets.token_urlsafe(KEY_BYTES)


def hash_key(key: str) -> str:
    """Return the stored hash of a key; a key of 192 bits needs no salt."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
