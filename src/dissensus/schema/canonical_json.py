"""Canonical JSON, and its digest: equal values have equal bytes."""

import hashlib
import json


def encode_json(value: object) -> bytes:
    r"""Return a value as JSON with sorted keys, without spaces, in ASCII.

    Examples
    --------
    >>> encode_json({"b": "é", "a": [1, None]})
    b'{"a":[1,null],"b":"\\u00e9"}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def digest_json(value: object) -> str:
    """Return the hexadecimal SHA-256 of a value as canonical JSON.

    Examples
    --------
    >>> digest_json({"a": 1, "b": 2}) == digest_json({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(encode_json(value)).hexdigest()
