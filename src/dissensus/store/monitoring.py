"""Queries and snapshots of the monitoring of running campaigns."""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, ForeignKey, delete, insert, or_, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.answer_drafts import AnswerSave, answer_time_ms
from dissensus.pipeline.monitor import CampaignFigures, FinishedRating
from dissensus.schema.ratings.columns import GOLD
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow, CampaignTable
from dissensus.store.consents import has_agreed
from dissensus.store.core.orm import Base, Number
from dissensus.store.items import ItemTable
from dissensus.store.raters import DeclarationTable, RaterTable, is_participant


class MonitoringSnapshotTable(Base):
    """The latest monitoring figures of a campaign; they can be recomputed from the answers."""

    __tablename__ = "monitoring_snapshot"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    content: Mapped[str] = mapped_column(doc="JSON, as it was written: its order is that of the scales.")
    through: Mapped[int] = mapped_column(Number, doc="The last save that was looked at.")
    made_at: Mapped[datetime] = mapped_column(doc="When the figures last changed.")
    read_at: Mapped[datetime] = mapped_column(doc="As of when they hold.")


WINDOW: Final = 500
"""Assignments that are read at a time."""


OVERLAP: Final = 5_000
"""Saves before the last one that are looked at again: PostgreSQL commits them in another order than their numbers."""


VISIBILITY_DELAY: Final = timedelta(minutes=1)
"""Delay until a committed change is visible to others."""


_FIGURES: Final = TypeAdapter(CampaignFigures)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringSnapshot:
    """Monitoring figures of a campaign."""

    figures: CampaignFigures
    through: int  # The last save that was looked at
    made_at: datetime  # When the figures last changed, and as of when they hold
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A participant with their quota cell and last self-description."""

    rater_id: str
    number: int
    cell: str | None
    content: dict[str, Any]


def list_campaigns_to_monitor(tx: Connection, *, now: datetime) -> tuple[CampaignRow, ...]:
    """Return running campaigns, and those changed since their last snapshot."""
    about, seen = CampaignTable, MonitoringSnapshotTable
    changed = select(RaterTable.id).where(
        RaterTable.campaign_id == about.id,
        or_(RaterTable.changed_at >= seen.read_at, RaterTable.changed_at >= now - VISIBILITY_DELAY),
    )
    query = (
        select(*(getattr(about, name) for name in CampaignRow.__dataclass_fields__))
        .outerjoin(seen, seen.campaign_id == about.id)
        .where(about.state != "draft")
        .where(
            or_(
                about.state != "closed",
                seen.campaign_id.is_(None),
                about.changed_at >= seen.read_at,
                about.changed_at >= now - VISIBILITY_DELAY,
                changed.exists(),
            )
        )
    )
    return tuple(CampaignRow(**row._mapping) for row in tx.execute(query))


def list_participants(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> tuple[Participant, ...]:
    """Return the participants who agreed to all purposes."""
    in_campaign = (RaterTable.campaign_id == campaign_id) & (RaterTable.id == DeclarationTable.rater_id)
    answers = select(DeclarationTable.rater_id, DeclarationTable.content).join(RaterTable, in_campaign)
    last: dict[str, dict[str, Any]] = dict(tx.execute(answers.order_by(DeclarationTable.at, DeclarationTable.id)).all())
    query = select(RaterTable.id, RaterTable.number, RaterTable.cell).where(
        is_participant(campaign_id), has_agreed(purposes)
    )
    return tuple(
        Participant(rater_id=row.id, number=row.number, cell=row.cell, content=last.get(row.id, {}))
        for row in tx.execute(query.order_by(RaterTable.number))
    )


def load_gold_by_item(tx: Connection, campaign_id: str) -> dict[str, str | None]:
    """Return the gold label of each item of a campaign by name, None without one."""
    query = select(ItemTable.name, ItemTable.content["attributes"]).where(ItemTable.campaign_id == campaign_id)
    return {name: attributes.get(GOLD) for name, attributes in tx.execute(query.order_by(ItemTable.position))}


def load_assignments_saved_since(tx: Connection, campaign_id: str, number: int) -> dict[int, str]:
    """Return the assignments of saves after a number, with an overlap before it."""
    query = (
        select(SaveTable.number, SaveTable.assignment_id)
        .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(SaveTable.number > number - OVERLAP, RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal)
    )
    return dict(tx.execute(query).all())


def list_done_assignment_ids(tx: Connection, rater_ids: Collection[str]) -> list[str]:
    """Return the finished assignments of some raters."""
    result: list[str] = []
    for part in _split_windows(list(rater_ids)):
        done = (AssignmentTable.rater_id.in_(part)) & (AssignmentTable.state == "done")
        result += tx.scalars(select(AssignmentTable.id).where(done))
    return result


def iterate_finished(
    tx: Connection, assignment_ids: Sequence[str], questions: Collection[str]
) -> Iterator[FinishedRating]:
    """Yield the finished ratings of some assignments, with their answers to some questions."""
    for part in _split_windows(assignment_ids):
        query = select(AssignmentTable.id, AssignmentTable.rater_id, ItemTable.name).join(ItemTable)
        about = {
            row.id: row
            for row in tx.execute(query.where(AssignmentTable.id.in_(part), AssignmentTable.state == "done"))
        }
        yield from _load_finished(tx, about, questions)


def _load_finished(tx: Connection, about: dict[str, Any], questions: Collection[str]) -> Iterator[FinishedRating]:
    query = (
        select(SaveTable.assignment_id, SaveTable.number, SaveTable.revision, SaveTable.final, SaveTable.received_at)
        .add_columns(SaveTable.visit, SaveTable.visible_ms)
        .where(SaveTable.assignment_id.in_(about))
        .order_by(SaveTable.assignment_id, SaveTable.number)
    )
    saves = {name: list(rows) for name, rows in groupby(tx.execute(query).all(), key=attrgetter("assignment_id"))}
    finals = {name: [row for row in rows if row.final] for name, rows in saves.items()}
    # As `dissensus.campaign.answer_drafts.select_submitted` has it.
    last = {name: max(rows, key=attrgetter("revision", "number")).number for name, rows in finals.items() if rows}
    answers = _load_answers(tx, last.values(), questions)
    for name, number in last.items():
        yield FinishedRating(
            assignment_id=name,
            rater_id=about[name].rater_id,
            item=about[name].name,
            answers=answers.get(number, {}),
            time_ms=answer_time_ms(_to_visit(row) for row in saves[name]),
            at=max(row.received_at for row in finals[name]),
        )


def _to_visit(row: Any) -> AnswerSave:
    return AnswerSave(revision=row.revision, visit=row.visit, visible_ms=row.visible_ms, idle_ms=0, answers={})


def _load_answers(tx: Connection, numbers: Collection[int], questions: Collection[str]) -> dict[int, dict[str, str]]:
    """Return the single-text answers of some saves."""
    query = select(AnswerTable.save_number, AnswerTable.question, AnswerTable.value)
    result: dict[int, dict[str, str]] = {}
    known: dict[str, Any] = {}
    for number, question, value in tx.execute(query.where(AnswerTable.save_number.in_(numbers))).all():
        if question in questions:
            if value not in known:
                known[value] = json.loads(value)
            if isinstance(known[value], str):
                result.setdefault(number, {})[question] = known[value]
    return result


def _split_windows(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (ids[start : start + WINDOW] for start in range(0, len(ids), WINDOW))


def set_snapshot(tx: Connection, campaign_id: str, made: MonitoringSnapshot) -> None:
    """Replace the snapshot of a campaign."""
    row = {"through": made.through, "made_at": made.made_at, "read_at": made.read_at}
    row["content"] = _FIGURES.dump_json(made.figures).decode()
    if not tx.execute(
        update(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id).values(**row)
    ).rowcount:
        tx.execute(insert(MonitoringSnapshotTable).values(campaign_id=campaign_id, **row))


def confirm_snapshot(tx: Connection, campaign_id: str, through: int, *, now: datetime) -> bool:
    """Mark the snapshot of a campaign as current, and return whether there is one."""
    in_campaign = MonitoringSnapshotTable.campaign_id == campaign_id
    return bool(
        tx.execute(update(MonitoringSnapshotTable).where(in_campaign).values(through=through, read_at=now)).rowcount
    )


def find_snapshot(tx: Connection, campaign_id: str) -> MonitoringSnapshot | None:
    """Return the snapshot of a campaign; None without one, or if another version wrote it."""
    row = tx.execute(
        select(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id)
    ).one_or_none()
    if row is None:
        return None
    try:
        figures = _FIGURES.validate_json(row.content)
    except ValidationError:
        return None
    return MonitoringSnapshot(figures=figures, through=row.through, made_at=row.made_at, read_at=row.read_at)


def delete_snapshot(tx: Connection, campaign_id: str) -> None:
    """Delete the snapshot of a campaign, which includes a rater who withdrew."""
    tx.execute(delete(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id))
