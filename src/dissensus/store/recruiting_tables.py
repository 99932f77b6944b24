"""Whom a recruiter sent, how they did in checks, and what they were paid."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import ID, Base


class Recruit(Base):
    """Somebody whom a recruiter sent: the one place where they are known by an id of elsewhere, erasable by itself."""

    __tablename__ = "recruit"
    __table_args__ = (UniqueConstraint("campaign_id", "person"),)

    submission: Mapped[str] = mapped_column(primary_key=True, doc="The recruiter's id of this visit.")
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    person: Mapped[str] = mapped_column(doc="The recruiter's id of the person.")
    study: Mapped[str]
    rater_id: Mapped[str | None] = mapped_column(
        ForeignKey("rater.id"), unique=True, doc="Null for who was turned away, and is not asked again."
    )
    status: Mapped[str | None] = mapped_column(doc="What the recruiter told last.")
    again: Mapped[int] = mapped_column(default=0, doc="How often the same person came by another visit.")
    return_asked_at: Mapped[datetime | None] = mapped_column(doc="When an owner asked them to give the visit back.")
    entered_at: Mapped[datetime]
    changed_at: Mapped[datetime]


class CheckAnswer(Base):
    """What a rater answered to a check, at one try."""

    __tablename__ = "check_answer"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, doc="From 1.")
    answer: Mapped[str]
    at: Mapped[datetime]


class Payment(Base):
    """What a rater was paid, as an owner noted it or the recruiter told; what is taken back is one more, below 0."""

    __tablename__ = "payment"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    amount: Mapped[int] = mapped_column(doc="In minor units of the currency of the campaign.")
    staff_id: Mapped[str | None] = mapped_column(
        ForeignKey("staff.id"), doc="Who noted it; null for what the recruiter paid, kept when its word was erased."
    )
    at: Mapped[datetime]
