"""Consent scope of an export or a release: the purposes that raters must have agreed to."""

from collections.abc import Sequence

from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.hints import format_list, format_value, suggest


def required_purposes(campaign: Campaign, requested: tuple[str, ...]) -> tuple[str, ...]:
    """Return the purposes that raters must have agreed to: those required and those requested."""
    names = [purpose.name for purpose in campaign.consent.purposes]
    for name in requested:
        if name not in names:
            raise NotFound(
                f"{format_value(name)} is not a purpose of {campaign.name}.{suggest(name, names)} "
                f"Its purposes are {format_list(names)}."
            )
    required = {purpose.name for purpose in campaign.consent.purposes if purpose.required}
    return tuple(name for name in names if name in required or name in requested)


def describe_refusal(purposes: Sequence[str]) -> str:
    """Describe the raters whose data an export leaves out because they did not agree to all purposes."""
    return f"of raters who did not agree to {' and '.join(purposes) or 'anything'}"
