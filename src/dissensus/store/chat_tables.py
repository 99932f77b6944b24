"""Conversations with chatbots: what people wrote, what came back, and what they preferred; each only ever added."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import ID, Base, among


class Chat(Base):
    """A conversation of a rater with chatbots."""

    __tablename__ = "chat"
    __table_args__ = (UniqueConstraint("rater_id", "number"), among("state", "open", "done"))

    id: Mapped[str] = mapped_column(ID, primary_key=True, doc="Chosen by the page: the same start twice is one.")
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"))
    number: Mapped[int] = mapped_column(doc="In the rater's own order, from 0.")
    mode: Mapped[str] = mapped_column(doc="At the start; each exchange has its own.")
    state: Mapped[str]
    intent_text: Mapped[str | None] = mapped_column(doc="What they were going to try.")
    success: Mapped[int | None]
    comment_text: Mapped[str | None]
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]


class ChatExchange(Base):
    """What a rater said, to which responses come."""

    __tablename__ = "chat_exchange"
    __table_args__ = (UniqueConstraint("chat_id", "number"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True, doc="Chosen by the page: the same one twice is one.")
    chat_id: Mapped[str] = mapped_column(ForeignKey("chat.id"))
    number: Mapped[int]
    mode: Mapped[str]
    said_text: Mapped[str]
    worked_ms: Mapped[int] = mapped_column(doc="The page in view, without the time in which responses came.")
    at: Mapped[datetime]
    claimed_until: Mapped[datetime | None] = mapped_column(doc="As long as a process asks for responses.")


class ChatCandidate(Base):
    """A response to an exchange."""

    __tablename__ = "chat_candidate"

    exchange_id: Mapped[str] = mapped_column(ForeignKey("chat_exchange.id", ondelete="CASCADE"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, doc="0 for A, 1 for B.")
    chatbot: Mapped[str]
    seed: Mapped[int]
    response: Mapped[str | None] = mapped_column(doc="Null until it has come.")
    finish: Mapped[str | None]
    first_ms: Mapped[int | None] = mapped_column(doc="To its first word.")
    total_ms: Mapped[int | None]
    n_failures: Mapped[int] = mapped_column(doc="How often none came.")
    ranked_by: Mapped[str | None] = mapped_column(doc="The version of a model line that chose it.")


class ChatPick(Base):
    """With which response a conversation goes on, and what was preferred where two were compared."""

    __tablename__ = "chat_pick"

    exchange_id: Mapped[str] = mapped_column(ForeignKey("chat_exchange.id", ondelete="CASCADE"), primary_key=True)
    compared: Mapped[str | None] = mapped_column(doc="The question that was asked; null for one response.")
    strength: Mapped[int | None] = mapped_column(doc="Below 0 for A, above for B.")
    edit_text: Mapped[str | None]
    continues: Mapped[int]
    worked_ms: Mapped[int]
    at: Mapped[datetime]
