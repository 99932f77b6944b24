"""API tokens of staff, by the hashes of their keys."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ForeignKey, UniqueConstraint, delete, insert, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.errors import Conflict
from dissensus.schema.hints import format_value
from dissensus.store.core.orm import HASH, Base, hash_key
from dissensus.store.staff import StaffRow, StaffTable


class ApiTokenTable(Base):
    """An API token, which grants a program some permissions of its owner."""

    __tablename__ = "api_token"
    __table_args__ = (UniqueConstraint("staff_id", "name"),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    name: Mapped[str]
    scopes: Mapped[str] = mapped_column(doc="Actions, separated by spaces.")
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None] = mapped_column(doc="Time of the last use, to the minute.")


class ApiTokenExclusionTable(Base):
    """A campaign in which a token has ended, since its owner lost a role there or an owner ended it."""

    __tablename__ = "api_token_exclusion"

    token_id: Mapped[str] = mapped_column(ForeignKey("api_token.key_hash", ondelete="CASCADE"), primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiTokenRow:
    """A token, without its key."""

    id: str  # Hash of its key
    staff_id: str
    name: str
    scopes: frozenset[str]  # Actions that it allows
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None  # Time of the last use, to the minute


_COLUMNS = (
    ApiTokenTable.key_hash,
    ApiTokenTable.staff_id,
    ApiTokenTable.name,
    ApiTokenTable.scopes,
    ApiTokenTable.created_at,
    ApiTokenTable.expires_at,
    ApiTokenTable.used_at,
)


def add_api_token(tx: Connection, key: str, token: ApiTokenRow) -> None:
    """Store a new token, by the hash of its key."""
    row = {
        "key_hash": hash_key(key),
        "staff_id": token.staff_id,
        "name": token.name,
        "scopes": " ".join(sorted(token.scopes)),
    }
    times = {"created_at": token.created_at, "expires_at": token.expires_at}
    try:
        tx.execute(insert(ApiTokenTable).values(**row, **times))
    except IntegrityError:
        raise Conflict(
            f"You have a token called {format_value(token.name)}. Revoke it, or choose another name."
        ) from None


def list_api_tokens(tx: Connection, staff_id: str, *, now: datetime) -> tuple[ApiTokenRow, ...]:
    """Return the valid tokens of a staff member, by name."""
    query = (
        select(*_COLUMNS)
        .where(ApiTokenTable.staff_id == staff_id, ApiTokenTable.expires_at > now)
        .order_by(ApiTokenTable.name)
    )
    return tuple(_to_row(*row) for row in tx.execute(query))


def find_api_token(tx: Connection, key: str, *, now: datetime) -> tuple[StaffRow, ApiTokenRow] | None:
    """Return a valid token by its key, with its owner, or None."""
    query = (
        select(StaffTable.id, StaffTable.name, StaffTable.created_at, *_COLUMNS)
        .join(StaffTable, StaffTable.id == ApiTokenTable.staff_id)
        .where(ApiTokenTable.key_hash == hash_key(key), ApiTokenTable.expires_at > now)
        .where(StaffTable.disabled_at.is_(None))
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    return StaffRow(id=row[0], name=row[1], created_at=row[2]), _to_row(*row[3:])


def record_token_use(tx: Connection, token_id: str, *, now: datetime) -> None:
    """Set the time of the last use of a token."""
    tx.execute(update(ApiTokenTable).where(ApiTokenTable.key_hash == token_id).values(used_at=now))


def revoke_api_token(tx: Connection, staff_id: str, token_id: str) -> str | None:
    """Delete a token, if it is of this staff member, and return its name, or None."""
    owned = (ApiTokenTable.key_hash == token_id) & (ApiTokenTable.staff_id == staff_id)
    name: str | None = tx.scalar(delete(ApiTokenTable).where(owned).returning(ApiTokenTable.name))
    return name


def list_tokens_in_campaign(
    tx: Connection, campaign_id: str, staff_ids: Collection[str], *, now: datetime
) -> tuple[ApiTokenRow, ...]:
    """Return the valid tokens of staff members that have not ended in a campaign, by name."""
    query = (
        select(*_COLUMNS)
        .where(ApiTokenTable.staff_id.in_(staff_ids), ApiTokenTable.expires_at > now)
        .where(~_has_ended_in(campaign_id))
        .order_by(ApiTokenTable.name, ApiTokenTable.key_hash)
    )
    return tuple(_to_row(*row) for row in tx.execute(query))


def _has_ended_in(campaign_id: str) -> ColumnElement[bool]:
    exclusion = ApiTokenExclusionTable
    return (
        select(exclusion.token_id)
        .where(exclusion.token_id == ApiTokenTable.key_hash, exclusion.campaign_id == campaign_id)
        .exists()
    )


def list_exclusions(tx: Connection, token_ids: Collection[str]) -> set[tuple[str, str]]:
    """Return tokens with the campaigns in which they have ended, as pairs of ids."""
    query = select(ApiTokenExclusionTable.token_id, ApiTokenExclusionTable.campaign_id)
    rows = tx.execute(query.where(ApiTokenExclusionTable.token_id.in_(token_ids)))
    return {(token_id, campaign_id) for token_id, campaign_id in rows}


def end_tokens_in_campaign(
    tx: Connection, campaign_id: str, *, staff_id: str | None = None, token_id: str | None = None
) -> None:
    """End in a campaign all tokens of a staff member, or one token."""
    is_ended = ApiTokenTable.staff_id == staff_id if token_id is None else ApiTokenTable.key_hash == token_id
    rows = select(ApiTokenTable.key_hash, literal(campaign_id)).where(is_ended, ~_has_ended_in(campaign_id))
    tx.execute(insert(ApiTokenExclusionTable).from_select(["token_id", "campaign_id"], rows))


def _to_row(key_hash: str, staff_id: str, name: str, scopes: str, *times: datetime | None) -> ApiTokenRow:
    named_times: dict[str, Any] = dict(zip(("created_at", "expires_at", "used_at"), times, strict=True))
    return ApiTokenRow(id=key_hash, staff_id=staff_id, name=name, scopes=frozenset(scopes.split()), **named_times)


def delete_expired_tokens(tx: Connection, *, now: datetime) -> None:
    """Delete expired tokens."""
    tx.execute(delete(ApiTokenTable).where(ApiTokenTable.expires_at <= now))
