"""What raters answered to checks, try by try."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select

from dissensus.store import tables as t

# What every submit asks is put together once: that takes longer than the database needs for the answer.
_TRIES = (
    select(t.CheckAnswer.name, t.CheckAnswer.answer)
    .where(t.CheckAnswer.rater_id == bindparam("rater"))
    .order_by(t.CheckAnswer.name, t.CheckAnswer.attempt)
)


def tries_of(tx: Connection, rater_id: str) -> dict[str, list[str]]:
    """Return what a rater answered to each check, the first try first."""
    found: dict[str, list[str]] = {}
    for name, answer in tx.execute(_TRIES, {"rater": rater_id}):
        found.setdefault(name, []).append(answer)
    return found


def tries_of_several(tx: Connection, rater_ids: Collection[str]) -> dict[str, dict[str, list[str]]]:
    """Return what each of some raters answered to each check, the first try first."""
    return _by_rater(tx, t.CheckAnswer.rater_id.in_(rater_ids))


def tries_within(tx: Connection, campaign_id: str) -> dict[str, dict[str, list[str]]]:
    """Return what each rater of a campaign answered to each check, the first try first."""
    return _by_rater(tx, t.CheckAnswer.rater_id.in_(select(t.Rater.id).where(t.Rater.campaign_id == campaign_id)))


def _by_rater(tx: Connection, theirs: ColumnElement[bool]) -> dict[str, dict[str, list[str]]]:
    query = (
        select(t.CheckAnswer.rater_id, t.CheckAnswer.name, t.CheckAnswer.answer)
        .where(theirs)
        .order_by(t.CheckAnswer.rater_id, t.CheckAnswer.name, t.CheckAnswer.attempt)
    )
    found: dict[str, dict[str, list[str]]] = {}
    for rater_id, name, answer in tx.execute(query):
        found.setdefault(rater_id, {}).setdefault(name, []).append(answer)
    return found


def add_try(tx: Connection, rater_id: str, name: str, attempt: int, answer: str, *, now: datetime) -> None:
    """Keep what a rater answered, who must be locked."""
    row = {"rater_id": rater_id, "name": name, "attempt": attempt, "answer": answer, "at": now}
    tx.execute(insert(t.CheckAnswer).values(**row))
