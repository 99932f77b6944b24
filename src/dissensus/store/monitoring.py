"""Queries and snapshots of the monitoring of running campaigns."""

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import ColumnElement, Connection, ForeignKey, Index, bindparam, delete, insert, or_, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.campaign.corrections import measure_submission
from dissensus.pipeline.monitor import CampaignFigures, FinishedRating, ItemSummary
from dissensus.schema.ratings.columns import GOLD
from dissensus.store.answer_drafts import AnswerTable, SaveTable, to_received_save
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CAMPAIGN_COLUMNS, IS_PRESENT, CampaignRow, CampaignTable
from dissensus.store.consents import ConsentTable, has_agreed
from dissensus.store.core.orm import ID, Base, Document, Number, RaterData, find_row, list_columns, list_rows
from dissensus.store.gold import GoldDecisionTable, GoldLabelTable, GoldProgressTable
from dissensus.store.items import ItemTable
from dissensus.store.raters import DeclarationTable, RaterTable, is_participant


class MonitoringSnapshotTable(Base):
    """The latest monitoring figures of a campaign; they can be recomputed from the answers."""

    __tablename__ = "monitoring_snapshot"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    content: Mapped[str] = mapped_column(doc="JSON text, which preserves the order of the scales.")
    through: Mapped[int] = mapped_column(Number, doc="Number of the last save that was read.")
    updated_at: Mapped[datetime] = mapped_column(doc="Time when the figures last changed.")
    read_at: Mapped[datetime] = mapped_column(doc="Time as of which the figures are current.")


class ItemSummaryTable(Base):
    """Answers to a question about an item and their disagreement; they can be recomputed from the answers."""

    __tablename__ = "item_summary"
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True, doc="Of the item.")
    question: Mapped[str] = mapped_column(primary_key=True)
    axis: Mapped[str] = mapped_column(primary_key=True, doc="Empty for all raters.")
    counts: Mapped[list[int]] = mapped_column(Document, doc="Answers of all raters, in the order of the scale.")
    disagreement: Mapped[float | None]


# In the order of lists, so that a page needs no sorting.
Index(
    "ix_item_summary_disagreement",
    *(ItemSummaryTable.campaign_id, ItemSummaryTable.question, ItemSummaryTable.axis),
    *(ItemSummaryTable.disagreement.desc(), ItemSummaryTable.position),
)


class PublishedFiguresTable(Base):
    """The figures of a campaign for roles that may not see small cells; made once and never changed."""

    __tablename__ = "published_figures"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    content: Mapped[str] = mapped_column(doc="JSON text, with small cells suppressed.")
    at: Mapped[datetime]


class MonitoringProgressTable(Base):
    """Progress of storing the ratings of a large campaign as codes, from where another process goes on."""

    __tablename__ = "monitoring_progress"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), primary_key=True)
    version: Mapped[str] = mapped_column(ID, doc="Drawn anew whenever codes are stored.")
    layout: Mapped[str] = mapped_column(doc="Layout of the codes; those of another layout are of no use.")
    through: Mapped[int] = mapped_column(Number, doc="Number of the last save that the codes are certain to contain.")


class RatingCodesTable(RaterData, Base):
    """Ratings of a rater as codes; they can be recomputed from the answers."""

    __tablename__ = "rating_codes"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    showing: Mapped[int] = mapped_column(primary_key=True)
    content: Mapped[str] = mapped_column(doc="In base64, which backups hold as text.")


WINDOW: Final = 500
"""Assignments read at once."""

OVERLAP: Final = 5_000
"""Saves before the last one that are read again, since PostgreSQL may commit them out of order."""

VISIBILITY_DELAY: Final = timedelta(minutes=1)
"""Longest time until a committed change is visible to others."""


_FIGURES: Final = TypeAdapter(CampaignFigures)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringSnapshot:
    """Monitoring figures of a campaign."""

    figures: CampaignFigures
    through: int  # Number of the last save that was read
    updated_at: datetime  # Time when the figures last changed
    read_at: datetime  # Time as of which the figures are current


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringProgress:
    """Progress of storing the ratings of a campaign as codes."""

    version: str
    layout: str  # Codes of another layout are of no use
    through: int  # Number of the last save that the codes are certain to contain


@dataclass(frozen=True, slots=True, kw_only=True)
class Participant:
    """A participant with their quota cell and last self-description."""

    rater_id: str
    number: int
    cell: str | None
    content: dict[str, Any]


def list_campaigns_to_monitor(tx: Connection, *, now: datetime) -> tuple[CampaignRow, ...]:
    """Return running campaigns, and those changed since their last snapshot."""

    def is_new(at: Any) -> ColumnElement[bool]:
        return or_(at >= MonitoringSnapshotTable.read_at, at >= now - VISIBILITY_DELAY)

    in_campaign = RaterTable.campaign_id == CampaignTable.id
    changed_rater = select(RaterTable.id).where(in_campaign, is_new(RaterTable.changed_at))
    # Answers in transit when a campaign is closed, sought among the few raters who were seen since.
    late_save = select(SaveTable.number).join(AssignmentTable).join(RaterTable)
    late_save = late_save.where(in_campaign, is_new(RaterTable.last_seen_at), SaveTable.final)
    new_gold = (
        select(table.id)
        .join(GoldProgressTable, GoldProgressTable.item_id == table.item_id)
        .where(GoldProgressTable.campaign_id == CampaignTable.id, is_new(table.at))
        for table in (GoldLabelTable, GoldDecisionTable)
    )
    query = (
        select(*CAMPAIGN_COLUMNS)
        .outerjoin(MonitoringSnapshotTable, MonitoringSnapshotTable.campaign_id == CampaignTable.id)
        .where(CampaignTable.state != "draft", IS_PRESENT)
        .where(
            or_(
                CampaignTable.state != "closed",
                MonitoringSnapshotTable.campaign_id.is_(None),
                is_new(CampaignTable.changed_at),
                changed_rater.exists(),
                late_save.where(is_new(SaveTable.received_at)).exists(),
                *(query.exists() for query in new_gold),
            )
        )
    )
    return list_rows(tx, query, CampaignRow)


def list_participants(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> tuple[Participant, ...]:
    """Return the participants who agreed to all purposes."""
    in_campaign = (RaterTable.campaign_id == campaign_id) & (RaterTable.id == DeclarationTable.rater_id)
    declared = select(DeclarationTable.rater_id, DeclarationTable.content).join(RaterTable, in_campaign)
    rows = tx.execute(declared.order_by(DeclarationTable.at, DeclarationTable.id)).all()
    latest: dict[str, dict[str, Any]] = dict(rows)
    query = select(RaterTable.id, RaterTable.number, RaterTable.cell).where(
        is_participant(campaign_id), has_agreed(purposes)
    )
    return tuple(
        Participant(rater_id=row.id, number=row.number, cell=row.cell, content=latest.get(row.id, {}))
        for row in tx.execute(query.order_by(RaterTable.number))
    )


def find_participant(tx: Connection, rater_id: str) -> Participant:
    """Return a rater with their quota cell and last self-description."""
    row = tx.execute(select(RaterTable.number, RaterTable.cell).where(RaterTable.id == rater_id)).one()
    declared = select(DeclarationTable.content).where(DeclarationTable.rater_id == rater_id)
    content = tx.scalar(declared.order_by(DeclarationTable.at.desc(), DeclarationTable.id.desc()).limit(1))
    return Participant(rater_id=rater_id, number=row.number, cell=row.cell, content=content or {})


def load_gold_by_item(tx: Connection, campaign_id: str) -> dict[str, str | None]:
    """Return the gold label of each item of a campaign by name, None without one."""
    query = select(ItemTable.name, ItemTable.content["attributes"]).where(ItemTable.campaign_id == campaign_id)
    return {name: attributes.get(GOLD) for name, attributes in tx.execute(query.order_by(ItemTable.position))}


def load_assignments_saved_since(tx: Connection, campaign_id: str, number: int) -> dict[int, str]:
    """Return the assignments of saves after a number, by the number of the save, with an overlap before it."""
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
    for window in _split_windows(list(rater_ids)):
        done = (AssignmentTable.rater_id.in_(window)) & (AssignmentTable.state == "done")
        result += tx.scalars(select(AssignmentTable.id).where(done))
    return result


def iterate_finished(
    tx: Connection, assignment_ids: Sequence[str], questions: Collection[str]
) -> Iterator[FinishedRating]:
    """Yield the finished ratings of some assignments, with their answers to some questions."""
    columns = (AssignmentTable.id, AssignmentTable.rater_id, AssignmentTable.showing, ItemTable.name)
    query = select(*columns).join(ItemTable)
    for window in _split_windows(assignment_ids):
        rows = tx.execute(query.where(AssignmentTable.id.in_(window), AssignmentTable.state == "done"))
        yield from _load_finished(tx, {row.id: row for row in rows}, questions)


def list_unfinished(tx: Connection, assignment_ids: Sequence[str]) -> list[tuple[str, str, int]]:
    """Return rater, item and showing of the assignments that are open or skipped, and so have no rating."""
    query = select(AssignmentTable.rater_id, ItemTable.name, AssignmentTable.showing).join(ItemTable)
    result: list[tuple[str, str, int]] = []
    for window in _split_windows(assignment_ids):
        # Of those that were reclaimed, the rater may have rated the item later.
        condition = AssignmentTable.id.in_(window) & AssignmentTable.state.in_(("open", "skipped"))
        result += [(row.rater_id, row.name, row.showing) for row in tx.execute(query.where(condition))]
    return result


def find_progress(tx: Connection, campaign_id: str) -> MonitoringProgress | None:
    """Return the progress of storing the ratings of a campaign as codes, None without any."""
    table = MonitoringProgressTable
    query = select(*list_columns(table, MonitoringProgress)).where(table.campaign_id == campaign_id)
    return find_row(tx, query, MonitoringProgress)


def set_progress(tx: Connection, campaign_id: str, progress: MonitoringProgress) -> None:
    """Replace the progress of a campaign."""
    row = {"version": progress.version, "layout": progress.layout, "through": progress.through}
    replace = update(MonitoringProgressTable).where(MonitoringProgressTable.campaign_id == campaign_id).values(**row)
    if not tx.execute(replace).rowcount:
        tx.execute(insert(MonitoringProgressTable).values(campaign_id=campaign_id, **row))


def iterate_codes(tx: Connection, campaign_id: str) -> Iterator[tuple[str, int, bytes]]:
    """Yield rater, showing and codes of the stored ratings of a campaign."""
    in_campaign = RaterTable.campaign_id == campaign_id
    query = select(RatingCodesTable.rater_id, RatingCodesTable.showing, RatingCodesTable.content)
    for row in tx.execute(query.join(RaterTable).where(in_campaign)).yield_per(WINDOW):
        yield row.rater_id, row.showing, base64.b64decode(row.content)


def encode_codes(content: bytes) -> str:
    """Return codes as text, outside of the transaction that stores them."""
    return base64.b64encode(content).decode()


def replace_codes(tx: Connection, rater_ids: Collection[str], codes: Iterable[tuple[str, int, str]]) -> None:
    """Replace the stored ratings of some raters by encoded ones, given with rater and showing."""
    table = RatingCodesTable
    for window in _split_windows(list(rater_ids)):
        tx.execute(delete(table).where(table.rater_id.in_(window)))
    rows = [{"rater_id": rater_id, "showing": showing, "content": content} for rater_id, showing, content in codes]
    if rows:
        tx.execute(insert(table), rows)


def delete_codes(tx: Connection, campaign_id: str) -> None:
    """Delete the stored ratings of a campaign and their progress."""
    in_campaign = select(RaterTable.id).where(RaterTable.campaign_id == campaign_id)
    tx.execute(delete(RatingCodesTable).where(RatingCodesTable.rater_id.in_(in_campaign)))
    tx.execute(delete(MonitoringProgressTable).where(MonitoringProgressTable.campaign_id == campaign_id))


def _load_finished(tx: Connection, assignments: dict[str, Any], questions: Collection[str]) -> Iterator[FinishedRating]:
    query = (
        select(SaveTable.assignment_id, SaveTable.number, SaveTable.revision, SaveTable.final, SaveTable.received_at)
        .add_columns(SaveTable.visit, SaveTable.visible_ms, SaveTable.idle_ms, SaveTable.open_ms)
        .where(SaveTable.assignment_id.in_(assignments))
        .order_by(SaveTable.assignment_id, SaveTable.number)
    )
    saves = {key: list(rows) for key, rows in groupby(tx.execute(query).all(), key=attrgetter("assignment_id"))}
    finals = {key: [row for row in rows if row.final] for key, rows in saves.items()}
    # The same choice as in `dissensus.campaign.answer_drafts.select_submitted`.
    last = {key: max(rows, key=attrgetter("revision", "number")).number for key, rows in finals.items() if rows}
    answers = _load_answers(tx, last.values(), questions)
    for assignment_id, number in last.items():
        times = measure_submission(list(map(to_received_save, saves[assignment_id])))
        yield FinishedRating(
            assignment_id=assignment_id,
            rater_id=assignments[assignment_id].rater_id,
            item=assignments[assignment_id].name,
            showing=assignments[assignment_id].showing,
            answers=answers.get(number, {}),
            time_ms=times.answer_time_ms,
            at=times.answered_at,
        )


def _load_answers(tx: Connection, numbers: Collection[int], questions: Collection[str]) -> dict[int, dict[str, str]]:
    """Return the single-text answers of some saves."""
    query = select(AnswerTable.save_number, AnswerTable.question, AnswerTable.value)
    result: dict[int, dict[str, str]] = {}
    parsed: dict[str, Any] = {}
    for number, question, value in tx.execute(query.where(AnswerTable.save_number.in_(numbers))).all():
        if question in questions:
            if value not in parsed:
                parsed[value] = json.loads(value)
            if isinstance(parsed[value], str):
                result.setdefault(number, {})[question] = parsed[value]
    return result


def _split_windows(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    yield from (ids[start : start + WINDOW] for start in range(0, len(ids), WINDOW))


def set_snapshot(tx: Connection, campaign_id: str, snapshot: MonitoringSnapshot) -> None:
    """Replace the snapshot of a campaign."""
    row = {"through": snapshot.through, "updated_at": snapshot.updated_at, "read_at": snapshot.read_at}
    row["content"] = _FIGURES.dump_json(snapshot.figures).decode()
    replace = update(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id).values(**row)
    if not tx.execute(replace).rowcount:
        tx.execute(insert(MonitoringSnapshotTable).values(campaign_id=campaign_id, **row))


def confirm_snapshot(tx: Connection, campaign_id: str, through: int, *, now: datetime) -> bool:
    """Mark the snapshot of a campaign as current, and return whether there is one."""
    confirm = update(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id)
    return bool(tx.execute(confirm.values(through=through, read_at=now)).rowcount)


def find_snapshot(tx: Connection, campaign_id: str) -> MonitoringSnapshot | None:
    """Return the snapshot of a campaign; None without one, or if another version wrote it."""
    row = tx.execute(
        select(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id)
    ).one_or_none()
    if row is None or (figures := _parse_figures(row.content)) is None:
        return None
    return MonitoringSnapshot(figures=figures, through=row.through, updated_at=row.updated_at, read_at=row.read_at)


def is_snapshot_current(tx: Connection, campaign_id: str) -> bool:
    """Return whether a campaign has figures, and nothing of it changed since or shortly before they were computed."""
    snapshot = select(MonitoringSnapshotTable.through, MonitoringSnapshotTable.read_at)
    row = tx.execute(snapshot.where(MonitoringSnapshotTable.campaign_id == campaign_id)).one_or_none()
    if row is None:
        return False
    since = row.read_at - VISIBILITY_DELAY
    is_new = or_(SaveTable.number > row.through, SaveTable.received_at >= since)
    in_campaign = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal
    changes = (
        select(CampaignTable.id).where(CampaignTable.id == campaign_id, CampaignTable.changed_at >= since),
        select(RaterTable.id).where(in_campaign, RaterTable.changed_at >= since),
        select(DeclarationTable.id).join(RaterTable).where(in_campaign, DeclarationTable.at >= since),
        select(ConsentTable.purpose).join(RaterTable).where(in_campaign, ConsentTable.at >= since),
        select(SaveTable.number).join(AssignmentTable).join(RaterTable).where(in_campaign, is_new),
    )
    return not any(tx.scalar(select(query.exists())) for query in changes)


def find_update_time(tx: Connection, campaign_id: str) -> datetime | None:
    """Return the time when the figures of a campaign last changed, None without any."""
    query = select(MonitoringSnapshotTable.updated_at).where(MonitoringSnapshotTable.campaign_id == campaign_id)
    return tx.scalar(query)


def find_snapshot_time(tx: Connection, campaign_id: str) -> datetime | None:
    """Return the time of the figures of a campaign, None without any."""
    query = select(MonitoringSnapshotTable.read_at).where(MonitoringSnapshotTable.campaign_id == campaign_id)
    return tx.scalar(query)


def _parse_figures(content: str) -> CampaignFigures | None:
    """Parse stored figures; None if another version wrote them."""
    try:
        return _FIGURES.validate_json(content)
    except ValidationError:
        return None


def add_published_figures(tx: Connection, campaign_id: str, figures: CampaignFigures, *, at: datetime) -> None:
    """Store the published figures of a campaign that has none."""
    content = _FIGURES.dump_json(figures).decode()
    tx.execute(insert(PublishedFiguresTable).values(campaign_id=campaign_id, content=content, at=at))


def has_published_figures(tx: Connection, campaign_id: str) -> bool:
    """Return whether the figures of a campaign are published."""
    query = select(PublishedFiguresTable.campaign_id).where(PublishedFiguresTable.campaign_id == campaign_id)
    return tx.scalar(query) is not None


def find_published_figures(tx: Connection, campaign_id: str) -> MonitoringSnapshot | None:
    """Return the published figures of a campaign; None without any, or if another version wrote them."""
    query = select(PublishedFiguresTable).where(PublishedFiguresTable.campaign_id == campaign_id)
    row = tx.execute(query).one_or_none()
    if row is None or (figures := _parse_figures(row.content)) is None:
        return None
    return MonitoringSnapshot(figures=figures, through=0, updated_at=row.at, read_at=row.at)


def load_item_summaries(tx: Connection, campaign_id: str) -> dict[tuple[int, str, str], ItemSummary]:
    """Return the stored summaries of items by position, question and axis."""
    table = ItemSummaryTable
    query = select(table.question, table.axis, table.position, table.counts, table.disagreement)
    return {
        (row.position, row.question, row.axis): ItemSummary(
            question=row.question,
            axis=row.axis,
            position=row.position,
            counts=tuple(row.counts),
            disagreement=row.disagreement,
        )
        for row in tx.execute(query.where(table.campaign_id == campaign_id))
    }


def find_disagreement(tx: Connection, campaign_id: str, question: str, axis: str, position: int) -> float | None:
    """Return the disagreement about an item, None where it is undefined."""
    table = ItemSummaryTable
    same = (table.campaign_id == campaign_id) & (table.question == question) & (table.axis == axis)
    return tx.scalar(select(table.disagreement).where(same, table.position == position))


def replace_item_summaries(
    tx: Connection, campaign_id: str, positions: Collection[int], summaries: Iterable[ItemSummary]
) -> None:
    """Replace the summaries of the items at some positions; those of other items stay."""
    outdated = [{"outdated": position} for position in positions]
    if outdated:
        # One statement for each item, since databases limit the parameters of one.
        table = ItemSummaryTable
        in_campaign = table.campaign_id == campaign_id
        tx.execute(delete(table).where(in_campaign, table.position == bindparam("outdated")), outdated)
    rows = [_to_summary_row(campaign_id, summary) for summary in summaries]
    if rows:
        tx.execute(insert(ItemSummaryTable), rows)


def _to_summary_row(campaign_id: str, summary: ItemSummary) -> dict[str, Any]:
    return {
        "campaign_id": campaign_id,
        "position": summary.position,
        "question": summary.question,
        "axis": summary.axis,
        "counts": list(summary.counts),
        "disagreement": summary.disagreement,
    }


def delete_figures(tx: Connection, rater_id: str, campaign_id: str) -> None:
    """Delete the snapshot of a campaign, and the summaries of the items that a rater who withdraws was assigned."""
    assigned = select(ItemTable.position).join(AssignmentTable, AssignmentTable.item_id == ItemTable.id)
    positions = assigned.where(AssignmentTable.rater_id == rater_id)
    in_campaign = ItemSummaryTable.campaign_id == campaign_id
    tx.execute(delete(ItemSummaryTable).where(in_campaign, ItemSummaryTable.position.in_(positions)))
    delete_snapshot(tx, campaign_id)


def delete_snapshot(tx: Connection, campaign_id: str) -> None:
    """Delete the snapshot of a campaign, whose figures the next refresh stores anew."""
    tx.execute(delete(MonitoringSnapshotTable).where(MonitoringSnapshotTable.campaign_id == campaign_id))
