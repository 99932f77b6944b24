"""What pages saved: only ever added, but for the erasure that a rater asks for."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from dissensus.campaign.answer_drafts import Given, Save
from dissensus.errors import Conflict
from dissensus.schema.questionnaire.question import Answer
from dissensus.store import tables as t

_KNOWN = select(t.Save.assignment_id).where(t.Save.key == bindparam("sent"))
_ADD = insert(t.Save).returning(t.Save.number)
_ADD_ANSWERS = insert(t.Answer)

COLUMNS = (
    *(t.Save.number, t.Save.revision, t.Save.visit, t.Save.visible_ms, t.Save.idle_ms),
    *(t.Answer.question, t.Answer.value, t.Answer.first_ms, t.Answer.last_ms, t.Answer.changes),
)
"""Of a save with one of its answers, if it has any."""


def add_save(tx: Connection, assignment_id: str, key: str, save: Save, *, final: bool, now: datetime) -> bool:
    """Keep a save, and tell whether it was new: the same key twice is one save."""
    known = tx.scalar(_KNOWN, {"sent": key})
    if known is not None and known != assignment_id:
        raise Conflict("Another item was saved under this key, and nothing was kept of this one. Reload the page.")
    if known is not None:
        return False
    row = {"key": key, "assignment_id": assignment_id, "final": final, "received_at": now}
    times = {"revision": save.revision, "visit": save.visit, "visible_ms": save.visible_ms, "idle_ms": save.idle_ms}
    number = tx.scalar(_ADD, row | times)
    answers = [
        {
            "save_number": number,
            "question": question,
            "value": json.dumps(given.value, ensure_ascii=False),
            "first_ms": given.first_ms,
            "last_ms": given.last_ms,
            "changes": given.changes,
        }
        for question, given in save.answers.items()
    ]
    if answers:
        tx.execute(_ADD_ANSWERS, answers)
    return True


def revision_of(tx: Connection, assignment_id: str) -> int:
    """Return the latest revision of an assignment, 0 where nothing was saved."""
    return tx.scalar(select(func.max(t.Save.revision)).where(t.Save.assignment_id == assignment_id)) or 0


def saves_of(tx: Connection, assignment_ids: Sequence[str], *, final: bool = False) -> dict[str, tuple[Save, ...]]:
    """Return the saves of some assignments, or only those that ended them, in the order in which they came."""
    query = (
        select(t.Save.assignment_id, *COLUMNS)
        .outerjoin(t.Answer, t.Answer.save_number == t.Save.number)
        .where(t.Save.assignment_id.in_(assignment_ids))
        .order_by(t.Save.assignment_id, t.Save.number)
    )
    query = query.where(t.Save.final) if final else query
    found: dict[str, tuple[Save, ...]] = dict.fromkeys(assignment_ids, ())
    for assignment_id, rows in groupby(tx.execute(query), key=attrgetter("assignment_id")):
        found[assignment_id] = tuple(saves_from(rows))
    return found


def visits_of(tx: Connection, assignment_ids: Sequence[str]) -> dict[str, tuple[Save, ...]]:
    """Return the saves of some assignments without their answers, which tell how long each took."""
    columns = (t.Save.assignment_id, t.Save.revision, t.Save.visit, t.Save.visible_ms, t.Save.idle_ms)
    query = select(*columns).where(t.Save.assignment_id.in_(assignment_ids)).order_by(t.Save.assignment_id)
    found: dict[str, tuple[Save, ...]] = dict.fromkeys(assignment_ids, ())
    for assignment_id, rows in groupby(tx.execute(query), key=attrgetter("assignment_id")):
        found[assignment_id] = tuple(
            Save(revision=row.revision, visit=row.visit, visible_ms=row.visible_ms, idle_ms=row.idle_ms, answers={})
            for row in rows
        )
    return found


def saves_from(rows: Iterable[Any]) -> Iterator[Save]:
    """Yield saves from rows of `COLUMNS`, a row an answer, in the order of their numbers."""
    for _, of_save in groupby(rows, key=attrgetter("number")):
        every = list(of_save)
        first = every[0]
        yield Save(
            revision=first.revision,
            visit=first.visit,
            visible_ms=first.visible_ms,
            idle_ms=first.idle_ms,
            answers={
                row.question: Given(
                    value=_answer(row.value), first_ms=row.first_ms, last_ms=row.last_ms, changes=row.changes
                )
                for row in every
                if row.question is not None
            },
        )


def _answer(value: str) -> Answer | None:
    read = json.loads(value)
    return tuple(read) if isinstance(read, list) else read


def n_rated(tx: Connection, rater_id: str) -> int:
    """Return for how many items there are answers of a rater."""
    theirs = select(t.Assignment.id).where(t.Assignment.rater_id == rater_id)
    return tx.scalar(select(func.count(t.Save.assignment_id.distinct())).where(t.Save.assignment_id.in_(theirs))) or 0


def erase(tx: Connection, rater_id: str) -> int:
    """Delete all answers of a rater, and return how many items had answers."""
    theirs = select(t.Assignment.id).where(t.Assignment.rater_id == rater_id)
    n = n_rated(tx, rater_id)
    saves = select(t.Save.number).where(t.Save.assignment_id.in_(theirs))
    tx.execute(delete(t.Answer).where(t.Answer.save_number.in_(saves)))
    tx.execute(delete(t.Save).where(t.Save.assignment_id.in_(theirs)))
    return n
