"""Statements of heads and their keys: what is refused, and in which words."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from dissensus.campaign.audit_heads import ChainHead, parse_statements, parse_verification_key, sign_heads
from dissensus.errors import InvalidInput

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
HEAD = ChainHead(campaign="0198", events=3, head="0" * 64)
LINE = json.loads(sign_heads([HEAD], KEY, previous=None, now=datetime(2030, 1, 2, tzinfo=UTC)).to_line())


@pytest.mark.parametrize(
    "change",
    [
        {"key": 5},
        {"signature": None},
        {"at": 5},
        {"heads": [{"campaign": "0198", "events": "3", "head": "0" * 64}]},
        {"heads": [{"campaign": 198, "events": 3, "head": "0" * 64}]},
    ],
)
def test_statements_with_values_of_other_types_are_refused(change: dict[str, Any]) -> None:
    line = json.dumps({**LINE, **change}, sort_keys=True, separators=(",", ":"))
    with pytest.raises(InvalidInput, match=r"Line 1 is not a statement of heads"):
        list(parse_statements([line]))


@pytest.mark.parametrize("key", ["at", "heads", "previous", "key", "signature"])
def test_statements_without_a_key_are_refused(key: str) -> None:
    line = json.dumps({name: value for name, value in LINE.items() if name != key}, sort_keys=True)
    with pytest.raises(InvalidInput, match=r"Line 1 is not a statement of heads"):
        list(parse_statements([line]))


def test_either_key_of_the_pair_verifies() -> None:
    private = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert parse_verification_key(private) == parse_verification_key(public) == KEY.public_key()


def test_another_file_is_no_verification_key() -> None:
    other = generate_private_key(SECP256R1()).public_key()
    for pem in (b"garbage", other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)):
        with pytest.raises(InvalidInput, match=r"neither an Ed25519 public key in PEM, nor an unencrypted private one"):
            parse_verification_key(pem)
