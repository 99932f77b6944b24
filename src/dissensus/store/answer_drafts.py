"""Saves of answers: never changed, and deleted by erasure alone, except drafts that later saves supersede."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, ForeignKey, String, bindparam, delete, func, insert, select
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer, find_superseded
from dissensus.campaign.corrections import ReceivedSave
from dissensus.errors import Conflict
from dissensus.schema.questionnaire.question import Answer
from dissensus.store.core.orm import ID, Base, Number, RaterData


class SaveTable(RaterData, Base):
    """Answers that a page sent at once."""

    __tablename__ = "save"

    number: Mapped[int] = mapped_column(Number, primary_key=True, doc="In the order of arrival.")
    key: Mapped[str] = mapped_column(ID, unique=True, doc="Idempotency key, chosen by the page.")
    assignment_id: Mapped[str] = mapped_column(ForeignKey("assignment.id"), index=True)
    revision: Mapped[int]
    final: Mapped[bool] = mapped_column(doc="True if it was submitted, False for a draft.")
    visit: Mapped[str] = mapped_column(String(36), doc="Id of one display of the item on a page.")
    visible_ms: Mapped[int] = mapped_column(doc="Time of the visit so far, with the page in view.")
    idle_ms: Mapped[int] = mapped_column(doc="Part of the visible time without input.")
    open_ms: Mapped[int | None] = mapped_column(
        doc="Part of the visible time with the conversation uncovered; null before that."
    )
    received_at: Mapped[datetime]


class AnswerTable(RaterData, Base):
    """One answer of a save."""

    __tablename__ = "answer"

    save_number: Mapped[int] = mapped_column(Number, ForeignKey("save.number", ondelete="CASCADE"), primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str] = mapped_column(doc="JSON: a text, a list of texts, or null if it was deleted.")
    first_ms: Mapped[int] = mapped_column(doc="Visible time of the visit at the first change.")
    last_ms: Mapped[int]
    changes: Mapped[int]
    bulk: Mapped[bool] = mapped_column(default=False, doc="True if it was given to the rest of a grid at once.")


_ASSIGNMENT_OF_KEY = select(SaveTable.assignment_id).where(SaveTable.key == bindparam("key"))


_INSERT_SAVE = insert(SaveTable).returning(SaveTable.number)


_INSERT_ANSWERS = insert(AnswerTable)


SAVE_COLUMNS = (
    *(SaveTable.number, SaveTable.revision, SaveTable.visit),
    *(SaveTable.visible_ms, SaveTable.idle_ms, SaveTable.open_ms),
    *(AnswerTable.question, AnswerTable.value, AnswerTable.first_ms, AnswerTable.last_ms, AnswerTable.changes),
    AnswerTable.bulk,
)
"""Columns of a save joined with one of its answers, if it has any."""


def add_save(tx: Connection, assignment_id: str, key: str, save: AnswerSave, *, final: bool, now: datetime) -> bool:
    """Insert a save, and return whether its idempotency key is new."""
    existing = tx.scalar(_ASSIGNMENT_OF_KEY, {"key": key})
    if existing is not None and existing != assignment_id:
        raise Conflict("Another item was already saved under this key. Reload the page.")
    if existing is not None:
        return False
    row = {"key": key, "assignment_id": assignment_id, "final": final, "received_at": now}
    visit = {"revision": save.revision, "visit": save.visit}
    times = {"visible_ms": save.visible_ms, "idle_ms": save.idle_ms, "open_ms": save.open_ms}
    number = tx.scalar(_INSERT_SAVE, row | visit | times)
    answers = [
        {
            "save_number": number,
            "question": question,
            "value": json.dumps(values.value, ensure_ascii=False),
            "first_ms": values.first_ms,
            "last_ms": values.last_ms,
            "changes": values.changes,
            "bulk": values.bulk,
        }
        for question, values in save.answers.items()
    ]
    if answers:
        tx.execute(_INSERT_ANSWERS, answers)
    return True


_LATEST_REVISION = select(func.max(SaveTable.revision), func.count()).where(
    SaveTable.assignment_id == bindparam("assignment_id")
)


_DELETE_DRAFTS_OF_VISIT = delete(SaveTable).where(
    SaveTable.assignment_id == bindparam("assignment_id"),
    ~SaveTable.final,
    SaveTable.visit == bindparam("visit"),
    SaveTable.revision <= bindparam("revision"),
    SaveTable.visible_ms <= bindparam("visible_ms"),
    SaveTable.visible_ms - SaveTable.idle_ms <= bindparam("worked_ms"),
    func.coalesce(SaveTable.open_ms, 0) <= bindparam("open_ms"),
)


def find_latest_revision(tx: Connection, assignment_id: str) -> tuple[int, int]:
    """Return the latest revision of an assignment, 0 if nothing was saved, and the number of saves."""
    revision, n_saves = tx.execute(_LATEST_REVISION, {"assignment_id": assignment_id}).one()
    return revision or 0, n_saves


def delete_drafts_of_visit(tx: Connection, assignment_id: str, final: AnswerSave) -> None:
    """Delete the drafts of a visit whose final save was stored, which has all answers."""
    times = {"visit": final.visit, "revision": final.revision, "visible_ms": final.visible_ms}
    worked_ms = final.visible_ms - final.idle_ms
    tx.execute(
        _DELETE_DRAFTS_OF_VISIT,
        {"assignment_id": assignment_id, "worked_ms": worked_ms, "open_ms": final.open_ms or 0, **times},
    )


def delete_superseded_drafts(tx: Connection, assignment_id: str) -> None:
    """Delete the drafts of an assignment that later saves supersede; final saves stay, as the audit log has them."""
    query = select(SaveTable.number, SaveTable.final).where(SaveTable.assignment_id == assignment_id)
    rows = tx.execute(query.order_by(SaveTable.number)).all()
    superseded = find_superseded(load_saves(tx, [assignment_id])[assignment_id])
    numbers = [rows[position].number for position in superseded if not rows[position].final]
    if numbers:
        tx.execute(delete(SaveTable).where(SaveTable.number.in_(numbers)))


def load_saves(
    tx: Connection, assignment_ids: Sequence[str], *, final: bool = False
) -> dict[str, tuple[AnswerSave, ...]]:
    """Return the saves of some assignments, or only the final ones, in the order of arrival."""
    query = (
        select(SaveTable.assignment_id, *SAVE_COLUMNS)
        .outerjoin(AnswerTable, AnswerTable.save_number == SaveTable.number)
        .where(SaveTable.assignment_id.in_(assignment_ids))
        .order_by(SaveTable.assignment_id, SaveTable.number)
    )
    query = query.where(SaveTable.final) if final else query
    result: dict[str, tuple[AnswerSave, ...]] = dict.fromkeys(assignment_ids, ())
    for assignment_id, rows in groupby(tx.execute(query), key=attrgetter("assignment_id")):
        result[assignment_id] = tuple(parse_saves(rows))
    return result


def load_visits(tx: Connection, assignment_ids: Sequence[str]) -> dict[str, tuple[ReceivedSave, ...]]:
    """Return the saves of some assignments without their answers, in the order of arrival, to compute times."""
    visit_columns = (SaveTable.revision, SaveTable.visit, SaveTable.visible_ms, SaveTable.idle_ms, SaveTable.open_ms)
    query = (
        select(SaveTable.assignment_id, SaveTable.final, SaveTable.received_at, *visit_columns)
        .where(SaveTable.assignment_id.in_(assignment_ids))
        .order_by(SaveTable.assignment_id, SaveTable.number)
    )
    result: dict[str, tuple[ReceivedSave, ...]] = dict.fromkeys(assignment_ids, ())
    for assignment_id, rows in groupby(tx.execute(query), key=attrgetter("assignment_id")):
        result[assignment_id] = tuple(map(to_received_save, rows))
    return result


def to_received_save(row: Any) -> ReceivedSave:
    """Convert a row of a save without its answers."""
    save = AnswerSave(
        revision=row.revision,
        visit=row.visit,
        visible_ms=row.visible_ms,
        idle_ms=row.idle_ms,
        open_ms=row.open_ms,
        answers={},
    )
    return ReceivedSave(save=save, final=row.final, received_at=row.received_at)


def parse_saves(rows: Iterable[Any]) -> Iterator[AnswerSave]:
    """Yield saves from rows of `SAVE_COLUMNS`, one row per answer, in the order of their numbers."""
    for _, group in groupby(rows, key=attrgetter("number")):
        answer_rows = list(group)
        first = answer_rows[0]
        yield AnswerSave(
            revision=first.revision,
            visit=first.visit,
            visible_ms=first.visible_ms,
            idle_ms=first.idle_ms,
            open_ms=first.open_ms,
            answers={
                row.question: DraftAnswer(
                    value=_parse_answer(row.value),
                    first_ms=row.first_ms,
                    last_ms=row.last_ms,
                    changes=row.changes,
                    bulk=row.bulk,
                )
                for row in answer_rows
                if row.question is not None
            },
        )


def _parse_answer(value: str) -> Answer | None:
    answer = json.loads(value)
    return tuple(answer) if isinstance(answer, list) else answer
