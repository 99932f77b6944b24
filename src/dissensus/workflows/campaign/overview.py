"""What staff see of their campaigns, and whoever runs the platform of all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.campaign.lifecycle import MOVES
from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign, State
from dissensus.schema.campaign.roles import Role
from dissensus.schema.records.item import Item
from dissensus.store import campaigns, membership, webhooks
from dissensus.store import overview as store
from dissensus.store.campaigns import Kept
from dissensus.store.overview import Notice, Numbers
from dissensus.store.raters import Standing
from dissensus.store.staff import Staff
from dissensus.workflows.campaign.audit_log import by_staff
from dissensus.workflows.campaign.members import seen_by
from dissensus.workflows.platform.platform import Platform

SAMPLE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A campaign in a list.

    Parameters
    ----------
    kept, campaign
        Which one, and what was decided about it.
    owners
        Their names, those first who came first.
    role
        Who the reader is in it.
    numbers
        How far it is.
    """

    kept: Kept
    campaign: Campaign
    owners: tuple[str, ...]
    role: Role
    numbers: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """All about one campaign.

    Parameters
    ----------
    kept, campaign
        Which one, and what was decided about it.
    role
        Who the reader is in it.
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
    role: Role
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
    webhooks
        By state.
    """

    raters: Mapping[Standing, int]
    n_saves: int
    webhooks: Mapping[webhooks.State, int]


def campaigns_of(platform: Platform, staff: Staff) -> tuple[Line, ...]:
    """Return the campaigns that somebody belongs to, the latest first."""
    with platform.database.reading() as tx:
        roles = membership.campaigns_of(tx, staff.id)
        return tuple(line_of(platform, tx, kept, roles[kept.id]) for kept in campaigns.campaigns_of(tx, staff.id))


def all_campaigns(platform: Platform) -> tuple[Line, ...]:
    """Return all campaigns, by their owners."""
    with platform.database.reading() as tx:
        found = [line_of(platform, tx, kept, "owner") for kept in campaigns.all_campaigns(tx)]
    return tuple(sorted(found, key=lambda line: line.owners))


def line_of(platform: Platform, tx: Connection, kept: Kept, role: Role) -> Line:
    """Return a campaign as it stands in a list."""
    owners = tuple(one.name for one in membership.members_of(tx, kept.id) if one.role == "owner")
    campaign, numbers = platform.definitions.of(tx, kept), store.numbers_of(tx, kept.id)
    return Line(kept=kept, campaign=campaign, owners=owners, role=role, numbers=numbers)


def overview(platform: Platform, name: str, *, staff_id: str) -> Overview:
    """Return all about a campaign of somebody."""
    with platform.database.reading() as tx:
        kept, role = seen_by(tx, name, staff_id)
        return Overview(
            kept=kept,
            campaign=platform.definitions.of(tx, kept),
            role=role,
            numbers=store.numbers_of(tx, kept.id),
            notices=store.notices_of(tx, kept.id),
            sample=tuple(campaigns.items_of(tx, kept.id, most=SAMPLE)),
            moves=MOVES[kept.state],
        )


def settle(
    platform: Platform, name: str, notice_id: str, *, show_again: bool = False, staff_id: str, now: datetime
) -> None:
    """Keep that somebody dealt with what a rater reported; what must not be shown stays withheld unless they say so.

    Raises
    ------
    NotFound
        There is no such notice.
    """
    with platform.database.writing() as tx:
        kept, _ = seen_by(tx, name, staff_id)
        if not store.settle(tx, kept.id, notice_id, show_again=show_again, now=now):
            raise NotFound(f"{name} has no such notice of a rater. Load the list again.")
        by_staff(tx, kept.id, "settle", staff_id, now, notice=notice_id, show_again=show_again)


def staff_id_of(platform: Platform, name: str) -> str:
    """Return an owner of a campaign, for whoever runs the platform and may act for all owners."""
    with platform.database.reading() as tx:
        kept = campaigns.campaign_named(tx, name)
        return next(one.staff_id for one in membership.members_of(tx, kept.id) if one.role == "owner")


def tally(platform: Platform) -> Tally:
    """Count the whole platform."""
    with platform.database.reading() as tx:
        return Tally(raters=store.all_raters(tx), n_saves=store.last_save(tx), webhooks=webhooks.by_state(tx))
