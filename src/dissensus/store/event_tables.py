"""What happened, to whom it is told, and what runs beside the site."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.columns import Number
from dissensus.store.core.orm import HASH, ID, Base


class Event(Base):
    """Something that somebody did, changed or saw; see `dissensus.campaign.event_log`."""

    __tablename__ = "event"
    __table_args__ = (
        UniqueConstraint("campaign_id", "place"),
        Index(
            "ix_event_loose",
            "campaign_id",
            "number",
            sqlite_where=text("place IS NULL"),
            postgresql_where=text("place IS NULL"),
        ),
    )

    number: Mapped[int] = mapped_column(Number, primary_key=True, doc="In the order in which they came.")
    campaign_id: Mapped[str] = mapped_column(
        ID, doc="Refers to nothing: who writes here would hold the campaign, after the rater, and wait for who plans."
    )
    kind: Mapped[str]
    at: Mapped[datetime | None] = mapped_column(doc="Null where it was erased, like all that follows but the digest.")
    rater_id: Mapped[str | None] = mapped_column(ID, index=True)
    staff_id: Mapped[str | None] = mapped_column(ID)
    content: Mapped[dict[str, Any] | None]
    salt: Mapped[str | None] = mapped_column(String(32))
    digest: Mapped[str] = mapped_column(HASH)
    place: Mapped[int | None] = mapped_column(doc="In the chain; null until it is linked.")
    link: Mapped[str | None] = mapped_column(HASH)


class Chain(Base):
    """The end of the chain of a campaign; whoever links events holds it."""

    __tablename__ = "chain"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    n: Mapped[int]
    head: Mapped[str] = mapped_column(HASH)


class Webhook(Base):
    """An address that is told what happens; see `dissensus.campaign.webhook_batches`."""

    __tablename__ = "webhook"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), doc="Who answers for it, as long as they own it.")
    address: Mapped[str]
    kinds: Mapped[str] = mapped_column(doc="Divided by commas; empty for all, also for those to come.")
    secret_hash: Mapped[str] = mapped_column(HASH, doc="The secret is derived from that of the site, and kept nowhere.")
    place: Mapped[int] = mapped_column(doc="In the chain, of the last event that was delivered.")
    through: Mapped[int | None] = mapped_column(doc="Of the last event of a batch that failed, and is tried again.")
    due_at: Mapped[datetime]
    n_failures: Mapped[int] = mapped_column(doc="In a row.")
    failing_since: Mapped[datetime | None]
    trouble: Mapped[str] = mapped_column(doc="Why the last delivery was not taken; empty where it was.")
    paused: Mapped[str] = mapped_column(doc="Why nothing is delivered any more; empty where it is.")
    delivered_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class Lease(Base):
    """Which process does what one alone does, and until when."""

    __tablename__ = "lease"

    name: Mapped[str] = mapped_column(primary_key=True)
    holder: Mapped[str]
    expires_at: Mapped[datetime]
