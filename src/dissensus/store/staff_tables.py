"""The people who run campaigns: who they are, how they come in, and which campaigns they belong to."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.schema.campaign.roles import ROLES
from dissensus.store.core.orm import HASH, ID, Base, among


class Staff(Base):
    """Somebody who works on campaigns."""

    __tablename__ = "staff"
    __table_args__ = (Index("uq_staff_email", "email", unique=True), Index("uq_staff_subject", "subject", unique=True))

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    password_hash: Mapped[str | None] = mapped_column(doc="Argon2id with its salt; null where there is no password.")
    email: Mapped[str | None] = mapped_column(doc="By which a provider may tell who they are.")
    subject: Mapped[str | None] = mapped_column(doc="Who they are at the provider, once they came by it.")
    created_at: Mapped[datetime]


class Failure(Base):
    """How often somebody failed to sign in by a name, or from an address."""

    __tablename__ = "failure"

    trace: Mapped[str] = mapped_column(HASH, primary_key=True, doc="Of the name or the address, under the secret key.")
    n: Mapped[int]
    last_at: Mapped[datetime]


class Token(Base):
    """By which a program does what somebody of the staff may."""

    __tablename__ = "token"
    __table_args__ = (UniqueConstraint("staff_id", "name"),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    name: Mapped[str]
    scopes: Mapped[str] = mapped_column(doc="Actions, with spaces between.")
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None] = mapped_column(doc="Lately, to the minute.")


class Idempotency(Base):
    """A request of a program that made something, and what was answered, for a day."""

    __tablename__ = "idempotency"

    token_hash: Mapped[str] = mapped_column(ForeignKey("token.key_hash", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True, doc="Chosen by the program.")
    digest: Mapped[str] = mapped_column(HASH, doc="Of all that it says.")
    status: Mapped[int | None] = mapped_column(doc="Null while there is no answer.")
    salt: Mapped[str] = mapped_column(String(32))
    sealed: Mapped[str] = mapped_column(doc="The answer, which nobody reads without the token and the key.")
    created_at: Mapped[datetime] = mapped_column(index=True)


class SignIn(Base):
    """A link that signs somebody in, once."""

    __tablename__ = "sign_in"

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Membership(Base):
    """That somebody of the staff belongs to a campaign."""

    __tablename__ = "membership"
    __table_args__ = (among("role", *ROLES),)

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), primary_key=True, index=True)
    role: Mapped[str]
    created_at: Mapped[datetime]


class StaffInvitation(Base):
    """A link by which somebody comes to belong to a campaign, once."""

    __tablename__ = "staff_invitation"
    __table_args__ = (among("role", *ROLES),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    role: Mapped[str]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
