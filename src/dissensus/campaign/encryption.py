"""Bytes that nobody reads who has not the keys, such as what is kept or carried by others for a while."""

import hashlib


def covered(body: bytes, *keys: str) -> bytes:
    """Return bytes covered, or covered ones uncovered: each by one of SHAKE-256 (FIPS 202) over the keys.

    Notes
    -----
    It hides, and does not sign: who changes a covered byte changes what it says.

    Examples
    --------
    >>> covered(covered(b"a link", "secret", "salt"), "secret", "salt")
    b'a link'
    """
    stream = hashlib.shake_256("\0".join(keys).encode()).digest(len(body))
    return (int.from_bytes(body) ^ int.from_bytes(stream)).to_bytes(len(body))
