"""Raters in a list, sorted by stored figures, and the items of one rater."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    ForeignKey,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
)
from sqlalchemy.orm import Mapped, aliased, mapped_column

from dissensus.campaign.filters.rater_filter import RaterCursor, RaterFilter, RaterOrder
from dissensus.pipeline.monitor import WITHIN, RaterFigures
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentState, AssignmentTable
from dissensus.store.chats import ChatTable
from dissensus.store.core.orm import Base, Document, RaterData, list_rows
from dissensus.store.flags import FlagDecisionRow, FlagVerdict, has_verdict, load_flag_decisions
from dissensus.store.items import ItemTable
from dissensus.store.monitoring import ItemSummaryTable
from dissensus.store.notices import NoticeTable
from dissensus.store.raters import RaterState, RaterTable

LAST = 1e300
"""Sorting value of raters without the figure, who are last."""


class RaterFiguresTable(RaterData, Base):
    """Monitoring figures of a rater; they can be recomputed from the answers."""

    __tablename__ = "rater_figures"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    n_ratings: Mapped[int]
    median_ms: Mapped[float | None]
    agreement: Mapped[float | None]
    group_agreement: Mapped[dict[str, float]] = mapped_column(Document, doc="By axis.")
    answers: Mapped[dict[str, list[int]]] = mapped_column(Document, doc="Counts by question, in the order of scales.")
    reasons: Mapped[list[str]] = mapped_column(Document, doc="Criteria that the rater meets.")
    flagged: Mapped[bool]


def replace_rater_figures(tx: Connection, campaign_id: str, figures: Iterable[RaterFigures]) -> None:
    """Store the figures of the raters of a campaign; only rows that differ from the stored ones are written."""
    table = RaterFiguresTable
    stored = {row.rater_id: _to_figures(row) for row in tx.execute(_select_figures(campaign_id))}
    current = {rater_figures.rater_id: rater_figures for rater_figures in figures}
    outdated = [rater_id for rater_id, rater_figures in stored.items() if current.get(rater_id) != rater_figures]
    if outdated:
        # One statement for each rater, since databases limit the parameters of one.
        rows = [{"outdated": rater_id} for rater_id in outdated]
        tx.execute(delete(table).where(table.rater_id == bindparam("outdated")), rows)
    new = [rater_figures for rater_id, rater_figures in current.items() if stored.get(rater_id) != rater_figures]
    if new:
        tx.execute(insert(table), [_to_row(campaign_id, rater_figures) for rater_figures in new])


def _select_figures(campaign_id: str) -> Any:
    joined = select(RaterFiguresTable, RaterTable.number).join(RaterTable, RaterTable.id == RaterFiguresTable.rater_id)
    return joined.where(RaterFiguresTable.campaign_id == campaign_id)


def _to_figures(row: Any) -> RaterFigures:
    return RaterFigures(
        rater_id=row.rater_id,
        number=row.number,
        n_ratings=row.n_ratings,
        median_ms=row.median_ms,
        reasons=tuple(row.reasons),
        agreement=row.agreement,
        group_agreement=row.group_agreement,
        answers={question: tuple(counts) for question, counts in row.answers.items()},
    )


def _to_row(campaign_id: str, figures: RaterFigures) -> dict[str, Any]:
    return {
        "rater_id": figures.rater_id,
        "campaign_id": campaign_id,
        "n_ratings": figures.n_ratings,
        "median_ms": figures.median_ms,
        "agreement": figures.agreement,
        "group_agreement": dict(figures.group_agreement),
        "answers": {question: list(counts) for question, counts in figures.answers.items()},
        "reasons": list(figures.reasons),
        "flagged": bool(figures.reasons),
    }


def load_rater_figures(tx: Connection, campaign_id: str) -> dict[str, RaterFigures]:
    """Return the stored figures of the raters of a campaign by their ids."""
    return {row.rater_id: _to_figures(row) for row in tx.execute(_select_figures(campaign_id))}


def list_flagged_raters(tx: Connection, campaign_id: str) -> set[str]:
    """Return the raters of a campaign who meet a criterion of the flags."""
    query = select(RaterFiguresTable.rater_id).where(
        RaterFiguresTable.campaign_id == campaign_id, RaterFiguresTable.flagged
    )
    return set(tx.scalars(query))


def find_rater_figures(tx: Connection, campaign_id: str, rater_id: str) -> RaterFigures | None:
    """Return the stored figures of a rater, or None."""
    row = tx.execute(_select_figures(campaign_id).where(RaterFiguresTable.rater_id == rater_id)).one_or_none()
    return None if row is None else _to_figures(row)


def count_withdrawn(tx: Connection, campaign_id: str) -> int:
    """Count the raters of a campaign who have withdrawn, rehearsals included."""
    query = select(func.count()).select_from(RaterTable).where(RaterTable.campaign_id == campaign_id)
    return tx.scalar(query.where(RaterTable.state == "withdrawn")) or 0


def delete_rater_figures(tx: Connection, campaign_id: str) -> None:
    """Delete the figures of all raters of a campaign, which include the votes of one who withdrew."""
    tx.execute(delete(RaterFiguresTable).where(RaterFiguresTable.campaign_id == campaign_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterCounts:
    """Counts of the work and messages of a rater, without ratings, which take too long to count for lists."""

    n_skipped: int
    n_open: int
    n_chats: int  # Ended conversations
    n_notices: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRater:
    """A rater in a list of staff."""

    id: str
    number: int  # Zero-based entry number
    state: RaterState
    cell: str | None
    language: str
    last_seen_at: datetime
    n_ratings: int | None  # None without figures
    median_ms: float | None
    agreement: float | None
    flagged: bool
    decision: FlagDecisionRow | None
    counts: RaterCounts
    sort_value: float


def list_raters(
    tx: Connection, campaign_id: str, rater_filter: RaterFilter, *, after: RaterCursor | None = None, most: int
) -> tuple[ListedRater, ...]:
    """Return raters in the order of a filter after one of them, without rehearsals."""
    decisions = load_flag_decisions(tx, campaign_id)
    figures, value = RaterFiguresTable, _sort_value(rater_filter.order)
    query = (
        select(RaterTable.id, RaterTable.number, RaterTable.state, RaterTable.cell, RaterTable.last_seen_at)
        .add_columns(RaterTable.language, figures.n_ratings, figures.median_ms, figures.agreement)
        .add_columns(func.coalesce(figures.flagged, False).label("flagged"), value.label("sort_value"))
        .outerjoin(figures, figures.rater_id == RaterTable.id)
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal)
        .where(*_filter_raters(rater_filter))
    )
    if after is not None:
        last_value, number = after
        query = query.where(or_(value > last_value, and_(value == last_value, RaterTable.number > number)))
    rows = tx.execute(query.order_by(value, RaterTable.number).limit(most)).all()
    counts_of = load_rater_counts(tx, [row.id for row in rows])
    return tuple(ListedRater(**row._mapping, decision=decisions.get(row.id), counts=counts_of[row.id]) for row in rows)


def _sort_value(order: RaterOrder) -> ColumnElement[Any]:
    table = RaterFiguresTable
    values: Mapping[RaterOrder, ColumnElement[Any]] = {
        "entry": RaterTable.number + 0.0,
        "items": -func.coalesce(table.n_ratings, 0) + 0.0,
        "time": func.coalesce(table.median_ms, LAST),
        "agreement": func.coalesce(table.agreement, LAST),
    }
    return values[order]


def _filter_raters(rater_filter: RaterFilter) -> Iterable[ColumnElement[bool]]:
    if rater_filter.search:
        yield RaterTable.number == int(rater_filter.search) - 1
    if rater_filter.state:
        yield RaterTable.state == rater_filter.state
    if rater_filter.cell:
        yield RaterTable.cell == rater_filter.cell
    if rater_filter.flag == "undecided":
        yield and_(RaterFiguresTable.flagged, ~has_verdict(RaterTable.id))
    elif rater_filter.flag == "notices":
        yield RaterTable.id.in_(select(NoticeTable.rater_id))
    elif rater_filter.flag is not None:
        verdict: FlagVerdict = "exclude" if rater_filter.flag == "excluded" else "keep"
        yield has_verdict(RaterTable.id, verdict)


def load_rater_counts(tx: Connection, rater_ids: Sequence[str]) -> dict[str, RaterCounts]:
    """Return the counts of some raters."""
    chat_ended = (ChatTable.rater_id.in_(rater_ids)) & (ChatTable.state == "done")
    counts = {
        "n_skipped": _count_assignments(tx, rater_ids, "skipped"),
        "n_open": _count_assignments(tx, rater_ids, "open"),
        "n_chats": _count(tx, ChatTable.rater_id, chat_ended),
        "n_notices": _count(tx, NoticeTable.rater_id, NoticeTable.rater_id.in_(rater_ids)),
    }
    return {
        rater_id: RaterCounts(**{name: of_rater.get(rater_id, 0) for name, of_rater in counts.items()})
        for rater_id in rater_ids
    }


def count_ratings(tx: Connection, rater_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of ratings of some raters, which takes long where they rated thousands of items."""
    return dict.fromkeys(rater_ids, 0) | _count_assignments(tx, rater_ids, "done")


def _count_assignments(tx: Connection, rater_ids: Sequence[str], state: AssignmentState) -> dict[str, int]:
    # A literal: for a parameter databases do not use the partial indexes of open and of skipped assignments.
    in_state = AssignmentTable.state == literal(state, literal_execute=True)
    return _count(tx, AssignmentTable.rater_id, AssignmentTable.rater_id.in_(rater_ids) & in_state)


def find_bulk_share(tx: Connection, rater_id: str, questions: Sequence[str]) -> float | None:
    """Return the share of a rater's submitted answers that were given in bulk; None without answers."""
    later = aliased(SaveTable)
    newer = or_(
        later.revision > SaveTable.revision,
        and_(later.revision == SaveTable.revision, later.number > SaveTable.number),
    )
    superseded = exists().where(later.assignment_id == SaveTable.assignment_id, later.final, newer)
    query = (
        select(func.avg(case((AnswerTable.bulk, 1.0), else_=0.0)))
        .join(SaveTable, SaveTable.number == AnswerTable.save_number)
        .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        .where(AssignmentTable.rater_id == rater_id, AssignmentTable.state == "done", SaveTable.final, ~superseded)
        .where(AnswerTable.question.in_(questions), AnswerTable.value != "null")
    )
    share = tx.scalar(query)
    return None if share is None else float(share)


def _count(tx: Connection, rater: Any, condition: ColumnElement[bool]) -> dict[str, int]:
    return dict(tx.execute(select(rater, func.count()).where(condition).group_by(rater)).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterDates:
    """Times of a rater."""

    entered_at: datetime
    last_seen_at: datetime


def find_rater_dates(tx: Connection, rater_id: str) -> RaterDates:
    """Return the times of a rater."""
    query = select(RaterTable.entered_at, RaterTable.last_seen_at).where(RaterTable.id == rater_id)
    return RaterDates(**tx.execute(query).one()._mapping)


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterItem:
    """An item that a rater rated or skipped, with the answers of all raters to one question."""

    assignment_id: str
    order: int  # Position in the order of the rater
    position: int  # Zero-based, of the item
    name: str
    text: str  # Of the first turn
    skipped: bool
    counts: tuple[int, ...]  # Empty without summaries


def list_rater_items(
    tx: Connection, campaign_id: str, rater_id: str, question: str | None, *, after: int, most: int
) -> tuple[RaterItem, ...]:
    """Return items that a rater rated or skipped, in their order, after a position in it."""
    summary = ItemSummaryTable
    of_item = and_(
        summary.campaign_id == campaign_id,
        summary.position == ItemTable.position,
        summary.question == question,
        summary.axis == WITHIN,
    )
    query = (
        select(AssignmentTable.id, AssignmentTable.position.label("order"), AssignmentTable.state)
        .add_columns(ItemTable.position, ItemTable.name, summary.counts)
        .add_columns(ItemTable.content["turns"][0]["text"].as_string().label("text"))
        .join(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .outerjoin(summary, of_item)
        .where(AssignmentTable.rater_id == rater_id, AssignmentTable.state.in_(("done", "skipped")))
        .where(AssignmentTable.position > after)
        .order_by(AssignmentTable.position)
    )
    return tuple(
        RaterItem(
            assignment_id=row.id,
            order=row.order,
            position=row.position,
            name=row.name,
            text=row.text or "",
            skipped=row.state == "skipped",
            counts=tuple(row.counts or ()),
        )
        for row in tx.execute(query.limit(most))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterNotice:
    """A notice of a rater, open or settled."""

    kind: str
    text: str
    item: str | None
    position: int | None  # Zero-based, of the item
    at: datetime
    settled_at: datetime | None


def list_rater_notices(tx: Connection, rater_id: str) -> tuple[RaterNotice, ...]:
    """Return the notices of a rater, the latest first."""
    query = (
        select(NoticeTable.kind, NoticeTable.text, NoticeTable.at, NoticeTable.settled_at)
        .add_columns(ItemTable.name.label("item"), ItemTable.position)
        .outerjoin(AssignmentTable, AssignmentTable.id == NoticeTable.assignment_id)
        .outerjoin(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .where(NoticeTable.rater_id == rater_id)
        .order_by(NoticeTable.id.desc())
    )
    return list_rows(tx, query, RaterNotice)
