"""Registry of the campaigns that ship with the package."""

from functools import cache

from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.shipped_files import ShippedFiles

_CAMPAIGNS = ShippedFiles("dissensus.schema", "campaigns", "campaign")


def campaigns() -> tuple[str, ...]:
    """Return the names of the campaigns that ship with the package.

    Examples
    --------
    >>> campaigns()
    ('dices-350', 'dices-990', 'red-team', 'red-team-review')
    """
    return _CAMPAIGNS.names


@cache
def load_campaign(name: str) -> Campaign:
    """Return a campaign that ships with the package.

    Examples
    --------
    >>> dices = load_campaign("dices-350")
    >>> dices.languages, dices.questionnaire.name, dices.demographics_position
    (('en', 'de'), 'dices-350', 'after')
    >>> [(purpose.name, purpose.required) for purpose in dices.consent.purposes]
    [('rating', True), ('release', False), ('return', False)]
    """
    return parse_campaign(load_campaign_toml(name))


def load_campaign_toml(name: str) -> str:
    """Return the TOML of a shipped campaign with its comments, as a template."""
    return _CAMPAIGNS.read_text(name)


def rename_campaign(campaign: Campaign, name: str) -> Campaign:
    """Return a campaign under another name.

    Examples
    --------
    >>> rename_campaign(load_campaign("dices-350"), "pilot-2").name
    'pilot-2'
    """
    # Parsed again, to validate the name.
    return parse_campaign({**campaign.as_mapping(), "name": name})
