"""Secret keys of the site, and authenticated encryption (AES-256-GCM) of texts in the database or at clients."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_bytes
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dissensus.errors import NotAllowed

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class SecretKeys:
    """Secret keys of the site, the current one first: only it signs and encrypts, all verify and decrypt."""

    current: str = field(repr=False)
    previous: tuple[str, ...] = field(default=(), repr=False)  # Keys that were replaced, until they are removed

    def __iter__(self) -> Iterator[str]:
        return iter((self.current, *self.previous))

    def encrypt(self, plaintext: bytes, *purpose: str) -> bytes:
        """Encrypt under a key derived from the current one and a purpose."""
        return encrypt(plaintext, self.current, *purpose)

    def decrypt(self, ciphertext: bytes, *purpose: str) -> bytes:
        """Return the plaintext, or raise `NotAllowed` if no key decrypts it.

        Examples
        --------
        >>> old, rotated = SecretKeys("first"), SecretKeys("second", ("first",))
        >>> rotated.decrypt(old.encrypt(b"a link", "cursor"), "cursor")
        b'a link'
        """
        for key in self.previous:
            with suppress(NotAllowed):
                return decrypt(ciphertext, key, *purpose)
        return decrypt(ciphertext, self.current, *purpose)


def encrypt(plaintext: bytes, secret: str, *purpose: str) -> bytes:
    """Encrypt under a key derived from a secret and a purpose; return a random nonce and the ciphertext.

    Examples
    --------
    >>> decrypt(encrypt(b"a link", "secret", "cursor"), "secret", "cursor")
    b'a link'
    """
    nonce = token_bytes(NONCE_BYTES)
    return nonce + AESGCM(_derive_key(secret, purpose)).encrypt(nonce, plaintext, None)


def decrypt(ciphertext: bytes, secret: str, *purpose: str) -> bytes:
    """Return the plaintext, or raise `NotAllowed` if it was changed, or encrypted with another secret or purpose."""
    nonce, body = ciphertext[:NONCE_BYTES], ciphertext[NONCE_BYTES:]
    try:
        return AESGCM(_derive_key(secret, purpose)).decrypt(nonce, body, None)
    except (InvalidTag, ValueError):
        raise NotAllowed("This was not encrypted here, or a part of it is missing.") from None


def _derive_key(secret: str, purpose: tuple[str, ...]) -> bytes:
    # Parts are prefixed with their length, so that no two purposes share a key.
    parts = [part.encode("utf-8", "surrogatepass") for part in purpose]
    info = b"dissensus-encryption" + b"".join(len(part).to_bytes(4) + part for part in parts)
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret.encode())
