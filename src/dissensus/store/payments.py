"""What raters were paid: only ever added."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select

from dissensus.store import tables as t
from dissensus.store.core.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """One payment, or one that was taken back."""

    id: str  # Which one, and to whom
    rater_id: str
    amount: int  # In minor units; below 0 where it takes another one back
    by: str | None  # The name of who noted it; None for what the recruiter paid
    at: datetime  # When it was noted


_PAYMENTS = select(
    t.Payment.id, t.Payment.rater_id, t.Payment.amount, t.Staff.name.label("by"), t.Payment.at
).outerjoin(t.Staff, t.Staff.id == t.Payment.staff_id)


def payments_of(tx: Connection, rater_id: str) -> tuple[Payment, ...]:
    """Return what a rater was paid, the latest first."""
    query = _PAYMENTS.where(t.Payment.rater_id == rater_id).order_by(t.Payment.at.desc(), t.Payment.id.desc())
    return tuple(Payment(**row._mapping) for row in tx.execute(query))


def payment_of(tx: Connection, payment_id: str) -> Payment | None:
    """Return a payment by its id, None where there is none."""
    row = tx.execute(_PAYMENTS.where(t.Payment.id == payment_id)).one_or_none()
    return None if row is None else Payment(**row._mapping)


def add_payment(
    tx: Connection, rater_id: str, amount: int, *, payment_id: str | None = None, staff_id: str | None, now: datetime
) -> None:
    """Keep a payment."""
    row = {"id": payment_id or new_id(now), "rater_id": rater_id, "amount": amount, "staff_id": staff_id, "at": now}
    tx.execute(insert(t.Payment).values(**row))
