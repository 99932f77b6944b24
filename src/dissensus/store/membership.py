"""Who belongs to which campaign, in which role, and the links by which they come to."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from dissensus.schema.campaign.roles import Role, parse_role
from dissensus.store import tables as t
from dissensus.store.core.ids import hashed


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody who belongs to a campaign."""

    staff_id: str
    name: str
    role: Role  # Who they are there
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An invitation of staff that nobody has used."""

    id: str  # Which one: the hash of its key
    role: Role  # Who they will be
    expires_at: datetime


def role_of(tx: Connection, campaign_id: str, staff_id: str) -> Role | None:
    """Return who somebody is in a campaign, None where they do not belong to it."""
    found: Role | None = tx.scalar(select(t.Membership.role).where(_one(campaign_id, staff_id)))
    return found


def members_of(tx: Connection, campaign_id: str) -> tuple[Member, ...]:
    """Return who belongs to a campaign, those first who came first."""
    query = (
        select(t.Membership.staff_id, t.Staff.name, t.Membership.role, t.Membership.created_at)
        .join(t.Staff, t.Staff.id == t.Membership.staff_id)
        .where(t.Membership.campaign_id == campaign_id)
        .order_by(t.Membership.created_at, t.Staff.name)
    )
    return tuple(Member(**row._mapping) for row in tx.execute(query))


def campaigns_of(tx: Connection, staff_id: str) -> dict[str, Role]:
    """Return who somebody is in each campaign that they belong to, by its id."""
    query = select(t.Membership.campaign_id, t.Membership.role).where(t.Membership.staff_id == staff_id)
    return {campaign_id: parse_role(role) for campaign_id, role in tx.execute(query)}


def n_owners(tx: Connection, campaign_id: str) -> int:
    """Return how many owners a campaign has."""
    owners = (t.Membership.campaign_id == campaign_id) & (t.Membership.role == "owner")
    return tx.scalar(select(func.count()).select_from(t.Membership).where(owners)) or 0


def join(tx: Connection, campaign_id: str, staff_id: str, role: Role, *, now: datetime) -> None:
    """Keep that somebody, who does not yet, belongs to a campaign."""
    row = {"campaign_id": campaign_id, "staff_id": staff_id, "role": role, "created_at": now}
    tx.execute(insert(t.Membership).values(**row))


def set_role(tx: Connection, campaign_id: str, staff_id: str, role: Role) -> None:
    """Keep another role of somebody."""
    tx.execute(update(t.Membership).where(_one(campaign_id, staff_id)).values(role=role))


def leave(tx: Connection, campaign_id: str, staff_id: str) -> None:
    """Keep that somebody does not belong to a campaign any more."""
    tx.execute(delete(t.Membership).where(_one(campaign_id, staff_id)))


def _one(campaign_id: str, staff_id: str) -> ColumnElement[bool]:
    return (t.Membership.campaign_id == campaign_id) & (t.Membership.staff_id == staff_id)


def invite(tx: Connection, campaign_id: str, key: str, role: Role, *, expires_at: datetime) -> None:
    """Keep a link by which somebody comes to belong to a campaign, by the hash of its key."""
    row = {"key_hash": hashed(key), "campaign_id": campaign_id, "role": role, "expires_at": expires_at}
    tx.execute(insert(t.StaffInvitation).values(**row))


def pending_of(tx: Connection, campaign_id: str, *, now: datetime) -> tuple[Pending, ...]:
    """Return the links of a campaign that are good, those first that end first."""
    query = (
        select(t.StaffInvitation.key_hash.label("id"), t.StaffInvitation.role, t.StaffInvitation.expires_at)
        .where(t.StaffInvitation.campaign_id == campaign_id, _good(now))
        .order_by(t.StaffInvitation.expires_at, t.StaffInvitation.key_hash)
    )
    return tuple(Pending(**row._mapping) for row in tx.execute(query))


def take_back(tx: Connection, campaign_id: str, invitation_id: str) -> bool:
    """Take a link of a campaign back, and tell whether it had it; one of another campaign stays as it is."""
    mine = (t.StaffInvitation.key_hash == invitation_id) & (t.StaffInvitation.campaign_id == campaign_id)
    return tx.execute(delete(t.StaffInvitation).where(mine)).rowcount > 0


def invited(tx: Connection, key: str, *, now: datetime) -> tuple[str, Role] | None:
    """Return to which campaign, by its id, and as whom a key lets somebody in; None where it is not good."""
    query = select(t.StaffInvitation.campaign_id, t.StaffInvitation.role).where(_is(key), _good(now))
    row = tx.execute(query).one_or_none()
    return None if row is None else (row.campaign_id, row.role)


def use_invitation(tx: Connection, key: str, *, now: datetime) -> bool:
    """Use a link up, and tell whether it was good; of two who come at once one alone gets in."""
    return tx.execute(update(t.StaffInvitation).where(_is(key), _good(now)).values(used_at=now)).rowcount == 1


def _is(key: str) -> ColumnElement[bool]:
    return t.StaffInvitation.key_hash == hashed(key)


def _good(now: datetime) -> ColumnElement[bool]:
    return t.StaffInvitation.used_at.is_(None) & (t.StaffInvitation.expires_at > now)
