"""Signed statements of the heads of audit logs, one JSON line each, to be kept outside the site.

A statement names the last chain digest of each campaign at a time. It is signed with Ed25519 (RFC 8032) and contains
the SHA-256 of the line before it, so that the lines of a file form a chain too. Whoever keeps a statement can verify
later that nothing before it was changed, even by somebody who rebuilt a whole log.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from dissensus.errors import InvalidInput
from dissensus.schema.canonical_json import encode_json

TYPE: Final = "dissensus.heads.1"
FIRST_PREVIOUS: Final = "0" * 64
"""Stands for the digest of the line before the first one."""

_DIGEST: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """The head of the audit log of a campaign."""

    campaign: str  # id
    events: int  # number of events
    head: str  # chain digest of the last event, in hexadecimal


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadStatement:
    """A signed statement; digests, key and signature are hexadecimal."""

    at: str  # UTC, ISO 8601
    heads: tuple[ChainHead, ...]
    previous: str  # SHA-256 of the line before
    key: str  # public key
    signature: str

    def to_line(self) -> str:
        """Return the statement as a line of a file, without a line feed."""
        return encode_json({**_to_mapping(self), "signature": self.signature}).decode("ascii")

    @property
    def digest(self) -> str:
        """SHA-256 of the line."""
        return hashlib.sha256(self.to_line().encode("ascii")).hexdigest()


def sign_heads(
    heads: Iterable[ChainHead], key: Ed25519PrivateKey, *, previous: HeadStatement | None, now: datetime
) -> HeadStatement:
    """Return a signed statement that follows the `previous` one; None for the first."""
    statement = HeadStatement(
        at=now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        heads=tuple(heads),
        previous=FIRST_PREVIOUS if previous is None else previous.digest,
        key=key.public_key().public_bytes_raw().hex(),
        signature="",
    )
    signature = key.sign(encode_json(_to_mapping(statement))).hex()
    return replace(statement, signature=signature)


def parse_statements(lines: Iterable[str], key: Ed25519PublicKey | None = None) -> Iterator[HeadStatement]:
    """Yield verified statements in their order; `key` is the only accepted key, else each line states its own."""
    previous = FIRST_PREVIOUS
    for number, line in enumerate(lines, start=1):
        statement = _parse_line(line, number)
        if statement.previous != previous:
            raise InvalidInput(
                f"Line {number:,} does not follow the line before it: lines were changed, removed or reordered. "
                "Give the whole file as it was written."
            )
        _verify_signature(statement, number, key)
        yield statement
        previous = statement.digest


def _parse_line(line: str, number: int) -> HeadStatement:
    try:
        values = json.loads(line)
        heads = tuple(ChainHead(**head) for head in values["heads"])
        statement = HeadStatement(
            at=values["at"],
            heads=heads,
            previous=values["previous"],
            key=values["key"],
            signature=values["signature"],
        )
        texts = (statement.at, statement.key, statement.signature, *(head.campaign for head in heads))
        valid = all(isinstance(text, str) for text in texts) and statement.to_line() == line.strip()
        valid = valid and all(type(head.events) is int and _DIGEST.fullmatch(head.head) for head in heads)
    except (ValueError, KeyError, TypeError, RecursionError):
        valid = False
    if not valid:
        raise InvalidInput(f"Line {number:,} is not a statement of heads that `dissensus audit --publish` wrote.")
    return statement


def _verify_signature(statement: HeadStatement, number: int, key: Ed25519PublicKey | None) -> None:
    try:
        public_key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(statement.key)) if key is None else key
        content = encode_json(_to_mapping(statement))
        public_key.verify(bytes.fromhex(statement.signature), content)
    except (InvalidSignature, ValueError):
        expected = "the key that it states" if key is None else "the given key"
        raise InvalidInput(f"Line {number:,} is not signed with {expected}: it was changed, or forged.") from None


def derive_signing_key(secret: str) -> Ed25519PrivateKey:
    """Derive the signing key from the secret key of the site by HKDF with SHA-256 (RFC 5869)."""
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"dissensus-heads").derive(secret.encode())
    return Ed25519PrivateKey.from_private_bytes(derived)


def parse_signing_key(pem: bytes) -> Ed25519PrivateKey:
    """Return the Ed25519 key of a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it."""
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(
            "This is not an unencrypted Ed25519 private key in PEM. Create one: openssl genpkey -algorithm ed25519"
        )
    return key


def parse_verification_key(pem: bytes) -> Ed25519PublicKey:
    """Return the Ed25519 public key of a PEM file that holds the public key, or the private one."""
    for load in (load_pem_public_key, lambda pem: parse_signing_key(pem).public_key()):
        with suppress(ValueError, UnsupportedAlgorithm):
            key = load(pem)
            if isinstance(key, Ed25519PublicKey):
                return key
    raise InvalidInput(
        "This is neither an Ed25519 public key in PEM, nor an unencrypted private one. Give the key of the heads."
    )


def _to_mapping(statement: HeadStatement) -> dict[str, Any]:
    heads = [{"campaign": head.campaign, "events": head.events, "head": head.head} for head in statement.heads]
    return {"type": TYPE, "at": statement.at, "heads": heads, "previous": statement.previous, "key": statement.key}
