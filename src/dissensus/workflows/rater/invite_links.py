"""Invite links: create them, resolve them, and check whether they admit a rater now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import compare_digest
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.errors import NotAllowed, NotFound
from dissensus.recruit.prolific import ProlificEntry, parse_entry, with_placeholders
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.store import campaigns, raters, recruits, seats
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.ids import hash_key
from dissensus.store.recruits import RecruitRow
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

CELL_DIGITS: Final = 40
"""Hexadecimal digits of the key of a cell: 160 bits."""
NO_IDS: Final[Mapping[str, str]] = MappingProxyType({})

Admission: TypeAlias = CampaignState | Literal["full", "away", "again"]


@dataclass(frozen=True, slots=True)
class EntryStatus:
    """Campaign behind an invite link and whether it admits the visitor."""

    campaign_id: str
    campaign: Campaign
    # Where it is in its life, or that all its seats are taken (``full``), that there was none for them before
    # (``away``), or that they came before by another submission (``again``); only an open one lets them in
    state: Admission
    """Only ``open`` admits; ``full``: no free seat, ``away``: turned away before, ``again``: by another submission."""
    sent: ProlificEntry | None  # recruiter ids, None without a recruiter


def check_entry(
    platform: Platform, name: str, key: str, ids: Mapping[str, str] = NO_IDS, *, now: datetime
) -> EntryStatus:
    """Return the campaign behind an invite link and whether it admits the visitor."""
    with platform.database.reading() as tx:
        campaign_row = campaign_of_link(tx, name)
        campaign = platform.definitions.of(tx, campaign_row)
        way = resolve_link(tx, campaign_row, campaign, key)
        sent = None if campaign.prolific is None or way.invitation is not None else parse_entry(ids)
        known = None if sent is None else find_recruit(tx, campaign_row.id, sent)
        state: Admission = campaign_row.state
        if known is not None and known.rater_id is None:
            state = "away"
        elif known is not None and sent is not None and known.submission != sent.submission:
            state = "again"
        elif state == "open" and not _has_room(tx, campaign_row, campaign, way.cell, now):
            state = "full"
        return EntryStatus(campaign_row.id, campaign, state, sent)


def campaign_of_link(tx: Connection, name: str) -> CampaignRow:
    """Return the campaign of a link; an unknown name fails like a wrong key."""
    try:
        return campaigns.get_campaign_by_name(tx, name)
    except NotFound:
        raise NotAllowed(raters.INVALID_LINK) from None


def _has_room(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, cell: str | None, now: datetime) -> bool:
    """Return whether there is a free seat in a cell, or in any if the cell is unknown."""
    if campaign.quota is None:
        return True
    gone = now - timedelta(minutes=campaign.quota.hold_minutes)
    places = campaign.quota.places
    return seats.has_free_seat(
        tx, campaign_row.id, places if cell is None else {cell: places.get(cell, 0)}, unseen_since=gone
    )


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Invitation or quota cell that a link stands for."""

    invitation: str | None = None
    cell: str | None = None


def resolve_link(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, key: str) -> LinkTarget:
    """Return the target of a link and refuse one that does not open the campaign."""
    by_cells = campaign.recruited_cells
    if not by_cells and campaign_row.key is not None and _keys_match(key, campaign_row.key):
        return LinkTarget()
    cell = next((cell for cell, one in cell_keys(campaign_row, campaign).items() if _keys_match(key, one)), None)
    if cell is not None:
        return LinkTarget(cell=cell)
    cell = raters.check_invitation(tx, campaign_row.id, key)
    if by_cells and cell is None:
        raise NotAllowed("This link says nothing of the cell for which you come. Ask whoever sent it for another one.")
    return LinkTarget(key, cell)


def _keys_match(key: str, known: str) -> bool:
    """Compare keys by their hashes, in constant time."""
    return compare_digest(hash_key(key), hash_key(known))


def cell_keys(campaign_row: CampaignRow, campaign: Campaign) -> dict[str, str]:
    """Return the link key of each recruited cell, derived from the open link's key."""
    cells = () if campaign_row.key is None else campaign.recruited_cells
    return {cell: hash_key(f"{campaign_row.key} {cell}")[:CELL_DIGITS] for cell in cells}


def find_recruit(tx: Connection, campaign_id: str, sent: ProlificEntry) -> RecruitRow | None:
    """Return a recruited participant known by person or submission."""
    return recruits.find_recruit(tx, campaign_id, sent.pid) or recruits.find_recruit_by_submission(tx, sent.submission)


def personal_link_url(site: str, name: str, key: str) -> str:
    """Return the URL of a personal link."""
    return f"{site}/c/{name}?key={key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLinks:
    """Entry URLs of a campaign."""

    anybody: str | None  # None if entry is by personal links or by cells
    cells: Mapping[str, str]  # by quota cell; empty without a recruiter


def entry_links(site: str, campaign_row: CampaignRow, campaign: Campaign) -> EntryLinks:
    """Return the entry URLs, with the recruiter's placeholders where there is one."""

    def address(key: str) -> str:
        link = personal_link_url(site, campaign_row.name, key)
        return link if campaign.prolific is None else with_placeholders(link)

    by_anybody = campaign_row.key is not None and not campaign.recruited_cells
    cells = {cell: address(key) for cell, key in cell_keys(campaign_row, campaign).items()}
    return EntryLinks(anybody=address(str(campaign_row.key)) if by_anybody else None, cells=cells)


def load_entry_links(platform: Platform, name: str, site: str, *, staff_id: str) -> EntryLinks:
    """Return the entry URLs of a member's campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return entry_links(site, campaign_row, platform.definitions.of(tx, campaign_row))
