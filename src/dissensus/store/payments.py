"""Payments to raters and the work that is paid."""

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

from dissensus.campaign.pay import MAX_VISIT_MS, RatingEnd
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.chats import ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.core.orm import ID, Base, find_row, list_columns, list_rows, new_id
from dissensus.store.raters import RaterState, RaterTable
from dissensus.store.recruits import RecruitTable
from dissensus.store.staff import StaffTable


class PaymentTable(Base):
    """A payment to a rater, recorded by an owner or implied by the recruiter; a reversal is another row, below 0."""

    __tablename__ = "payment"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    amount: Mapped[int] = mapped_column(doc="In minor units of the currency of the campaign.")
    staff_id: Mapped[str | None] = mapped_column(
        ForeignKey("staff.id"), doc="Owner who recorded it; null for a payment by the recruiter."
    )
    at: Mapped[datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentRow:
    """A payment, or the reversal of one."""

    id: str
    rater_id: str
    amount: int  # In minor units; below 0 for a reversal
    by: str | None  # Name of the owner who recorded it; None for a payment by the recruiter
    at: datetime


_SELECT_PAYMENTS = select(
    *list_columns(PaymentTable, PaymentRow, joined={"by"}), StaffTable.name.label("by")
).outerjoin(StaffTable, StaffTable.id == PaymentTable.staff_id)


def list_payments(tx: Connection, rater_id: str) -> tuple[PaymentRow, ...]:
    """Return the payments to a rater, the latest first."""
    query = _SELECT_PAYMENTS.where(PaymentTable.rater_id == rater_id).order_by(
        PaymentTable.at.desc(), PaymentTable.id.desc()
    )
    return list_rows(tx, query, PaymentRow)


def find_payment(tx: Connection, payment_id: str) -> PaymentRow | None:
    """Return a payment by its id, or None."""
    return find_row(tx, _SELECT_PAYMENTS.where(PaymentTable.id == payment_id), PaymentRow)


def add_payment(
    tx: Connection, rater_id: str, amount: int, *, payment_id: str | None = None, staff_id: str | None, now: datetime
) -> None:
    """Insert a payment."""
    row = {"id": payment_id or new_id(now), "rater_id": rater_id, "amount": amount, "staff_id": staff_id, "at": now}
    tx.execute(insert(PaymentTable).values(**row))


MAX_WORK_MS: Final = 2**31 - 1
"""Largest value of the column: 24 days of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterWork:
    """Work of one rater, by which they are paid."""

    rater_id: str
    number: int  # Zero-based entry number
    state: RaterState
    entered_at: datetime
    rating_end: RatingEnd | None  # Of a withdrawn rater; None for others
    n_rated: int
    worked_ms: int  # As in `dissensus.campaign.pay.worked_ms`; preserved on withdrawal
    recorded: int  # Sum of the recorded payments, in minor units
    status: str | None  # Last status of the submission at the recruiter, if any


def load_work(tx: Connection, campaign_id: str, *, rater_ids: Collection[str] | None = None) -> tuple[RaterWork, ...]:
    """Return the work of the raters of a campaign, or of some, in order of entry and without rehearsals."""
    owned = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal
    owned = owned if rater_ids is None else owned & RaterTable.id.in_(rater_ids)
    rated, worked, recorded = _count_rated(owned), _sum_worked_ms(owned), _sum_payments(owned)
    query = (
        select(
            RaterTable.id.label("rater_id"),
            RaterTable.number,
            RaterTable.state,
            RaterTable.entered_at,
            RaterTable.rating_end,
        )
        .add_columns(func.coalesce(rated.c.n, 0).label("n_rated"))
        .add_columns(func.coalesce(RaterTable.worked_ms, worked.c.ms, 0).label("worked_ms"))
        .add_columns(func.coalesce(recorded.c.amount, 0).label("recorded"), RecruitTable.status)
        .outerjoin(rated, rated.c.rater_id == RaterTable.id)
        .outerjoin(worked, worked.c.rater_id == RaterTable.id)
        .outerjoin(recorded, recorded.c.rater_id == RaterTable.id)
        .outerjoin(RecruitTable, RecruitTable.rater_id == RaterTable.id)
        .where(owned)
        .order_by(RaterTable.number)
    )
    return list_rows(tx, query, RaterWork)


def list_rater_ids_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[str, ...]:
    """Return rater ids in the order of entry, after a number, without rehearsals."""
    owned = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal & (RaterTable.number > after)
    return tuple(tx.scalars(select(RaterTable.id).where(owned).order_by(RaterTable.number).limit(most)))


def _count_rated(condition: ColumnElement[bool]) -> Subquery:
    """Count rated items and ended conversations by rater."""
    queries = [
        select(table.rater_id).join(RaterTable, RaterTable.id == table.rater_id).where(condition, table.state == "done")
        for table in (AssignmentTable, ChatTable)
    ]
    done = union_all(*queries).subquery("done")
    return select(done.c.rater_id, func.count().label("n")).group_by(done.c.rater_id).subquery("rated")


def _sum_worked_ms(condition: ColumnElement[bool]) -> Subquery:
    """Sum the time worked by rater: the longest reported time of each visit, within limits.

    In conversations, each message and each pick is a visit.
    """
    longest = func.max(SaveTable.visible_ms - SaveTable.idle_ms)
    item_visits = (
        select(AssignmentTable.rater_id, _clamp_ms(longest).label("ms"))
        .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(condition)
        .group_by(AssignmentTable.rater_id, SaveTable.assignment_id, SaveTable.visit)
    )
    visits = union_all(item_visits, *_select_chat_times(condition)).subquery("visits")
    sums = select(visits.c.rater_id, _sum_integers(visits.c.ms).label("ms"))
    return sums.group_by(visits.c.rater_id).subquery("worked")


def _select_chat_times(condition: ColumnElement[bool]) -> tuple[Select[str, int], ...]:
    """Return the queries of times of messages and of picks."""
    messages, picks = (
        select(ChatTable.rater_id, _clamp_ms(column).label("ms"))
        .join(ChatExchangeTable, ChatExchangeTable.chat_id == ChatTable.id)
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
        .where(condition)
        for column in (ChatExchangeTable.worked_ms, ChatPickTable.worked_ms)
    )
    return messages, picks.join(ChatPickTable, ChatPickTable.exchange_id == ChatExchangeTable.id)


def _clamp_ms(ms: ColumnElement[int] | SQLColumnExpression[int]) -> ColumnElement[int]:
    return case((ms > MAX_VISIT_MS, MAX_VISIT_MS), (ms < 0, 0), else_=ms)


def _sum_integers(column: SQLColumnExpression[int]) -> ColumnElement[int]:
    # PostgreSQL returns the sum of BIGINT as NUMERIC.
    return cast(func.sum(column), BigInteger)


def _sum_payments(condition: ColumnElement[bool]) -> Subquery:
    rater_id = PaymentTable.rater_id
    sums = select(rater_id, _sum_integers(PaymentTable.amount).label("amount"))
    sums = sums.join(RaterTable, RaterTable.id == rater_id).where(condition)
    return sums.group_by(rater_id).subquery("recorded")


def set_work(tx: Connection, work: RaterWork, end: RatingEnd) -> None:
    """Store the work of a rater, whose answers are about to be erased, and the end of their rating."""
    values = {"worked_ms": min(work.worked_ms, MAX_WORK_MS), "rating_end": end}
    tx.execute(update(RaterTable).where(RaterTable.id == work.rater_id).values(**values))


def count_turned_away_by_status(tx: Connection, campaign_id: str) -> Mapping[str | None, int]:
    """Count recruited participants who were turned away, by their last status."""
    turned_away = (RecruitTable.campaign_id == campaign_id) & RecruitTable.rater_id.is_(None)
    query = select(RecruitTable.status, func.count()).where(turned_away)
    return dict(tx.execute(query.group_by(RecruitTable.status)).all())
