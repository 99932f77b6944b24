"""Serialisation of a campaign to TOML."""

import tomli_w

from dissensus.schema.campaign.definition import Campaign


def write_campaign(campaign: Campaign) -> str:
    """Return a campaign as TOML, with questionnaires in full and without default values.

    Examples
    --------
    >>> from dissensus.schema.campaign.parser import parse_campaign
    >>> from dissensus.schema.campaign.shipped import load_campaign
    >>> dices = load_campaign("dices-350")
    >>> text = write_campaign(dices)
    >>> text.splitlines()[0], parse_campaign(text).digest == dices.digest
    ('name = "dices-350"', True)
    """
    return tomli_w.dumps(campaign.as_mapping(), multiline_strings=True)
