"""Payments to raters, and the work that they are paid for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    ForeignKey,
    Select,
    SQLColumnExpression,
    Subquery,
    case,
    cast,
    func,
    insert,
    select,
    union_all,
    update,
)
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.pay import MAX_VISIT_MS
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.chats import ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.core.ids import new_id
from dissensus.store.core.orm import ID, Base
from dissensus.store.raters import RaterState, RaterTable
from dissensus.store.recruits import RecruitTable
from dissensus.store.staff import StaffTable


class PaymentTable(Base):
    """A payment to a rater, noted by an owner or told by the recruiter; a reversal is one more row, below 0."""

    __tablename__ = "payment"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    amount: Mapped[int] = mapped_column(doc="In minor units of the currency of the campaign.")
    staff_id: Mapped[str | None] = mapped_column(
        ForeignKey("staff.id"), doc="Who noted it; null for what the recruiter paid, kept when its word was erased."
    )
    at: Mapped[datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentRow:
    """A payment, or the reversal of one."""

    id: str
    rater_id: str
    amount: int  # In minor units; below 0 where it takes another one back
    by: str | None  # The name of who noted it; None for what the recruiter paid
    at: datetime  # When it was noted


_SELECT_PAYMENTS = select(
    PaymentTable.id, PaymentTable.rater_id, PaymentTable.amount, StaffTable.name.label("by"), PaymentTable.at
).outerjoin(StaffTable, StaffTable.id == PaymentTable.staff_id)


def list_payments(tx: Connection, rater_id: str) -> tuple[PaymentRow, ...]:
    """Return the payments to a rater, the latest first."""
    query = _SELECT_PAYMENTS.where(PaymentTable.rater_id == rater_id).order_by(
        PaymentTable.at.desc(), PaymentTable.id.desc()
    )
    return tuple(PaymentRow(**row._mapping) for row in tx.execute(query))


def find_payment(tx: Connection, payment_id: str) -> PaymentRow | None:
    """Return a payment by its id, or None."""
    row = tx.execute(_SELECT_PAYMENTS.where(PaymentTable.id == payment_id)).one_or_none()
    return None if row is None else PaymentRow(**row._mapping)


def add_payment(
    tx: Connection, rater_id: str, amount: int, *, payment_id: str | None = None, staff_id: str | None, now: datetime
) -> None:
    """Insert a payment."""
    row = {"id": payment_id or new_id(now), "rater_id": rater_id, "amount": amount, "staff_id": staff_id, "at": now}
    tx.execute(insert(PaymentTable).values(**row))


MAX_WORK_MS: Final = 2**31 - 1
"""As the column takes it, 24 days of work: more can only be made up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterWork:
    """Work of one rater, by which they are paid."""

    rater_id: str  # Who, and whether they go on
    number: int
    state: RaterState
    entered_at: datetime
    had_finished: bool | None  # True if who withdrew had finished; None for others
    n_rated: int
    worked_ms: int  # As `dissensus.campaign.pay.worked_ms` counts it; of who withdrew, as it was then
    noted: int  # What they were paid in all, as it was noted, in minor units
    status: str | None  # What the recruiter told last of their visit; None if it told nothing, or sent nobody

    @property
    def finished(self) -> bool:
        """True for raters who did all that there was for them, and at least one item."""
        return (self.state == "finished" and self.n_rated > 0) or bool(self.had_finished)


def load_work(tx: Connection, campaign_id: str, *, rater_ids: Collection[str] | None = None) -> tuple[RaterWork, ...]:
    """Return the work of the raters of a campaign, or of some, in order of entry and without rehearsals."""
    owned = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal
    owned = owned if rater_ids is None else owned & RaterTable.id.in_(rater_ids)
    rated, worked, noted = _count_rated(owned), _sum_worked_ms(owned), _sum_payments(owned)
    query = (
        select(
            RaterTable.id.label("rater_id"),
            RaterTable.number,
            RaterTable.state,
            RaterTable.entered_at,
            RaterTable.had_finished,
        )
        .add_columns(func.coalesce(rated.c.n, 0).label("n_rated"))
        .add_columns(func.coalesce(RaterTable.worked_ms, worked.c.ms, 0).label("worked_ms"))
        .add_columns(func.coalesce(noted.c.amount, 0).label("noted"), RecruitTable.status)
        .outerjoin(rated, rated.c.rater_id == RaterTable.id)
        .outerjoin(worked, worked.c.rater_id == RaterTable.id)
        .outerjoin(noted, noted.c.rater_id == RaterTable.id)
        .outerjoin(RecruitTable, RecruitTable.rater_id == RaterTable.id)
        .where(owned)
        .order_by(RaterTable.number)
    )
    return tuple(RaterWork(**row._mapping) for row in tx.execute(query))


def list_rater_ids_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[str, ...]:
    """Return rater ids in the order of entry, after a number, without rehearsals."""
    owned = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal & (RaterTable.number > after)
    return tuple(tx.scalars(select(RaterTable.id).where(owned).order_by(RaterTable.number).limit(most)))


def _count_rated(theirs: ColumnElement[bool]) -> Subquery:
    """Count rated items and ended conversations by rater."""
    done = [
        select(one.rater_id).join(RaterTable, RaterTable.id == one.rater_id).where(theirs, one.state == "done")
        for one in (AssignmentTable, ChatTable)
    ]
    every = union_all(*done).subquery("done")
    return select(every.c.rater_id, func.count().label("n")).group_by(every.c.rater_id).subquery("rated")


def _sum_worked_ms(theirs: ColumnElement[bool]) -> Subquery:
    """Sum the time worked by rater: of each visit the longest time that it reported, within limits.

    What they say in a conversation, and what they pick there, is a visit each.
    """
    longest = func.max(SaveTable.visible_ms - SaveTable.idle_ms)
    visits = (
        select(AssignmentTable.rater_id, _clamp_ms(longest).label("ms"))
        .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(theirs)
        .group_by(AssignmentTable.rater_id, SaveTable.assignment_id, SaveTable.visit)
    )
    every = union_all(visits, *_select_chat_times(theirs)).subquery("visits")
    sums = select(every.c.rater_id, _sum_integers(every.c.ms).label("ms"))
    return sums.group_by(every.c.rater_id).subquery("worked")


def _select_chat_times(theirs: ColumnElement[bool]) -> tuple[Select[str, int], ...]:
    """Return the queries of times of messages and of picks."""
    picked = ChatPickTable.exchange_id == ChatExchangeTable.id
    answers = [
        select(ChatTable.rater_id, _clamp_ms(one).label("ms"))
        for one in (ChatExchangeTable.worked_ms, ChatPickTable.worked_ms)
    ]
    joined = [one.join(ChatExchangeTable, ChatExchangeTable.chat_id == ChatTable.id) for one in answers]
    joined[1] = joined[1].join(ChatPickTable, picked)
    return tuple(one.join(RaterTable, RaterTable.id == ChatTable.rater_id).where(theirs) for one in joined)


def _clamp_ms(ms: ColumnElement[int] | SQLColumnExpression[int]) -> ColumnElement[int]:
    return case((ms > MAX_VISIT_MS, MAX_VISIT_MS), (ms < 0, 0), else_=ms)


def _sum_integers(column: SQLColumnExpression[int]) -> ColumnElement[int]:
    # PostgreSQL would make a decimal of the sum of wide integers.
    return cast(func.sum(column), BigInteger)


def _sum_payments(theirs: ColumnElement[bool]) -> Subquery:
    rater = PaymentTable.rater_id
    sums = select(rater, _sum_integers(PaymentTable.amount).label("amount")).join(RaterTable, RaterTable.id == rater)
    return sums.where(theirs).group_by(rater).subquery("noted")


def set_work(tx: Connection, work: RaterWork) -> None:
    """Store the work of a rater, whose answers are about to be erased."""
    stored = {"worked_ms": min(work.worked_ms, MAX_WORK_MS), "had_finished": work.finished}
    tx.execute(update(RaterTable).where(RaterTable.id == work.rater_id).values(**stored))


def count_turned_away_by_status(tx: Connection, campaign_id: str) -> Mapping[str | None, int]:
    """Count recruited participants who were turned away, by their last status."""
    away = (RecruitTable.campaign_id == campaign_id) & RecruitTable.rater_id.is_(None)
    return dict(tx.execute(select(RecruitTable.status, func.count()).where(away).group_by(RecruitTable.status)).all())
