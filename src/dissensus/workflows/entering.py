"""How raters come into a campaign: by a link, once they agreed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import compare_digest
from typing import Literal

from sqlalchemy import Connection

from dissensus.errors import Conflict, InvalidInput, NotAllowed
from dissensus.schema.campaign import Campaign, State
from dissensus.store import campaigns, raters, seats
from dissensus.store.campaigns import Kept
from dissensus.store.ids import hashed, new_id, new_key
from dissensus.store.raters import Rater, Said
from dissensus.workflows.platform import Platform
from dissensus.workflows.steps import Present, Step, check_here, claim_seat, present, step

SESSION = timedelta(days=30)
CELL_DIGITS = 40
"""Hexadecimal digits of the key of a cell: 160 bits."""


def agree(
    platform: Platform,
    name: str,
    *,
    key: str,
    purposes: Mapping[str, bool],
    language: str,
    rehearsal: bool = False,
    rater_id: str | None = None,
    read: str | None = None,
    now: datetime,
) -> tuple[Rater, str]:
    """Let somebody in who agreed to the consent text, and return the rater and the key of their session.

    Parameters
    ----------
    platform, name
        The campaign.
    key
        That of the open link, or of a personal one, and any for a rehearsal. By a personal link somebody who entered
        before goes on.
    purposes
        What they said to each purpose.
    language
        What they read.
    rehearsal
        Whether it is a preview or a dry run; a draft lets nobody else in.
    rater_id
        The id of the new rater, as `entry_id` made it for who saw the warning: a form that is sent twice makes one
        rater, who is signed in again; what they said first holds, and who has withdrawn sees that they have. Without
        it a new id is made.
    read
        Digest of the consent text that they read, where it is known.
    now
        The time.

    Raises
    ------
    NotAllowed
        The link does not open the campaign, or a purpose that is required was not agreed to. Nothing is kept then.
    Conflict
        The campaign is not open, or the consent text has changed since they read it.
    """
    with platform.database.writing() as tx:
        kept = campaigns.campaign_named(tx, name, lock=True)
        campaign = platform.definitions.of(tx, kept)
        way = _Way() if rehearsal else _way(tx, kept, campaign, key)
        rater_id = rater_id or new_id(now)
        rater = raters.rater_of(tx, rater_id) or (raters.rater_invited(tx, way.invitation) if way.invitation else None)
        if rater is None:
            given = _agreed(campaign, purposes, read)
            if kept.state != "open" and not rehearsal:
                raise Conflict(f"{name} takes no raters now: it is {kept.state}.")
            rater = raters.add_rater(
                tx,
                kept.id,
                rater_id,
                language=language,
                invitation=way.invitation,
                cell=way.cell,
                rehearsal=rehearsal,
                now=now,
            )
            if way.cell is not None and not claim_seat(tx, Present(rater, kept, campaign), now=now):
                raise Conflict("All places for which this link is are taken. Nothing about you was kept.")
            _keep_consent(tx, rater, kept, campaign, given, now)
        elif rater.campaign_id != kept.id:
            raise NotAllowed("This personal link is of another campaign.")
        session = new_key()
        raters.sign_in(tx, rater.id, session, expires_at=now + SESSION)
    return rater, session


def entry_id(now: datetime) -> str:
    """Return an id for who saw the warning, which is theirs as a rater if they agree; nothing is kept of it before."""
    return new_id(now)


def agree_again(
    platform: Platform, rater: Rater, purposes: Mapping[str, bool], *, read: str | None = None, now: datetime
) -> Step:
    """Keep what a rater said to a consent text that changed."""
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        given = _agreed(here.campaign, purposes, read)
        _keep_consent(tx, here.rater, here.kept, here.campaign, given, now)
    return step(platform, rater, now=now)


def _agreed(campaign: Campaign, purposes: Mapping[str, bool], read: str | None) -> dict[str, bool]:
    """Return what was said to each purpose, and refuse who does not agree to what is required, or read another text."""
    if read not in (None, campaign.consent.digest):
        raise Conflict("The text has changed since you read it, and nothing was kept. Go back, and read it again.")
    names = {purpose.name for purpose in campaign.consent.purposes}
    unknown = sorted(set(purposes) - names)
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is no purpose of the consent text.")
    refused = [one.name for one in campaign.consent.purposes if one.required and not purposes.get(one.name, False)]
    if refused:
        raise NotAllowed("Without agreeing to what is required one cannot take part. Nothing about you was kept.")
    return {name: purposes.get(name, False) for name in sorted(names)}


def _keep_consent(
    tx: Connection, rater: Rater, kept: Kept, campaign: Campaign, given: Mapping[str, bool], now: datetime
) -> None:
    text_id, _ = campaigns.consent_text(tx, kept.id, campaign.consent, now=now)
    if not raters.has_consented(tx, rater.id, text_id):
        raters.consent(tx, rater.id, text_id, given, now=now)


@dataclass(frozen=True, slots=True)
class Entrance:
    """What those find who come by a link and have not agreed to anything yet.

    Parameters
    ----------
    campaign_id, campaign
        What they came to.
    state
        Where it is in its life, or that all its seats are taken; only an open one lets them in.
    """

    campaign_id: str
    campaign: Campaign
    state: State | Literal["full"]


def entrance(platform: Platform, name: str, key: str, *, now: datetime) -> Entrance:
    """Return what a link leads to.

    Raises
    ------
    NotFound
        There is no such campaign.
    NotAllowed
        The link does not open it.
    """
    with platform.database.reading() as tx:
        kept = campaigns.campaign_named(tx, name)
        campaign = platform.definitions.of(tx, kept)
        way = _way(tx, kept, campaign, key)
        full = kept.state == "open" and not _room(tx, kept, campaign, way.cell, now)
        return Entrance(kept.id, campaign, "full" if full else kept.state)


def _room(tx: Connection, kept: Kept, campaign: Campaign, cell: str | None, now: datetime) -> bool:
    """Tell whether there is a seat for somebody of a cell, or of any where it is not known yet."""
    if campaign.quota is None:
        return True
    gone = now - timedelta(minutes=campaign.quota.hold_minutes)
    places = campaign.quota.places
    return seats.any_free(tx, kept.id, places if cell is None else {cell: places.get(cell, 0)}, unseen_since=gone)


@dataclass(frozen=True, slots=True)
class _Way:
    """What a link stands for: a personal one by its key, and the cell that a recruiter chose."""

    invitation: str | None = None
    cell: str | None = None


def _way(tx: Connection, kept: Kept, campaign: Campaign, key: str) -> _Way:
    """Return what a link stands for, and refuse one that does not open the campaign."""
    by_cells = campaign.recruited_cells
    if not by_cells and kept.key is not None and _same(key, kept.key):
        return _Way()
    cell = next((cell for cell, one in cell_keys(kept, campaign).items() if _same(key, one)), None)
    if cell is not None:
        return _Way(cell=cell)
    cell = raters.check_invitation(tx, kept.id, key)
    if by_cells and cell is None:
        raise NotAllowed("This link says nothing of the cell for which you come. Ask whoever sent it for another one.")
    return _Way(key, cell)


def _same(key: str, known: str) -> bool:
    """Tell whether a key is one that is known; hashes are compared, so that no time tells how much was right."""
    return compare_digest(hashed(key), hashed(known))


def cell_keys(kept: Kept, campaign: Campaign) -> dict[str, str]:
    """Return the key of the link of each cell, made from that of the open link, by which a recruiter sends raters."""
    cells = () if kept.key is None else campaign.recruited_cells
    return {cell: hashed(f"{kept.key} {cell}")[:CELL_DIGITS] for cell in cells}


def said(platform: Platform, rater: Rater) -> tuple[Said, ...]:
    """Return what a rater said to each version of the consent text that they were shown, the latest first."""
    with platform.database.reading() as tx:
        return raters.said(tx, rater.id)


def resume(platform: Platform, name: str, key: str, *, now: datetime) -> tuple[Rater, str] | None:
    """Sign in who entered a campaign by a personal link before, on any device; None where nobody has."""
    with platform.database.reading() as tx:
        # Most who come have no such link, and keep no other from writing.
        if raters.rater_invited(tx, key) is None:
            return None
    with platform.database.writing() as tx:
        rater = raters.rater_invited(tx, key, lock=True)
        if rater is None or campaigns.campaign_of(tx, rater.campaign_id).name != name:
            return None
        session = new_key()
        raters.sign_in(tx, rater.id, session, expires_at=now + SESSION)
    return rater, session


def takes_part(platform: Platform, name: str, session: str, *, now: datetime) -> bool:
    """Tell whether the rater of a session takes part in a campaign: who comes by an open link again goes on."""
    with platform.database.reading() as tx:
        rater = raters.rater_signed_in(tx, session, now=now)
        if rater is None or rater.rehearsal or rater.state == "withdrawn":
            return False
        return campaigns.campaign_of(tx, rater.campaign_id).name == name


def sign_out(platform: Platform, session: str) -> None:
    """End a session, so that whoever has the device next is nobody here."""
    with platform.database.writing() as tx:
        raters.sign_out(tx, session)


def signed_in(platform: Platform, session: str, *, now: datetime) -> Rater | None:
    """Return the rater of a session, None where it has ended."""
    with platform.database.reading() as tx:
        return raters.rater_signed_in(tx, session, now=now)
