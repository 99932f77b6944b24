"""What owners see of their campaigns, and whoever runs the platform of all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from sqlalchemy import Connection

from dissensus.errors import NotFound
from dissensus.pipeline.annotate.lifecycle import MOVES
from dissensus.schema.campaign import Campaign, State
from dissensus.schema.hints import shown
from dissensus.schema.item import Item
from dissensus.store import campaigns, staff
from dissensus.store import overview as store
from dissensus.store.campaigns import Kept
from dissensus.store.overview import Notice, Numbers
from dissensus.store.raters import Standing
from dissensus.store.staff import Owner
from dissensus.workflows.platform import Platform

SAMPLE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A campaign in a list.

    Parameters
    ----------
    kept, owner
        Which one, and whose.
    numbers
        How far it is.
    """

    kept: Kept
    owner: Owner
    numbers: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All about one campaign.

    Parameters
    ----------
    kept, campaign
        Which one, and what was decided about it.
    numbers
        How far it is.
    notices
        What raters reported.
    sample
        Its first items.
    moves
        What it can become.
    """

    kept: Kept
    campaign: Campaign
    numbers: Numbers
    notices: tuple[Notice, ...]
    sample: tuple[Item, ...]
    moves: tuple[State, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """The whole platform in numbers.

    Parameters
    ----------
    raters
        By standing.
    n_saves
        The number of the last save.
    """

    raters: Mapping[Standing, int]
    n_saves: int


def campaigns_of(platform: Platform, owner: Owner) -> tuple[Line, ...]:
    """Return the campaigns of an owner, the latest first."""
    with platform.database.reading() as tx:
        found = campaigns.campaigns_of(tx, owner.id)
        return tuple(Line(kept=kept, owner=owner, numbers=store.numbers_of(tx, kept.id)) for kept in found)


def all_campaigns(platform: Platform) -> tuple[Line, ...]:
    """Return the campaigns of all owners, by owner."""
    with platform.database.reading() as tx:
        owners = staff.owners(tx)
    return tuple(chain.from_iterable(campaigns_of(platform, owner) for owner in owners))


def overview(platform: Platform, name: str, *, staff_id: str) -> Overview:
    """Return all about a campaign of an owner."""
    with platform.database.reading() as tx:
        kept = own_campaign(tx, name, staff_id)
        return Overview(
            kept=kept,
            campaign=platform.definitions.of(tx, kept),
            numbers=store.numbers_of(tx, kept.id),
            notices=store.notices_of(tx, kept.id),
            sample=tuple(campaigns.items_of(tx, kept.id, most=SAMPLE)),
            moves=MOVES[kept.state],
        )


def settle(platform: Platform, name: str, notice_id: str, *, staff_id: str, now: datetime) -> None:
    """Keep that an owner dealt with what a rater reported."""
    with platform.database.writing() as tx:
        kept = own_campaign(tx, name, staff_id)
        store.settle(tx, kept.id, notice_id, now=now)


def own_campaign(tx: Connection, name: str, staff_id: str) -> Kept:
    """Return a campaign of an owner."""
    kept = campaigns.campaign_named(tx, name)
    if kept.staff_id != staff_id:
        # The words of what is not there, so that names cannot be guessed.
        raise NotFound(f"There is no campaign {shown(name)}.")
    return kept


def staff_id_of(platform: Platform, name: str) -> str:
    """Return whose a campaign is, for whoever runs the platform and may act for all owners."""
    with platform.database.reading() as tx:
        return campaigns.campaign_named(tx, name).staff_id


def tally(platform: Platform) -> Tally:
    """Count the whole platform."""
    with platform.database.reading() as tx:
        return Tally(raters=store.all_raters(tx), n_saves=store.last_save(tx))
