"""What is read of campaigns that are under way, and the figures that are made of them."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, delete, insert, or_, select, update

from dissensus.campaign.answer_drafts import Save, answer_time_ms
from dissensus.pipeline.monitor import Figures, Finished
from dissensus.schema.ratings.columns import GOLD
from dissensus.store import tables as t
from dissensus.store.campaigns import Kept
from dissensus.store.export import agreeing, taking_part

WINDOW: Final = 500
"""Assignments that are read at a time."""
OVERLAP: Final = 5_000
"""Saves before the last one that are looked at again: PostgreSQL commits them in another order than their numbers."""
RECENT: Final = timedelta(minutes=1)
"""How long what was changed may take until others see it."""
_FIGURES: Final = TypeAdapter(Figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A campaign in figures."""

    figures: Figures
    through: int  # The last save that was looked at
    made_at: datetime  # When the figures last changed, and as of when they hold
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """Somebody who takes part: who, the cell of the quota, and what they said of themselves last."""

    rater_id: str
    number: int
    cell: str | None
    content: dict[str, Any]


def to_watch(tx: Connection, *, now: datetime) -> tuple[Kept, ...]:
    """Return the campaigns that go on, and those of which something has changed since their figures were made."""
    about, seen = t.Campaign, t.Snapshot
    changed = select(t.Rater.id).where(
        t.Rater.campaign_id == about.id, or_(t.Rater.changed_at >= seen.read_at, t.Rater.changed_at >= now - RECENT)
    )
    query = (
        select(*(getattr(about, name) for name in Kept.__dataclass_fields__))
        .outerjoin(seen, seen.campaign_id == about.id)
        .where(about.state != "draft")
        .where(
            or_(
                about.state != "closed",
                seen.campaign_id.is_(None),
                about.changed_at >= seen.read_at,
                about.changed_at >= now - RECENT,
                changed.exists(),
            )
        )
    )
    return tuple(Kept(**row._mapping) for row in tx.execute(query))


def people_of(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> tuple[Declared, ...]:
    """Return who takes part and agreed to all purposes."""
    here = (t.Rater.campaign_id == campaign_id) & (t.Rater.id == t.Declaration.rater_id)
    said = select(t.Declaration.rater_id, t.Declaration.content).join(t.Rater, here)
    last: dict[str, dict[str, Any]] = dict(tx.execute(said.order_by(t.Declaration.at, t.Declaration.id)).all())
    query = select(t.Rater.id, t.Rater.number, t.Rater.cell).where(taking_part(campaign_id), agreeing(purposes))
    return tuple(
        Declared(rater_id=row.id, number=row.number, cell=row.cell, content=last.get(row.id, {}))
        for row in tx.execute(query.order_by(t.Rater.number))
    )


def items_of(tx: Connection, campaign_id: str) -> dict[str, str | None]:
    """Return the name of each item of a campaign, with its gold label if it has one."""
    query = select(t.Item.name, t.Item.content["attributes"]).where(t.Item.campaign_id == campaign_id)
    return {name: attributes.get(GOLD) for name, attributes in tx.execute(query.order_by(t.Item.position))}


def saves_since(tx: Connection, campaign_id: str, number: int) -> dict[int, str]:
    """Return the assignments of the saves of a campaign after a number, and of some before it."""
    query = (
        select(t.Save.number, t.Save.assignment_id)
        .join(t.Assignment, t.Assignment.id == t.Save.assignment_id)
        .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
        .where(t.Save.number > number - OVERLAP, t.Rater.campaign_id == campaign_id, ~t.Rater.rehearsal)
    )
    return dict(tx.execute(query).all())


def assignments_of(tx: Connection, rater_ids: Collection[str]) -> list[str]:
    """Return the assignments that some raters have done."""
    found: list[str] = []
    for part in _windows(list(rater_ids)):
        done = (t.Assignment.rater_id.in_(part)) & (t.Assignment.state == "done")
        found += tx.scalars(select(t.Assignment.id).where(done))
    return found


def finished_of(tx: Connection, assignment_ids: Sequence[str], questions: Collection[str]) -> Iterator[Finished]:
    """Yield the finished ones of some assignments, with their answers to some questions."""
    for part in _windows(assignment_ids):
        query = select(t.Assignment.id, t.Assignment.rater_id, t.Item.name).join(t.Item)
        about = {
            row.id: row for row in tx.execute(query.where(t.Assignment.id.in_(part), t.Assignment.state == "done"))
        }
        yield from _finished(tx, about, questions)


def _finished(tx: Connection, about: dict[str, Any], questions: Collection[str]) -> Iterator[Finished]:
    query = (
        select(t.Save.assignment_id, t.Save.number, t.Save.revision, t.Save.final, t.Save.received_at)
        .add_columns(t.Save.visit, t.Save.visible_ms)
        .where(t.Save.assignment_id.in_(about))
        .order_by(t.Save.assignment_id, t.Save.number)
    )
    saves = {name: list(rows) for name, rows in groupby(tx.execute(query).all(), key=attrgetter("assignment_id"))}
    finals = {name: [row for row in rows if row.final] for name, rows in saves.items()}
    # As `dissensus.campaign.answer_drafts.submitted` has it.
    last = {name: max(rows, key=attrgetter("revision", "number")).number for name, rows in finals.items() if rows}
    answers = _answers(tx, last.values(), questions)
    for name, number in last.items():
        yield Finished(
            assignment_id=name,
            rater_id=about[name].rater_id,
            item=about[name].name,
            answers=answers.get(number, {}),
            time_ms=answer_time_ms(_timed(row) for row in saves[name]),
            at=max(row.received_at for row in finals[name]),
        )


def _timed(row: Any) -> Save:
    return Save(revision=row.revision, visit=row.visit, visible_ms=row.visible_ms, idle_ms=0, answers={})


def _answers(tx: Connection, numbers: Collection[int], questions: Collection[str]) -> dict[int, dict[str, str]]:
    """Return the answers of some saves that are one text each."""
    query = select(t.Answer.save_number, t.Answer.question, t.Answer.value)
    found: dict[int, dict[str, str]] = {}
    known: dict[str, Any] = {}
    for number, question, value in tx.execute(query.where(t.Answer.save_number.in_(numbers))).all():
        if question in questions:
            if value not in known:
                known[value] = json.loads(value)
            if isinstance(known[value], str):
                found.setdefault(number, {})[question] = known[value]
    return found


def _windows(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (ids[start : start + WINDOW] for start in range(0, len(ids), WINDOW))


def put_snapshot(tx: Connection, campaign_id: str, made: Snapshot) -> None:
    """Keep the figures of a campaign in place of those before."""
    row = {"through": made.through, "made_at": made.made_at, "read_at": made.read_at}
    row["content"] = _FIGURES.dump_json(made.figures).decode()
    if not tx.execute(update(t.Snapshot).where(t.Snapshot.campaign_id == campaign_id).values(**row)).rowcount:
        tx.execute(insert(t.Snapshot).values(campaign_id=campaign_id, **row))


def still_so(tx: Connection, campaign_id: str, through: int, *, now: datetime) -> bool:
    """Keep that the figures of a campaign hold as of now, and tell whether there are any."""
    here = t.Snapshot.campaign_id == campaign_id
    return bool(tx.execute(update(t.Snapshot).where(here).values(through=through, read_at=now)).rowcount)


def snapshot_of(tx: Connection, campaign_id: str) -> Snapshot | None:
    """Return the figures of a campaign, None where none were made yet, or another version made them."""
    row = tx.execute(select(t.Snapshot).where(t.Snapshot.campaign_id == campaign_id)).one_or_none()
    if row is None:
        return None
    try:
        figures = _FIGURES.validate_json(row.content)
    except ValidationError:
        return None
    return Snapshot(figures=figures, through=row.through, made_at=row.made_at, read_at=row.read_at)


def forget_snapshot(tx: Connection, campaign_id: str) -> None:
    """Delete the figures of a campaign, in which there is somebody who withdrew; they are made again."""
    tx.execute(delete(t.Snapshot).where(t.Snapshot.campaign_id == campaign_id))
