"""Pseudonymous ids of an export or a release, by a secret key."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Final

KEY_BYTES: Final = 32
ID_DIGITS: Final = 20
"""Hexadecimal digits of a pseudonym: 80 bits, so that no two raters share one."""
FINGERPRINT_DIGITS: Final = 16
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


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


def conceal_conversation(item_id: str) -> str:
    """Return the public id of an item: its own, or a pseudonym if it is that of a conversation.

    Such an id may tell when the conversation began. The pseudonym is the same in all releases, so that these can be
    compared; random bits of the id keep it from being found by trial.

    Examples
    --------
    >>> conceal_conversation("item1"), conceal_conversation("0197a3c4-1b2d-7e3f-8a4b-5c6d7e8f9a0b")
    ('item1', 'c487d11fd4a0945afcf16')
    """
    if not _UUID.fullmatch(item_id):
        return item_id
    return f"c{hashlib.sha256(item_id.lower().encode()).hexdigest()[:ID_DIGITS]}"
