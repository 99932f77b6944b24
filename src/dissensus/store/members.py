"""Members of campaigns with their roles, and invitations of staff."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, ForeignKey, delete, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.schema.campaign.roles import ROLES, Role, parse_role
from dissensus.store.core.orm import HASH, Base, hash_key, one_of
from dissensus.store.staff import StaffTable


class MemberTable(Base):
    """Membership of a staff member in a campaign."""

    __tablename__ = "member"
    __table_args__ = (one_of("role", *ROLES),)

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True, index=True)
    role: Mapped[str]
    created_at: Mapped[datetime]


class StaffInvitationTable(Base):
    """A one-time link by which a staff member joins a campaign."""

    __tablename__ = "staff_invitation"
    __table_args__ = (one_of("role", *ROLES),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    role: Mapped[str]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A member of a campaign."""

    staff_id: str
    name: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInvitation:
    """An unused invitation of staff."""

    id: str  # Hash of its key
    role: Role  # Role after joining
    expires_at: datetime


def find_role(tx: Connection, campaign_id: str, staff_id: str) -> Role | None:
    """Return the role of a staff member in a campaign, or None."""
    result: Role | None = tx.scalar(select(MemberTable.role).where(_is_member(campaign_id, staff_id)))
    return result


def list_members(tx: Connection, campaign_id: str) -> tuple[MemberRow, ...]:
    """Return the members of a campaign, the earliest first."""
    query = (
        select(MemberTable.staff_id, StaffTable.name, MemberTable.role, MemberTable.created_at)
        .join(StaffTable, StaffTable.id == MemberTable.staff_id)
        .where(MemberTable.campaign_id == campaign_id)
        .order_by(MemberTable.created_at, StaffTable.name)
    )
    return tuple(MemberRow(**row._mapping) for row in tx.execute(query))


def load_roles(tx: Connection, staff_id: str) -> dict[str, Role]:
    """Return the roles of a staff member by campaign id."""
    query = select(MemberTable.campaign_id, MemberTable.role).where(MemberTable.staff_id == staff_id)
    return {campaign_id: parse_role(role) for campaign_id, role in tx.execute(query)}


def count_owners(tx: Connection, campaign_id: str) -> int:
    """Count the owners of a campaign."""
    owners = (MemberTable.campaign_id == campaign_id) & (MemberTable.role == "owner")
    return tx.scalar(select(func.count()).select_from(MemberTable).where(owners)) or 0


def add_member(tx: Connection, campaign_id: str, staff_id: str, role: Role, *, now: datetime) -> None:
    """Add a member to a campaign."""
    row = {"campaign_id": campaign_id, "staff_id": staff_id, "role": role, "created_at": now}
    tx.execute(insert(MemberTable).values(**row))


def set_role(tx: Connection, campaign_id: str, staff_id: str, role: Role) -> None:
    """Set the role of a member."""
    tx.execute(update(MemberTable).where(_is_member(campaign_id, staff_id)).values(role=role))


def remove_member(tx: Connection, campaign_id: str, staff_id: str) -> None:
    """Remove a member from a campaign."""
    tx.execute(delete(MemberTable).where(_is_member(campaign_id, staff_id)))


def _is_member(campaign_id: str, staff_id: str) -> ColumnElement[bool]:
    return (MemberTable.campaign_id == campaign_id) & (MemberTable.staff_id == staff_id)


def add_staff_invitation(tx: Connection, campaign_id: str, key: str, role: Role, *, expires_at: datetime) -> None:
    """Insert an invitation of staff, by the hash of its key."""
    row = {"key_hash": hash_key(key), "campaign_id": campaign_id, "role": role, "expires_at": expires_at}
    tx.execute(insert(StaffInvitationTable).values(**row))


def list_pending_invitations(tx: Connection, campaign_id: str, *, now: datetime) -> tuple[PendingInvitation, ...]:
    """Return the valid invitations of a campaign, the first to expire first."""
    query = (
        select(StaffInvitationTable.key_hash.label("id"), StaffInvitationTable.role, StaffInvitationTable.expires_at)
        .where(StaffInvitationTable.campaign_id == campaign_id, _is_valid(now))
        .order_by(StaffInvitationTable.expires_at, StaffInvitationTable.key_hash)
    )
    return tuple(PendingInvitation(**row._mapping) for row in tx.execute(query))


def revoke_invitation(tx: Connection, campaign_id: str, invitation_id: str) -> bool:
    """Delete an invitation of a campaign, and return whether it existed."""
    in_campaign = (StaffInvitationTable.key_hash == invitation_id) & (StaffInvitationTable.campaign_id == campaign_id)
    return tx.execute(delete(StaffInvitationTable).where(in_campaign)).rowcount > 0


def find_invitation(tx: Connection, key: str, *, now: datetime) -> tuple[str, Role] | None:
    """Return campaign id and role of a valid invitation, or None."""
    query = select(StaffInvitationTable.campaign_id, StaffInvitationTable.role).where(_has_key(key), _is_valid(now))
    row = tx.execute(query).one_or_none()
    return None if row is None else (row.campaign_id, row.role)


def use_invitation(tx: Connection, key: str, *, now: datetime) -> bool:
    """Use up an invitation, and return whether it was valid; of two concurrent uses only one succeeds."""
    return (
        tx.execute(update(StaffInvitationTable).where(_has_key(key), _is_valid(now)).values(used_at=now)).rowcount == 1
    )


def delete_expired_invitations(tx: Connection, *, now: datetime) -> None:
    """Delete expired invitations of staff, used ones too."""
    tx.execute(delete(StaffInvitationTable).where(StaffInvitationTable.expires_at <= now))


def _has_key(key: str) -> ColumnElement[bool]:
    return StaffInvitationTable.key_hash == hash_key(key)


def _is_valid(now: datetime) -> ColumnElement[bool]:
    return StaffInvitationTable.used_at.is_(None) & (StaffInvitationTable.expires_at > now)
