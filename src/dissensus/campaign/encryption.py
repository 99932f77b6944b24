"""Authenticated encryption of short texts that clients or the database keep for a while: AES-256-GCM."""

from secrets import token_bytes
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dissensus.errors import NotAllowed

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


def encrypt(plaintext: bytes, secret: str, *purpose: str) -> bytes:
    """Return a random nonce and the ciphertext, under a key derived from a secret for one purpose.

    Examples
    --------
    >>> decrypt(encrypt(b"a link", "secret", "cursor"), "secret", "cursor")
    b'a link'
    """
    nonce = token_bytes(NONCE_BYTES)
    return nonce + AESGCM(_derive_key(secret, purpose)).encrypt(nonce, plaintext, None)


def decrypt(ciphertext: bytes, secret: str, *purpose: str) -> bytes:
    """Return the plaintext; NotAllowed if it was changed, or encrypted under another secret or for another purpose."""
    nonce, body = ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:]
    try:
        return AESGCM(_derive_key(secret, purpose)).decrypt(nonce, body, None)
    except (InvalidTag, ValueError):
        raise NotAllowed("This was not encrypted here, or a part of it is missing.") from None


def _derive_key(secret: str, purpose: tuple[str, ...]) -> bytes:
    # The length of each part stands before it, so that no two purposes share a key.
    parts = [part.encode("utf-8", "surrogatepass") for part in purpose]
    info = b"dissensus-encryption" + b"".join(len(part).to_bytes(4) + part for part in parts)
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret.encode())
