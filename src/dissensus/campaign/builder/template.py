"""Templates of campaigns: shipped ones, and a blank one of each kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from dissensus.campaign.builder.check import write_definition
from dissensus.errors import NotFound
from dissensus.schema.campaign.shipped import campaigns, load_campaign_toml

_CONSENT: Final = {"purposes": [{"name": "research", "required": True}]}
_QUESTIONS: Final = {"name": "questions", "languages": ["en"], "questions": []}
_BLANK: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "blank-rating": {"questionnaire": _QUESTIONS},
        "blank-pairs": {"pair": {"criterion": "more helpful"}},
        "blank-chat": {"chat": {"modes": [{"name": "helpful", "criterion": "more helpful"}], "chatbots": []}},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignTemplate:
    """A definition with which a campaign can be started."""

    name: str
    title: str
    explanation: str


TEMPLATES: Final = (
    CampaignTemplate(
        name="dices-350",
        title="Safety rating",
        explanation="Raters judge the last response of a conversation, with the questions of DICES-350.",
    ),
    CampaignTemplate(
        name="dices-990",
        title="Safety rating in two countries",
        explanation="As many men and women of two countries judge each conversation, with the questions of DICES-990.",
    ),
    CampaignTemplate(
        name="red-team",
        title="Red teaming",
        explanation="People talk with chatbots, try to make them fail, and pick one of two responses.",
    ),
    CampaignTemplate(
        name="red-team-review",
        title="Review of attempts",
        explanation="Reviewers say how far red-team attempts went, and what they were about.",
    ),
    CampaignTemplate(
        name="blank-rating", title="Rating, blank", explanation="Single responses, with questions of your own."
    ),
    CampaignTemplate(
        name="blank-pairs", title="Pairs, blank", explanation="Raters compare two responses, and say which is better."
    ),
    CampaignTemplate(name="blank-chat", title="Live chat, blank", explanation="People talk with chatbots of your own."),
)


def load_template(template: str, name: str) -> str:
    """Return the definition of a template as TOML, with the name of the new campaign.

    Examples
    --------
    >>> load_template("blank-pairs", "pilot").splitlines()[:2]
    ['name = "pilot"', 'languages = [']
    """
    if template in campaigns():
        shipped = load_campaign_toml(template)
        return shipped.replace(f'name = "{template}"', f"name = {_quote(name)}", 1) if name else shipped
    if template not in _BLANK:
        raise NotFound("There is no such template. Choose one of the page.")
    common = {"name": name or "untitled", "languages": ["en"], "consent": _CONSENT}
    return write_definition({**common, **_BLANK[template]})


def _quote(text: str) -> str:
    return write_definition({"name": text}).removeprefix("name = ").rstrip("\n")
