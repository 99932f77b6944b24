"""What is kept of a campaign.

::

    staff ─┬─ sign_in   token ── idempotency   failure (to sign in)
           └─ membership ─┐
    campaign ─┬───────────┴─ staff_invitation
              ├─ item ──────────────┐
              ├─ consent_text ── consent ─┐
              ├─ invitation ─────── rater ─┼─ assignment ── save ── answer
              ├─ recruit ──────────────────┼─ declaration   check_answer
              ├─ screened   snapshot       ├─ notice   payment   flag_decision
              └─ seat ─────────────────────┼─ chat ── chat_exchange ─┬─ chat_candidate
                                           │                         └─ chat_pick
              session (of a rater or of staff)   event   chain   lease   webhook
    item ───── gold_label   gold_decision (by staff)

A save is what one page sent at once, and an answer is one answer of it. Both are only ever added: a correction is a
later save, and `revision` tells which one is the latest (see `dissensus.campaign.answer_drafts`). Counters beside them
(`item.load`) are what the next item is chosen by; they can be counted again from the assignments.

What somebody of the staff may do in a campaign is told by their membership alone; `campaign.staff_id` says who made it,
and grants nothing.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint, false, text
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.care_tables import Feeling as Feeling
from dissensus.store.chat_tables import Chat as Chat
from dissensus.store.chat_tables import ChatCandidate as ChatCandidate
from dissensus.store.chat_tables import ChatExchange as ChatExchange
from dissensus.store.chat_tables import ChatPick as ChatPick
from dissensus.store.core.columns import Number
from dissensus.store.core.orm import HASH, ID, among
from dissensus.store.core.orm import Base as Base
from dissensus.store.event_tables import Chain as Chain
from dissensus.store.event_tables import Event as Event
from dissensus.store.event_tables import Lease as Lease
from dissensus.store.event_tables import Webhook as Webhook
from dissensus.store.gold_tables import GoldDecision as GoldDecision
from dissensus.store.gold_tables import GoldLabel as GoldLabel
from dissensus.store.monitoring_tables import FlagDecision as FlagDecision
from dissensus.store.monitoring_tables import Snapshot as Snapshot
from dissensus.store.recruiting_tables import CheckAnswer as CheckAnswer
from dissensus.store.recruiting_tables import Payment as Payment
from dissensus.store.recruiting_tables import Recruit as Recruit
from dissensus.store.staff_tables import Failure as Failure
from dissensus.store.staff_tables import Idempotency as Idempotency
from dissensus.store.staff_tables import Membership as Membership
from dissensus.store.staff_tables import SignIn as SignIn
from dissensus.store.staff_tables import Staff as Staff
from dissensus.store.staff_tables import StaffInvitation as StaffInvitation
from dissensus.store.staff_tables import Token as Token


class Campaign(Base):
    """A campaign; its definition is whole in one document, which opening freezes."""

    __tablename__ = "campaign"
    __table_args__ = (among("state", "draft", "open", "paused", "closed"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), index=True, doc="Who made it.")
    state: Mapped[str]
    definition: Mapped[dict[str, Any]]
    digest: Mapped[str] = mapped_column(HASH)
    key: Mapped[str | None] = mapped_column(doc="Of the open link; null where entry is by invitation alone.")
    n_raters: Mapped[int] = mapped_column(default=0, doc="Who ever entered; the number of the next rater.")
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime]


class Item(Base):
    """A conversation whose last turn is rated, alone or beside another response."""

    __tablename__ = "item"
    __table_args__ = (UniqueConstraint("campaign_id", "name"), UniqueConstraint("campaign_id", "position"))

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    position: Mapped[int]
    name: Mapped[str] = mapped_column(doc="Its item_id in files.")
    content: Mapped[dict[str, Any]] = mapped_column(doc="Turns, attributes, and response B of a pair.")
    load: Mapped[int] = mapped_column(default=0, doc="Assignments that are open or done.")
    withheld: Mapped[bool] = mapped_column(
        default=False, server_default=false(), doc="Whether somebody reported it as what must not be shown."
    )


class ConsentText(Base):
    """What raters are asked to agree to, word by word, as it was at a time."""

    __tablename__ = "consent_text"
    __table_args__ = (UniqueConstraint("campaign_id", "version"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    version: Mapped[int]
    digest: Mapped[str] = mapped_column(HASH)
    content: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class Invitation(Base):
    """A personal link."""

    __tablename__ = "invitation"

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    cell: Mapped[str | None] = mapped_column(doc="Where the recruiter chose raters by the cells of the quota.")
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Rater(Base):
    """Somebody who agreed to take part; nothing is kept of others."""

    __tablename__ = "rater"
    __table_args__ = (
        UniqueConstraint("campaign_id", "number"),
        among("state", "rating", "finished", "stopped", "withdrawn"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    number: Mapped[int] = mapped_column(doc="Seeds the order of items.")
    invitation_hash: Mapped[str | None] = mapped_column(ForeignKey("invitation.key_hash"), unique=True)
    cell: Mapped[str | None] = mapped_column(doc="Of the quota; null where there is none, or before it is known.")
    left_out: Mapped[str | None] = mapped_column(doc="Topics that they do not want to meet, one a line; null before.")
    state: Mapped[str]
    language: Mapped[str]
    rehearsal: Mapped[bool] = mapped_column(default=False, doc="A preview or a dry run, never exported.")
    worked_ms: Mapped[int | None] = mapped_column(doc="Of who withdrew, to be paid; of others their saves tell it.")
    had_finished: Mapped[bool | None] = mapped_column(doc="Of who withdrew, to be paid: whether they had finished.")
    entered_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    changed_at: Mapped[datetime]


class Seat(Base):
    """A place in a cell of a quota."""

    __tablename__ = "seat"
    __table_args__ = (
        among("state", "free", "held", "taken"),
        CheckConstraint("(state = 'free') = (rater_id IS NULL)", name="of_somebody"),
        Index("ix_seat_campaign_id_cell_state", "campaign_id", "cell", "state"),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    cell: Mapped[str]
    state: Mapped[str] = mapped_column(doc="Held by somebody who rates, or taken for good by who has finished.")
    rater_id: Mapped[str | None] = mapped_column(ForeignKey("rater.id"), unique=True)
    changed_at: Mapped[datetime]


class Screened(Base):
    """How many were turned away because their cell was full; nothing is kept of whom."""

    __tablename__ = "screened"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    cell: Mapped[str] = mapped_column(primary_key=True)
    n: Mapped[int]


class Session(Base):
    """A browser that is signed in."""

    __tablename__ = "session"
    __table_args__ = (CheckConstraint("(rater_id IS NULL) <> (staff_id IS NULL)", name="of_one"),)

    key_hash: Mapped[str] = mapped_column(HASH, primary_key=True)
    rater_id: Mapped[str | None] = mapped_column(ForeignKey("rater.id"), index=True)
    staff_id: Mapped[str | None] = mapped_column(ForeignKey("staff.id"), index=True)
    expires_at: Mapped[datetime]


class Consent(Base):
    """What a rater said to one purpose of a consent text."""

    __tablename__ = "consent"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    consent_text_id: Mapped[str] = mapped_column(ForeignKey("consent_text.id"), primary_key=True)
    purpose: Mapped[str] = mapped_column(primary_key=True)
    given: Mapped[bool]
    at: Mapped[datetime]


class Assignment(Base):
    """An item that a rater is to rate; planned, then offered, then done."""

    __tablename__ = "assignment"
    __table_args__ = (
        among("state", "open", "done", "skipped", "reclaimed"),
        Index("ix_assignment_rater_id_position", "rater_id", "position"),
        Index(
            "ix_assignment_open",
            "rater_id",
            "position",
            sqlite_where=text("state = 'open'"),
            postgresql_where=text("state = 'open'"),
        ),
        Index(
            "uq_assignment_rater_id_item_id",
            "rater_id",
            "item_id",
            unique=True,
            sqlite_where=text("state <> 'reclaimed'"),
            postgresql_where=text("state <> 'reclaimed'"),
        ),
    )

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"))
    item_id: Mapped[str] = mapped_column(ForeignKey("item.id"), index=True)
    position: Mapped[int] = mapped_column(doc="In the rater's own order.")
    state: Mapped[str]
    planned_at: Mapped[datetime]
    offered_at: Mapped[datetime | None]
    closed_at: Mapped[datetime | None] = mapped_column(doc="When it was done, skipped or reclaimed.")
    shown_first: Mapped[str | None] = mapped_column(doc="Of a pair: the response on the left, a or b.")


class Save(Base):
    """What one page sent at once."""

    __tablename__ = "save"

    number: Mapped[int] = mapped_column(Number, primary_key=True, doc="In the order in which they came.")
    key: Mapped[str] = mapped_column(ID, unique=True, doc="Chosen by the page: the same save twice is one.")
    assignment_id: Mapped[str] = mapped_column(ForeignKey("assignment.id"), index=True)
    revision: Mapped[int]
    final: Mapped[bool] = mapped_column(doc="Whether it ended the assignment.")
    visit: Mapped[str] = mapped_column(String(36), doc="One showing of the item on one page.")
    visible_ms: Mapped[int] = mapped_column(doc="Of this visit, so far, with the page in view.")
    idle_ms: Mapped[int] = mapped_column(doc="Of those, without any input for a while.")
    received_at: Mapped[datetime]


class Answer(Base):
    """One answer of a save."""

    __tablename__ = "answer"

    save_number: Mapped[int] = mapped_column(Number, ForeignKey("save.number", ondelete="CASCADE"), primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str] = mapped_column(doc="JSON: a text, a list of texts, or null where it was taken back.")
    first_ms: Mapped[int] = mapped_column(doc="First answered, of the visible time of its visit.")
    last_ms: Mapped[int]
    changes: Mapped[int]


class Declaration(Base):
    """What a rater said of themselves."""

    __tablename__ = "declaration"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    content: Mapped[dict[str, Any]]
    at: Mapped[datetime]


class Notice(Base):
    """A rater who needs help, or reports what must not be shown."""

    __tablename__ = "notice"
    __table_args__ = (among("kind", "help", "illegal"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    assignment_id: Mapped[str | None] = mapped_column(ForeignKey("assignment.id"))
    kind: Mapped[str]
    text: Mapped[str]
    at: Mapped[datetime]
    answered_at: Mapped[datetime | None]
