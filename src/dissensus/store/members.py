"""Members of campaigns with their roles, and invitations of staff."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, ForeignKey, delete, func, insert, select, update
from sqlalchemy.orm import Mapped, aliased, mapped_column

from dissensus.schema.campaign.roles import ROLES, Role, parse_role
from dissensus.store.core.orm import HASH, Base, check_in, find_row, hash_key, list_columns, list_rows
from dissensus.store.identity.api_tokens import ApiTokenExclusionTable, ApiTokenTable
from dissensus.store.staff import StaffTable


class MemberTable(Base):
    """Membership of a staff member in a campaign."""

    __tablename__ = "member"
    __table_args__ = (check_in("role", *ROLES),)

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True, index=True)
    role: Mapped[str]
    added_by: Mapped[str | None] = mapped_column(
        ForeignKey("staff.id"), doc="Member whose invitation was accepted; null for the creator of the campaign."
    )
    created_at: Mapped[datetime]


class StaffInvitationTable(Base):
    """A one-time link by which a staff member joins a campaign.

    It is valid while the member who made it is an owner, and while the token through which it was made is valid.
    """

    __tablename__ = "staff_invitation"
    __table_args__ = (check_in("role", *ROLES),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    role: Mapped[str]
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), doc="Its maker.")
    token_id: Mapped[str | None] = mapped_column(ForeignKey("api_token.key_hash", ondelete="CASCADE"))
    address: Mapped[str | None] = mapped_column(doc="E-mail address to which the link was mailed; null if it was not.")
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A member of a campaign."""

    staff_id: str
    name: str
    role: Role
    has_address: bool  # True if mails can reach the member
    added_by: str | None  # Name
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingInvitation:
    """An unused invitation of staff."""

    id: str  # Hash of its key
    campaign_id: str
    role: Role  # Role after joining
    created_by: str  # Name of its maker
    token: str | None  # Name of the token through which it was made
    address: str | None  # E-mail address to which it was sent
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidInvitation:
    """Campaign, role, maker and address of a valid invitation."""

    campaign_id: str
    role: Role
    staff_id: str
    address: str | None = None


def find_role(tx: Connection, campaign_id: str, staff_id: str) -> Role | None:
    """Return the role of a staff member in a campaign, or None."""
    result: Role | None = tx.scalar(select(MemberTable.role).where(_is_member(campaign_id, staff_id)))
    return result


_HAS_ADDRESS = StaffTable.email.is_not(None) & StaffTable.disabled_at.is_(None)


def list_members(tx: Connection, campaign_id: str) -> tuple[MemberRow, ...]:
    """Return the members of a campaign, the earliest first."""
    adder = aliased(StaffTable)
    columns = (MemberTable.staff_id, StaffTable.name, MemberTable.role, MemberTable.created_at)
    query = (
        select(*columns, adder.name.label("added_by"), _HAS_ADDRESS.label("has_address"))
        .join(StaffTable, StaffTable.id == MemberTable.staff_id)
        .outerjoin(adder, adder.id == MemberTable.added_by)
        .where(MemberTable.campaign_id == campaign_id)
        .order_by(MemberTable.created_at, StaffTable.name)
    )
    return list_rows(tx, query, MemberRow)


def load_roles(tx: Connection, staff_id: str) -> dict[str, Role]:
    """Return the roles of a staff member by campaign id."""
    query = select(MemberTable.campaign_id, MemberTable.role).where(MemberTable.staff_id == staff_id)
    return {campaign_id: parse_role(role) for campaign_id, role in tx.execute(query)}


def count_owners(tx: Connection, campaign_id: str) -> int:
    """Count the owners of a campaign."""
    owners = (MemberTable.campaign_id == campaign_id) & (MemberTable.role == "owner")
    return tx.scalar(select(func.count()).select_from(MemberTable).where(owners)) or 0


def add_member(
    tx: Connection, campaign_id: str, staff_id: str, role: Role, *, added_by: str | None = None, now: datetime
) -> None:
    """Add a member to a campaign."""
    row = {"campaign_id": campaign_id, "staff_id": staff_id, "role": role, "added_by": added_by, "created_at": now}
    tx.execute(insert(MemberTable).values(**row))


def set_role(tx: Connection, campaign_id: str, staff_id: str, role: Role) -> None:
    """Set the role of a member."""
    tx.execute(update(MemberTable).where(_is_member(campaign_id, staff_id)).values(role=role))


def remove_member(tx: Connection, campaign_id: str, staff_id: str) -> None:
    """Remove a member from a campaign."""
    tx.execute(delete(MemberTable).where(_is_member(campaign_id, staff_id)))


def _is_member(campaign_id: str, staff_id: str) -> ColumnElement[bool]:
    return (MemberTable.campaign_id == campaign_id) & (MemberTable.staff_id == staff_id)


def add_staff_invitation(
    tx: Connection, key: str, invitation: ValidInvitation, *, token_id: str | None, expires_at: datetime
) -> None:
    """Insert an invitation of staff, by the hash of its key."""
    row = {"key_hash": hash_key(key), **asdict(invitation), "token_id": token_id, "expires_at": expires_at}
    tx.execute(insert(StaffInvitationTable).values(**row))


def list_pending_invitations(
    tx: Connection, *, campaign_id: str | None = None, staff_id: str | None = None, now: datetime
) -> tuple[PendingInvitation, ...]:
    """Return the valid invitations to a campaign, or those of a maker, the first to expire first."""
    table = StaffInvitationTable
    owned = table.campaign_id == campaign_id if staff_id is None else table.staff_id == staff_id
    query = (
        select(
            table.key_hash.label("id"),
            table.campaign_id,
            table.role,
            StaffTable.name.label("created_by"),
            ApiTokenTable.name.label("token"),
            table.address,
            table.expires_at,
        )
        .join(StaffTable, StaffTable.id == table.staff_id)
        .outerjoin(ApiTokenTable, ApiTokenTable.key_hash == table.token_id)
        .where(owned, _is_valid(now))
        .order_by(table.expires_at, table.key_hash)
    )
    return list_rows(tx, query, PendingInvitation)


def revoke_invitation(
    tx: Connection, invitation_id: str, *, campaign_id: str | None = None, staff_id: str | None = None
) -> bool:
    """Delete an invitation to a campaign, or one of a maker, and return whether it existed."""
    table = StaffInvitationTable
    owned = table.campaign_id == campaign_id if staff_id is None else table.staff_id == staff_id
    return tx.execute(delete(table).where(table.key_hash == invitation_id, owned)).rowcount > 0


def revoke_invitations_by(tx: Connection, campaign_id: str, staff_id: str) -> None:
    """Delete all invitations to a campaign that a staff member made."""
    table = StaffInvitationTable
    tx.execute(delete(table).where(table.campaign_id == campaign_id, table.staff_id == staff_id))


def revoke_invitations_through(tx: Connection, campaign_id: str, token_id: str) -> None:
    """Delete all invitations to a campaign that were made through a token."""
    table = StaffInvitationTable
    tx.execute(delete(table).where(table.campaign_id == campaign_id, table.token_id == token_id))


def find_invitation(tx: Connection, key: str, *, now: datetime) -> ValidInvitation | None:
    """Return a valid invitation, or None."""
    table = StaffInvitationTable
    query = select(*list_columns(table, ValidInvitation)).where(_has_key(key), _is_valid(now))
    return find_row(tx, query, ValidInvitation)


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
    table = StaffInvitationTable
    return table.used_at.is_(None) & (table.expires_at > now) & _is_from_owner() & _is_from_valid_token(now)


def _is_from_owner() -> ColumnElement[bool]:
    table = StaffInvitationTable
    maker = (MemberTable.campaign_id == table.campaign_id) & (MemberTable.staff_id == table.staff_id)
    owner = select(MemberTable.staff_id).join(StaffTable, StaffTable.id == MemberTable.staff_id)
    admitted = owner.where(maker, MemberTable.role == "owner", StaffTable.disabled_at.is_(None))
    return admitted.correlate(table).exists()


def _is_from_valid_token(now: datetime) -> ColumnElement[bool]:
    table, token = StaffInvitationTable, aliased(ApiTokenTable)
    valid = select(token.key_hash).where(token.key_hash == table.token_id, token.expires_at > now)
    exclusion = ApiTokenExclusionTable
    ended = (exclusion.token_id == table.token_id) & (exclusion.campaign_id == table.campaign_id)
    excluded = select(exclusion.token_id).where(ended)
    return table.token_id.is_(None) | (valid.correlate(table).exists() & ~excluded.correlate(table).exists())
