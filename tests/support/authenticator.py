"""A WebAuthn authenticator in software: it answers options as a browser with a passkey does."""

import json
import struct
from dataclasses import dataclass, field, replace
from hashlib import sha256
from secrets import token_bytes
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40
COORDINATE_BYTES = 32


@dataclass
class Authenticator:
    """One credential, with the origin that the browser would report."""

    origin: str
    flags: int = PRESENT | VERIFIED
    sign_count: int = 1
    credential_id: bytes = field(default_factory=lambda: token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    user_handle: str | None = None
    rp_id: str | None = None  # None for the one in the options

    def create(self, options: dict[str, Any]) -> str:
        """Answer the options of a registration."""
        self.user_handle = options["user"]["id"]
        data = self._authenticator_data(options["rp"]["id"], self.flags | ATTESTED)
        data += bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id + self._cose_key()
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        response = {
            "clientDataJSON": bytes_to_base64url(self._client_data("webauthn.create", options["challenge"])),
            "attestationObject": bytes_to_base64url(attestation),
        }
        return self._credential(response)

    def get(self, options: dict[str, Any], **changes: Any) -> str:
        """Answer the options of a sign-in, after the sign count went up; `changes` replace parts of the response."""
        self.sign_count += 1
        data = self._authenticator_data(options["rpId"], self.flags)
        client_data = self._client_data("webauthn.get", options["challenge"])
        signature = self.key.sign(data + sha256(client_data).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": bytes_to_base64url(client_data),
            "authenticatorData": bytes_to_base64url(data),
            "signature": bytes_to_base64url(signature),
            "userHandle": self.user_handle,
        }
        return self._credential({**response, **changes})

    def with_changes(self, **changes: Any) -> "Authenticator":
        """The same credential, with other properties."""
        return replace(self, **changes)

    def _credential(self, response: dict[str, Any]) -> str:
        credential_id = bytes_to_base64url(self.credential_id)
        return json.dumps({"id": credential_id, "rawId": credential_id, "type": "public-key", "response": response})

    def _authenticator_data(self, rp_id: str, flags: int) -> bytes:
        return sha256((self.rp_id or rp_id).encode()).digest() + struct.pack(">BI", flags, self.sign_count)

    def _client_data(self, kind: str, challenge: str) -> bytes:
        assert len(base64url_to_bytes(challenge)) == 32
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}).encode()

    def _cose_key(self) -> bytes:
        point = self.key.public_key().public_numbers()
        x, y = (number.to_bytes(COORDINATE_BYTES) for number in (point.x, point.y))
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})
