"""Check of a draft before it opens, against its items, its members and the services of the site."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.chatbot_access import check_chatbot_allowed
from dissensus.campaign.opening import (
    Finding,
    ItemFindings,
    OpeningFacts,
    check_opening,
    format_finding,
    summarise_items,
)
from dissensus.errors import Conflict, NotAllowed
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import images, items, members, overview
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.models.campaign_models import list_campaign_models
from dissensus.workflows.platform.platform import Platform

MAX_ITEMS: Final = 500
"""Items that are read for a page; reading 100,000 takes seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteServices:
    """Services of a site that campaigns can use."""

    chatbot_hosts: frozenset[str]
    model_registry: Path
    languages: tuple[str, ...]  # Of the pages of raters


def check_draft(
    platform: Platform, name: str, services: SiteServices, *, staff_id: str, max_items: int | None = None
) -> tuple[Finding, ...]:
    """Return the findings about a draft, errors first; there are none for campaigns that are not drafts.

    At most `max_items` items are read.
    """
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if campaign_row.state != "draft":
            return ()
        campaign = platform.definitions.load(tx, campaign_row)
        facts = OpeningFacts(
            items=_summarise_items(tx, campaign_row.id, max_items),
            roles=Counter(member.role for member in members.list_members(tx, campaign_row.id)),
            refused_chatbots=_find_refused_chatbots(campaign, services.chatbot_hosts),
            missing_models=tuple(
                model.name for model in list_campaign_models(services.model_registry, campaign) if model.missing
            ),
            page_languages=services.languages,
            images=frozenset(image.name for image in images.list_images(tx, campaign_row.id)),
            has_entry=campaign_row.key is not None or overview.count_invitations(tx, campaign_row.id) > 0,
        )
    return check_opening(campaign, facts)


def refuse_errors(platform: Platform, name: str, services: SiteServices, *, staff_id: str) -> None:
    """Raise `Conflict` if the check of a draft finds errors; none of them depends on the content of its items."""
    findings = check_draft(platform, name, services, staff_id=staff_id, max_items=0)
    errors = [format_finding(finding) for finding in findings if finding.severity == "error"]
    if errors:
        raise Conflict(f"{name} cannot open. {' '.join(errors)}")


def _summarise_items(tx: Connection, campaign_id: str, max_items: int | None) -> ItemFindings:
    n_items = items.count_items(tx, campaign_id)
    return summarise_items(items.iterate_items(tx, campaign_id, most=max_items), n_items)


def _find_refused_chatbots(campaign: Campaign, hosts: frozenset[str]) -> dict[str, str]:
    refused = {}
    for chatbot in () if campaign.chat is None else campaign.chat.chatbots:
        try:
            check_chatbot_allowed(chatbot, hosts)
        except NotAllowed as error:
            refused[chatbot.name] = site_message(error)
    return refused
