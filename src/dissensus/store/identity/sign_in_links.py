"""Single-use sign-in links of staff."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, ForeignKey, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import HASH, Base, hash_key


class SignInLinkTable(Base):
    """A one-time sign-in link."""

    __tablename__ = "sign_in_link"

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


def add_sign_in_link(tx: Connection, staff_id: str, key: str, *, expires_at: datetime) -> None:
    """Insert a sign-in link, by the hash of its key."""
    tx.execute(insert(SignInLinkTable).values(key_hash=hash_key(key), staff_id=staff_id, expires_at=expires_at))


def is_sign_in_link_valid(tx: Connection, key: str, *, now: datetime) -> bool:
    """Return whether a sign-in link is valid, without using it up."""
    return tx.scalar(select(SignInLinkTable.staff_id).where(_is_valid(key, now))) is not None


def use_sign_in_link(tx: Connection, key: str, *, now: datetime) -> str | None:
    """Use up a sign-in link, and return the id of its account; None if it is not valid.

    Of two concurrent uses only one succeeds, since a single statement checks and updates.
    """
    use = update(SignInLinkTable).where(_is_valid(key, now)).values(used_at=now).returning(SignInLinkTable.staff_id)
    return tx.scalar(use)


def _is_valid(key: str, now: datetime) -> ColumnElement[bool]:
    return (
        (SignInLinkTable.key_hash == hash_key(key))
        & SignInLinkTable.used_at.is_(None)
        & (SignInLinkTable.expires_at > now)
    )
