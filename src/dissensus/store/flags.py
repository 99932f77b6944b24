"""Notices that raters are flagged, once each, and decisions about them: append-only, the last one is current."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from sqlalchemy import ColumnElement, Connection, ForeignKey, and_, insert, or_, select
from sqlalchemy.orm import Mapped, aliased, mapped_column

from dissensus.store.core.orm import ID, Base, RaterData, check_in, find_row, list_columns, list_rows
from dissensus.store.raters import RaterTable
from dissensus.store.staff import StaffTable


class FlagDecisionTable(RaterData, Base):
    """A decision about a flagged rater; the last one is current."""

    __tablename__ = "flag_decision"
    __table_args__ = (check_in("verdict", "keep", "exclude"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), index=True)
    verdict: Mapped[str]
    reason: Mapped[str]
    evidence: Mapped[str] = mapped_column(doc="Criteria that were met at the time, one per line.")
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    at: Mapped[datetime]


class FlagNoticeTable(RaterData, Base):
    """Notice to members that a rater is flagged; it stays when a withdrawal deletes the figures of all raters."""

    __tablename__ = "flag_notice"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    at: Mapped[datetime]


FlagVerdict: TypeAlias = Literal["keep", "exclude"]


VERDICTS: tuple[FlagVerdict, ...] = get_args(FlagVerdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagJudgement:
    """A verdict on a flagged rater with its reason and evidence."""

    verdict: FlagVerdict
    reason: str
    evidence: str  # Criteria that were met at the time, one per line


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagDecisionRow:
    """A decision about a flagged rater with the name of its author."""

    id: str
    rater_id: str
    verdict: FlagVerdict  # `exclude` flags the rater in exports
    reason: str
    evidence: str  # Criteria that were met at the time, one per line
    by: str  # Name of the author
    at: datetime


_SELECT = (
    select(*list_columns(FlagDecisionTable, FlagDecisionRow, joined={"by"}), StaffTable.name.label("by"))
    .join(StaffTable, StaffTable.id == FlagDecisionTable.staff_id)
    .order_by(FlagDecisionTable.at, FlagDecisionTable.id)
)


def load_flag_decisions(tx: Connection, campaign_id: str) -> dict[str, FlagDecisionRow]:
    """Return the current decision about each flagged rater of a campaign."""
    query = _SELECT.join(RaterTable, RaterTable.id == FlagDecisionTable.rater_id)
    rows = list_rows(tx, query.where(RaterTable.campaign_id == campaign_id), FlagDecisionRow)
    return {row.rater_id: row for row in rows}


def has_verdict(rater_id: Any, verdict: FlagVerdict | None = None) -> ColumnElement[bool]:
    """Return the condition that the current decision about a rater is a verdict, or that there is any decision."""
    later = aliased(FlagDecisionTable)
    is_later = or_(
        later.at > FlagDecisionTable.at, and_(later.at == FlagDecisionTable.at, later.id > FlagDecisionTable.id)
    )
    superseded = select(later.id).where(later.rater_id == FlagDecisionTable.rater_id, is_later).exists()
    current = select(FlagDecisionTable.id).where(FlagDecisionTable.rater_id == rater_id, ~superseded)
    return (current if verdict is None else current.where(FlagDecisionTable.verdict == verdict)).exists()


def list_flag_decisions(tx: Connection, rater_id: str) -> tuple[FlagDecisionRow, ...]:
    """Return all decisions about a rater, the latest first."""
    return list_rows(tx, _SELECT.where(FlagDecisionTable.rater_id == rater_id), FlagDecisionRow)[::-1]


def find_flag_decision(tx: Connection, decision_id: str) -> FlagDecisionRow | None:
    """Return a decision by its id, or None."""
    return find_row(tx, _SELECT.where(FlagDecisionTable.id == decision_id), FlagDecisionRow)


def load_excluded_raters(tx: Connection, campaign_id: str) -> frozenset[str]:
    """Return the raters of a campaign who are excluded from analyses."""
    decisions = load_flag_decisions(tx, campaign_id)
    return frozenset(rater_id for rater_id, decision in decisions.items() if decision.verdict == "exclude")


def has_flag_decisions(tx: Connection, campaign_id: str) -> bool:
    """Return whether a campaign has any flag decision."""
    return bool(load_flag_decisions(tx, campaign_id))


def add_flag_decision(
    tx: Connection, rater_id: str, decision_id: str, judgement: FlagJudgement, *, staff_id: str, now: datetime
) -> datetime:
    """Insert a decision, dated after earlier ones even if the clock was set back, and return its time."""
    last = next((decision.at for decision in list_flag_decisions(tx, rater_id)), None)
    at = now if last is None or now > last else last + timedelta(microseconds=1)
    row = {"id": decision_id, "rater_id": rater_id, "staff_id": staff_id, "at": at}
    tx.execute(insert(FlagDecisionTable).values(**row, **asdict(judgement)))
    return at


def add_flag_notices(tx: Connection, campaign_id: str, flagged: Collection[str], *, now: datetime) -> int:
    """Insert notices for the flagged raters of a campaign without one, and return their number."""
    table = FlagNoticeTable
    notified = select(table.rater_id).join(RaterTable, RaterTable.id == table.rater_id)
    new = set(flagged).difference(tx.scalars(notified.where(RaterTable.campaign_id == campaign_id)))
    if new:
        tx.execute(insert(table), [{"rater_id": rater_id, "at": now} for rater_id in sorted(new)])
    return len(new)
