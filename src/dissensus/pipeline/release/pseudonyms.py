"""Pseudonymous ids of an export or a release, by a secret key."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

KEY_BYTES: Final = 32
ID_DIGITS: Final = 20
"""Hexadecimal digits of a pseudonym: 80 bits, so that no two raters share one."""
FINGERPRINT_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Pseudonymous ids by HMAC with SHA-256 (RFC 2104).

    A key that is drawn and never stored gives ids that link nothing. A key that is kept gives the same ids again.

    Examples
    --------
    >>> Pseudonyms(bytes(32)).pseudonym_of("ann")
    '78352bae17eb6789b087'
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)

    def pseudonym_of(self, identifier: str) -> str:
        """Return the pseudonym of a rater or conversation."""
        return hmac.new(self.key, identifier.encode(), "sha256").hexdigest()[:ID_DIGITS]

    def rater_id(self, identifier: str) -> str:
        """Return the pseudonym of a rater, which begins with a letter so that no program reads it as a number."""
        return f"r{self.pseudonym_of(identifier)}"

    @property
    def fingerprint(self) -> str:
        """Public name of the key, from which it cannot be derived."""
        return hashlib.sha256(b"dissensus-release-key" + self.key).hexdigest()[:FINGERPRINT_DIGITS]
