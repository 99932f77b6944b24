"""Registry of the campaigns that ship with the package."""

from functools import cache
from importlib.resources import files

from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.hints import format_list, suggest
from dissensus.schema.questionnaire.shipped import list_definitions

_FOLDER = files("dissensus.schema") / "campaigns"


@cache
def campaigns() -> tuple[str, ...]:
    """Return the names of the campaigns that ship with the package.

    Examples
    --------
    >>> campaigns()
    ('dices-350', 'dices-990', 'red-team', 'red-team-review')
    """
    return list_definitions(_FOLDER)


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
    names = campaigns()
    if name not in names:
        raise NotFound(f"There is no campaign {name!r}; there are {format_list(names)}.{suggest(name, names)}")
    return (_FOLDER / f"{name}.toml").read_text("utf-8")


def rename_campaign(campaign: Campaign, name: str) -> Campaign:
    """Return a campaign under another name.

    Examples
    --------
    >>> rename_campaign(load_campaign("dices-350"), "pilot-2").name
    'pilot-2'
    """
    # Parsed again, to validate the name.
    return parse_campaign({**campaign.as_mapping(), "name": name})
