"""Invite links: create them, resolve them, and check whether they admit a rater now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from secrets import compare_digest
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.errors import NotAllowed, NotFound
from dissensus.recruit.entry import RecruitEntry, entry_address, parse_entry
from dissensus.schema.campaign.definition import Campaign, CampaignState
from dissensus.store import campaigns, raters, recruits, seats
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import hash_key
from dissensus.store.recruits import RecruitRow
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.assignment import abandoned_before

CELL_DIGITS: Final = 40
"""Hexadecimal digits of the key of a cell: 160 bits."""
NO_IDS: Final[Mapping[str, str]] = MappingProxyType({})
"""Ids of a visitor whom no recruiter sent."""

Admission: TypeAlias = CampaignState | Literal["full", "away", "again"]


@dataclass(frozen=True, slots=True)
class EntryStatus:
    """Campaign behind an invite link and whether it admits the visitor."""

    campaign_id: str
    campaign: Campaign
    # Only ``open`` admits; ``full``: no free seat; ``away``: turned away before; ``again``: came by another submission
    state: Admission
    recruit_entry: RecruitEntry | None  # recruiter ids, None without a recruiter


def check_entry(
    platform: Platform, name: str, key: str, ids: Mapping[str, str] = NO_IDS, *, now: datetime
) -> EntryStatus:
    """Return the campaign behind an invite link and whether it admits the visitor."""
    with platform.database.reading() as tx:
        campaign_row = campaign_of_link(tx, name)
        campaign = platform.definitions.load(tx, campaign_row)
        target = resolve_link(tx, campaign_row, campaign, key)
        entry = None
        if campaign.recruit is not None and target.invitation is None:
            entry = parse_entry(campaign.recruit, campaign_row.id, ids)
        recruit = None if entry is None else find_recruit(tx, campaign_row.id, entry)
        state: Admission = campaign_row.state
        if recruit is not None and recruit.rater_id is None:
            state = "away"
        elif recruit is not None and entry is not None and recruit.submission != entry.submission:
            state = "again"
        elif state == "open" and not _has_free_seat(tx, campaign_row, campaign, target.cell, now):
            state = "full"
        return EntryStatus(campaign_row.id, campaign, state, entry)


def campaign_of_link(tx: Connection, name: str) -> CampaignRow:
    """Return the campaign of a link; an unknown name fails like a wrong key."""
    try:
        return campaigns.get_campaign_by_name(tx, name)
    except NotFound:
        raise NotAllowed(raters.INVALID_LINK) from None


def _has_free_seat(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, cell: str | None, now: datetime
) -> bool:
    """Return whether there is a free seat in a cell, or in any if the cell is unknown."""
    if campaign.quota is None:
        return True
    # As when the seat is claimed, so that nobody is asked in vain.
    unseen_since = abandoned_before(campaign_row, campaign.quota.hold_minutes / 60, now)
    places = campaign.quota.capacities
    return seats.has_free_seat(
        tx, campaign_row.id, places if cell is None else {cell: places.get(cell, 0)}, unseen_since=unseen_since
    )


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Personal invitation or quota cell of a link."""

    invitation: str | None = None
    cell: str | None = None


def resolve_link(tx: Connection, campaign_row: CampaignRow, campaign: Campaign, key: str) -> LinkTarget:
    """Return the target of a link and refuse one that does not open the campaign."""
    by_cells = campaign.recruited_cells
    if not by_cells and campaign_row.key is not None and _keys_match(key, campaign_row.key):
        return LinkTarget()
    keys = cell_keys(campaign_row, campaign)
    cell = next((cell for cell, cell_key in keys.items() if _keys_match(key, cell_key)), None)
    if cell is not None:
        return LinkTarget(cell=cell)
    cell = raters.check_invitation(tx, campaign_row.id, key)
    if by_cells and cell is None:
        raise NotAllowed("This link has no quota cell. Ask its sender for another one.")
    return LinkTarget(key, cell)


def _keys_match(key: str, expected: str) -> bool:
    """Compare keys by their hashes, in constant time."""
    return compare_digest(hash_key(key), hash_key(expected))


def cell_keys(campaign_row: CampaignRow, campaign: Campaign) -> dict[str, str]:
    """Return the link key of each recruited cell, derived from the open link's key."""
    cells = () if campaign_row.key is None else campaign.recruited_cells
    return {cell: hash_key(f"{campaign_row.key} {cell}")[:CELL_DIGITS] for cell in cells}


def find_recruit(tx: Connection, campaign_id: str, entry: RecruitEntry) -> RecruitRow | None:
    """Return a participant by the id of the person, else by that of the submission."""
    by_person = recruits.find_recruit(tx, campaign_id, entry.person)
    return by_person or recruits.find_recruit_by_submission(tx, entry.submission)


def personal_link_url(site: str, name: str, key: str) -> str:
    """Return the URL of a personal link."""
    return f"{site}/c/{name}?key={key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryLinks:
    """Entry URLs of a campaign."""

    anybody: str | None  # None if entry is by personal links or by cells
    cells: Mapping[str, str]  # by quota cell; empty without a recruiter


def entry_links(site: str, campaign_row: CampaignRow, campaign: Campaign) -> EntryLinks:
    """Return the entry URLs, with the recruiter's parameters where there is one."""

    def address(key: str) -> str:
        link = personal_link_url(site, campaign_row.name, key)
        return link if campaign.recruit is None else entry_address(campaign.recruit, link)

    key = None if campaign.recruited_cells else campaign_row.key
    cells = {cell: address(cell_key) for cell, cell_key in cell_keys(campaign_row, campaign).items()}
    return EntryLinks(anybody=None if key is None else address(key), cells=cells)


def load_entry_links(platform: Platform, name: str, site: str, *, staff_id: str) -> EntryLinks:
    """Return the entry URLs of a member's campaign."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return entry_links(site, campaign_row, platform.definitions.load(tx, campaign_row))
