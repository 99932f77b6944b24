"""Answers of raters to attention checks, attempt by attempt."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, ForeignKey, bindparam, insert, select
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base, RaterData
from dissensus.store.raters import RaterTable


class CheckAnswerTable(RaterData, Base):
    """An answer of a rater to an attention check, by attempt."""

    __tablename__ = "check_answer"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, doc="One-based number of the attempt.")
    answer: Mapped[str]
    at: Mapped[datetime]


# Statements of every submit are built once: building one takes longer than running it.
_SELECT_ANSWERS = (
    select(CheckAnswerTable.name, CheckAnswerTable.answer)
    .where(CheckAnswerTable.rater_id == bindparam("rater"))
    .order_by(CheckAnswerTable.name, CheckAnswerTable.attempt)
)


def load_attempts(tx: Connection, rater_id: str) -> dict[str, list[str]]:
    """Return the answers of a rater by check, the first attempt first."""
    result: dict[str, list[str]] = {}
    for name, answer in tx.execute(_SELECT_ANSWERS, {"rater": rater_id}):
        result.setdefault(name, []).append(answer)
    return result


def load_attempts_by_rater(tx: Connection, rater_ids: Collection[str]) -> dict[str, dict[str, list[str]]]:
    """Return the answers of some raters by check, the first attempt first."""
    return _load_by_rater(tx, CheckAnswerTable.rater_id.in_(rater_ids))


def load_campaign_attempts(tx: Connection, campaign_id: str) -> dict[str, dict[str, list[str]]]:
    """Return the answers of all raters of a campaign by check, the first attempt first."""
    return _load_by_rater(
        tx, CheckAnswerTable.rater_id.in_(select(RaterTable.id).where(RaterTable.campaign_id == campaign_id))
    )


def _load_by_rater(tx: Connection, condition: ColumnElement[bool]) -> dict[str, dict[str, list[str]]]:
    query = (
        select(CheckAnswerTable.rater_id, CheckAnswerTable.name, CheckAnswerTable.answer)
        .where(condition)
        .order_by(CheckAnswerTable.rater_id, CheckAnswerTable.name, CheckAnswerTable.attempt)
    )
    result: dict[str, dict[str, list[str]]] = {}
    for rater_id, name, answer in tx.execute(query):
        result.setdefault(rater_id, {}).setdefault(name, []).append(answer)
    return result


def add_check_answer(tx: Connection, rater_id: str, name: str, attempt: int, answer: str, *, now: datetime) -> None:
    """Insert an answer of a rater to a check; the rater must be locked."""
    row = {"rater_id": rater_id, "name": name, "attempt": attempt, "answer": answer, "at": now}
    tx.execute(insert(CheckAnswerTable).values(**row))
