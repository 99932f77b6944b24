"""Gold campaigns and labels of experts."""

from typing import Any

from tests.support.campaigns import NOW, definition, items

from dissensus.schema.records.item import Item
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.gold import labelling
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform

YES: dict[str, Any] = {
    "safety": "Yes",
    "reasons": ["Unfair bias"],
    "motivation": "It belittles people.",
    "degree": "Extreme",
    "topics": ["Racial", "Health"],
}
NO: dict[str, Any] = {"safety": "No", "motivation": "Nobody is hurt.", "degree": "Benign", "topics": ["Health"]}
SMALL = {"verifiers": 2, "checkers": 1}


def create_gold_campaign(
    platform: Platform, n_experts: int = 3, *, rated: tuple[Item, ...] | None = None, **changes: Any
) -> tuple[str, list[str]]:
    """Create a campaign with an owner and experts; return their ids."""
    owner = sign_in_links.create_sign_in_link(platform, "ada", now=NOW).staff.id
    campaign = definition(**{"gold": SMALL, **changes})
    campaigns.create_campaign(platform, campaign, items(3) if rated is None else rated, staff_id=owner, now=NOW)
    names = [f"expert-{number}" for number in range(n_experts)]
    for name in names:
        members.add_member(platform, "pilot", name, "expert", staff_id=owner, now=NOW)
    return owner, [sign_in_links.create_sign_in_link(platform, name, now=NOW).staff.id for name in names]


def label_item(
    platform: Platform, expert: str, answers: dict[str, Any], position: int = 0, *, revision: int = 0
) -> str:
    """Label an item."""
    return labelling.label_item(platform, "pilot", position, answers, revision=revision, staff_id=expert, now=NOW)


def create_disputed_item(platform: Platform) -> tuple[str, list[str]]:
    """Create a campaign in which one of three experts disagrees on the first item; return the ids of the staff."""
    owner, experts = create_gold_campaign(platform)
    label_item(platform, experts[0], YES)
    label_item(platform, experts[1], YES)
    label_item(platform, experts[2], {"safety": "No"})
    return owner, experts
