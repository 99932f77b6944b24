"""What a link leads to: who it is for, and whether it lets somebody in now."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import compare_digest
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.errors import NotAllowed, NotFound
from dissensus.recruit.prolific import ProlificEntry, parse_entry, with_placeholders
from dissensus.schema.campaign.definition import Campaign, State
from dissensus.store import campaigns, raters, recruits, seats
from dissensus.store.campaigns import Kept
from dissensus.store.core.ids import hashed
from dissensus.store.recruits import Recruit
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

CELL_DIGITS: Final = 40
"""Hexadecimal digits of the key of a cell: 160 bits."""
NO_IDS: Final[Mapping[str, str]] = MappingProxyType({})

Admission: TypeAlias = State | Literal["full", "away", "again"]


@dataclass(frozen=True, slots=True)
class Entrance:
    """What those find who come by a link and have not agreed to anything yet.

    Parameters
    ----------
    campaign_id, campaign
        What they came to.
    state
        Where it is in its life, or that all its seats are taken (``full``), that there was none for them before
        (``away``), or that they came before by another submission (``again``); only an open one lets them in.
    sent
        By whom they were sent; None for nobody.
    """

    campaign_id: str
    campaign: Campaign
    state: Admission
    sent: ProlificEntry | None


def entrance(platform: Platform, name: str, key: str, ids: Mapping[str, str] = NO_IDS, *, now: datetime) -> Entrance:
    """Return what a link leads to, with the ids by which a recruiter knows who comes.

    Raises
    ------
    NotAllowed
        The link opens nothing; whether there is such a campaign is not told.
    InvalidInput
        A recruiter sends its raters, and an id is missing or is none.
    """
    with platform.database.reading() as tx:
        kept = named_by_link(tx, name)
        campaign = platform.definitions.of(tx, kept)
        way = way_of(tx, kept, campaign, key)
        sent = None if campaign.prolific is None or way.invitation is not None else parse_entry(ids)
        known = None if sent is None else recruit_of(tx, kept.id, sent)
        state: Admission = kept.state
        if known is not None and known.rater_id is None:
            state = "away"
        elif known is not None and sent is not None and known.submission != sent.submission:
            state = "again"
        elif state == "open" and not _room(tx, kept, campaign, way.cell, now):
            state = "full"
        return Entrance(kept.id, campaign, state, sent)


def named_by_link(tx: Connection, name: str) -> Kept:
    """Return the campaign that a link names; where there is none, it is as if the key were wrong."""
    try:
        return campaigns.campaign_named(tx, name)
    except NotFound:
        raise NotAllowed(raters.SHUT) from None


def _room(tx: Connection, kept: Kept, campaign: Campaign, cell: str | None, now: datetime) -> bool:
    """Tell whether there is a seat for somebody of a cell, or of any where it is not known yet."""
    if campaign.quota is None:
        return True
    gone = now - timedelta(minutes=campaign.quota.hold_minutes)
    places = campaign.quota.places
    return seats.any_free(tx, kept.id, places if cell is None else {cell: places.get(cell, 0)}, unseen_since=gone)


@dataclass(frozen=True, slots=True)
class Way:
    """What a link stands for: a personal one by its key, and the cell that a recruiter chose."""

    invitation: str | None = None
    cell: str | None = None


def way_of(tx: Connection, kept: Kept, campaign: Campaign, key: str) -> Way:
    """Return what a link stands for, and refuse one that does not open the campaign."""
    by_cells = campaign.recruited_cells
    if not by_cells and kept.key is not None and _same(key, kept.key):
        return Way()
    cell = next((cell for cell, one in cell_keys(kept, campaign).items() if _same(key, one)), None)
    if cell is not None:
        return Way(cell=cell)
    cell = raters.check_invitation(tx, kept.id, key)
    if by_cells and cell is None:
        raise NotAllowed("This link says nothing of the cell for which you come. Ask whoever sent it for another one.")
    return Way(key, cell)


def _same(key: str, known: str) -> bool:
    """Tell whether a key is one that is known; hashes are compared, so that no time tells how much was right."""
    return compare_digest(hashed(key), hashed(known))


def cell_keys(kept: Kept, campaign: Campaign) -> dict[str, str]:
    """Return the key of the link of each cell, made from that of the open link, by which a recruiter sends raters."""
    cells = () if kept.key is None else campaign.recruited_cells
    return {cell: hashed(f"{kept.key} {cell}")[:CELL_DIGITS] for cell in cells}


def recruit_of(tx: Connection, campaign_id: str, sent: ProlificEntry) -> Recruit | None:
    """Return what is known of somebody whom a recruiter sends: that they came, by this submission or by another."""
    return recruits.recruit_of(tx, campaign_id, sent.pid) or recruits.recruit_by(tx, sent.submission)


def personal_link(site: str, name: str, key: str) -> str:
    """Return the address by which one key lets somebody into a campaign of a site."""
    return f"{site}/c/{name}?key={key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """The addresses by which whoever sends raters lets them in.

    Parameters
    ----------
    anybody
        Lets anybody in; None where entry is by personal links or by cells.
    cells
        By the cell that a recruiter sends raters for; empty where nobody does.
    """

    anybody: str | None
    cells: Mapping[str, str]


def doors(site: str, kept: Kept, campaign: Campaign) -> Doors:
    """Return the addresses by which raters enter; a recruiter writes its ids into theirs."""

    def address(key: str) -> str:
        link = personal_link(site, kept.name, key)
        return link if campaign.prolific is None else with_placeholders(link)

    by_anybody = kept.key is not None and not campaign.recruited_cells
    cells = {cell: address(key) for cell, key in cell_keys(kept, campaign).items()}
    return Doors(anybody=address(str(kept.key)) if by_anybody else None, cells=cells)


def doors_of(platform: Platform, name: str, site: str, *, staff_id: str) -> Doors:
    """Return the addresses by which raters enter a campaign of somebody of the staff."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return doors(site, kept, platform.definitions.of(tx, kept))
