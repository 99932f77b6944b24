"""Consent scope of an export: the purposes that raters must have agreed to, and their pseudonyms in it."""

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, suggest

KEY_BYTES: Final = 32
ID_DIGITS: Final = 20
"""Hexadecimal digits of a pseudonym: 80 bits, so that no two raters share one."""


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Pseudonymous ids of one export. The key is never stored, so ids cannot be linked between exports."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES), repr=False)

    def pseudonym_of(self, identifier: str) -> str:
        """Return the pseudonym of a rater or conversation."""
        return hmac.new(self.key, identifier.encode(), "sha256").hexdigest()[:ID_DIGITS]


def required_purposes(campaign: Campaign, requested: tuple[str, ...]) -> tuple[str, ...]:
    """Return the purposes that raters must have agreed to: those required and those requested."""
    names = [purpose.name for purpose in campaign.consent.purposes]
    for name in requested:
        if name not in names:
            hint = suggest(name, names)
            raise NotFound(
                f"{name!r} is not a purpose of {campaign.name}.{hint} Its purposes are {format_list(names)}."
            )
    required = {purpose.name for purpose in campaign.consent.purposes if purpose.required}
    return tuple(name for name in names if name in required or name in requested)
