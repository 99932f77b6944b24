"""Reports of a campaign on the site: requests, and the pages and figures of those that are done."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, ForeignKey, delete, insert, or_, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.campaigns import CampaignTable
from dissensus.store.chats import ChatTable
from dissensus.store.core.orm import ID, Base, check_in, find_row, list_columns, list_rows
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable
from dissensus.store.staff import StaffTable

ReportState: TypeAlias = Literal["waiting", "working", "done", "failed"]


class CampaignReportTable(Base):
    """A report of a campaign; a withdrawal of a rater deletes it."""

    __tablename__ = "campaign_report"
    __table_args__ = (check_in("state", "waiting", "working", "done", "failed"),)

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"))
    request: Mapped[str] = mapped_column(doc="Options as canonical JSON.")
    with_raters: Mapped[bool] = mapped_column(doc="True if it shows single raters and small groups.")
    state: Mapped[str]
    progress: Mapped[float]
    at: Mapped[datetime]
    claimed_until: Mapped[datetime | None] = mapped_column(doc="End of the claim of the process that works on it.")
    n_claims: Mapped[int] = mapped_column(doc="Processes that began it; it fails when several of them have died.")
    fault: Mapped[str | None]
    content: Mapped[str | None] = mapped_column(doc="First page as JSON text.")


class ReportSectionTable(Base):
    """A section of a report."""

    __tablename__ = "report_section"

    report_id: Mapped[str] = mapped_column(ForeignKey("campaign_report.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    content: Mapped[str] = mapped_column(doc="JSON text.")


class ReportFigureTable(Base):
    """A figure of a report, drawn for wide and narrow pages, with its numbers."""

    __tablename__ = "report_figure"

    report_id: Mapped[str] = mapped_column(ForeignKey("campaign_report.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    wide: Mapped[str] = mapped_column(doc="SVG.")
    narrow: Mapped[str] = mapped_column(doc="SVG.")
    numbers: Mapped[str] = mapped_column(doc="CSV.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A report of a campaign."""

    id: str
    staff_id: str
    by: str  # Name of who asked for it
    request: str
    with_raters: bool
    state: ReportState
    progress: float
    at: datetime
    fault: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """The texts of a finished report."""

    content: str
    sections: Sequence[tuple[str, str]]  # Name and content
    figures: Sequence[tuple[str, str, str, str]]  # Name, wide and narrow drawing, numbers


_TABLE = CampaignReportTable
_SELECT = select(*list_columns(_TABLE, ReportRow, joined={"by"}), StaffTable.name.label("by")).join(
    StaffTable, StaffTable.id == _TABLE.staff_id
)


def add_report(
    tx: Connection, report_id: str, campaign_id: str, request: str, *, with_raters: bool, staff_id: str, now: datetime
) -> None:
    """Insert a request for a report."""
    row = {"id": report_id, "campaign_id": campaign_id, "staff_id": staff_id, "request": request}
    tx.execute(insert(_TABLE).values(**row, with_raters=with_raters, state="waiting", progress=0.0, n_claims=0, at=now))


def list_reports(
    tx: Connection, campaign_id: str, *, with_raters: bool, staff_id: str | None = None
) -> tuple[ReportRow, ...]:
    """Return the reports of a campaign or of one member, the latest first; `with_raters` includes those on raters."""
    query = _SELECT.where(_TABLE.campaign_id == campaign_id).order_by(_TABLE.at.desc(), _TABLE.id.desc())
    query = query if with_raters else query.where(~_TABLE.with_raters)
    query = query if staff_id is None else query.where(_TABLE.staff_id == staff_id)
    return list_rows(tx, query, ReportRow)


def find_report(tx: Connection, campaign_id: str, report_id: str) -> ReportRow | None:
    """Return a report of a campaign, or None."""
    return find_row(tx, _SELECT.where(_TABLE.campaign_id == campaign_id, _TABLE.id == report_id), ReportRow)


def delete_oldest_reports(tx: Connection, campaign_id: str, *, most: int) -> None:
    """Delete all but the latest reports of a campaign that are done or failed."""
    ids = select(_TABLE.id).where(_TABLE.campaign_id == campaign_id, _TABLE.state.in_(("done", "failed")))
    old = list(tx.scalars(ids.order_by(_TABLE.at.desc(), _TABLE.id.desc()).offset(most)))
    tx.execute(delete(_TABLE).where(_TABLE.id.in_(old)))


def delete_reports(tx: Connection, campaign_id: str) -> None:
    """Delete all reports of a campaign, and of those whose conversations are its items: they hold its reviews."""
    reviewed = (
        select(RaterTable.campaign_id)
        .join(ChatTable, ChatTable.rater_id == RaterTable.id)
        .join(ItemTable, ItemTable.name == ChatTable.id)
        .where(ItemTable.campaign_id == campaign_id)
    )
    tx.execute(delete(_TABLE).where((_TABLE.campaign_id == campaign_id) | _TABLE.campaign_id.in_(reviewed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedReport:
    """A report to work on."""

    id: str
    campaign: str  # Name
    staff_id: str
    request: str
    with_raters: bool
    n_claims: int  # With this one; a later claim makes it invalid


def has_unfinished_report(tx: Connection) -> bool:
    """Return whether a report waits or is worked on."""
    return tx.scalar(select(_TABLE.id).where(_TABLE.state.in_(("waiting", "working"))).limit(1)) is not None


def fail_lost_reports(tx: Connection, fault: str, *, most: int, now: datetime) -> None:
    """Mark reports of which at least `most` processes have died as failed, with the reason."""
    lost = (_TABLE.state == "working") & (_TABLE.claimed_until <= now) & (_TABLE.n_claims >= most)
    tx.execute(update(_TABLE).where(lost).values(state="failed", fault=fault))


def claim_report(tx: Connection, *, until: datetime, now: datetime) -> ClaimedReport | None:
    """Claim the oldest report that waits, or whose process has died; None without any, or while one is worked on."""
    if tx.scalar(select(_TABLE.id).where(_TABLE.state == "working", _TABLE.claimed_until > now).limit(1)) is not None:
        return None
    free = or_(_TABLE.state == "waiting", (_TABLE.state == "working") & (_TABLE.claimed_until <= now))
    query = (
        select(
            _TABLE.id,
            CampaignTable.name.label("campaign"),
            _TABLE.staff_id,
            _TABLE.request,
            _TABLE.with_raters,
            (_TABLE.n_claims + 1).label("n_claims"),
        )
        .join(CampaignTable, CampaignTable.id == _TABLE.campaign_id)
        .where(free)
        .order_by(_TABLE.at, _TABLE.id)
        .limit(1)
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    claim = (
        update(_TABLE)
        .where(_TABLE.id == row.id, free)
        .values(state="working", claimed_until=until, n_claims=_TABLE.n_claims + 1)
    )
    return ClaimedReport(**row._mapping) if tx.execute(claim).rowcount else None


def extend_report_claim(tx: Connection, claimed: ClaimedReport, progress: float, *, until: datetime | None) -> bool:
    """Store the progress of a report and extend its claim; return whether the claim still holds."""
    values = {"progress": progress, "claimed_until": until}
    return bool(tx.execute(update(_TABLE).where(_is_held(claimed)).values(**values)).rowcount)


def fail_report(tx: Connection, claimed: ClaimedReport, fault: str) -> None:
    """Mark a report as failed, with the reason, unless the claim was lost."""
    tx.execute(update(_TABLE).where(_is_held(claimed)).values(state="failed", fault=fault))


def finish_report(tx: Connection, claimed: ClaimedReport, stored: StoredReport) -> None:
    """Store the texts of a report, unless it was deleted or the claim lost."""
    values = {"state": "done", "progress": 1.0, "content": stored.content}
    if not tx.execute(update(_TABLE).where(_is_held(claimed)).values(**values)).rowcount:
        return
    sections = [{"report_id": claimed.id, "name": name, "content": content} for name, content in stored.sections]
    names = ("name", "wide", "narrow", "numbers")
    figures = [{"report_id": claimed.id, **dict(zip(names, values, strict=True))} for values in stored.figures]
    for table, rows in ((ReportSectionTable, sections), (ReportFigureTable, figures)):
        if rows:
            tx.execute(insert(table), rows)


def _is_held(claimed: ClaimedReport) -> ColumnElement[bool]:
    return (_TABLE.id == claimed.id) & (_TABLE.state == "working") & (_TABLE.n_claims == claimed.n_claims)


def find_report_content(tx: Connection, report_id: str, section: str | None = None) -> str | None:
    """Return the content of a report, or of a section of it; None without."""
    if section is None:
        return tx.scalar(select(_TABLE.content).where(_TABLE.id == report_id))
    table = ReportSectionTable
    return tx.scalar(select(table.content).where(table.report_id == report_id, table.name == section))


def find_report_figure(tx: Connection, report_id: str, name: str) -> Any:
    """Return the drawings and the numbers of a figure, or None."""
    table = ReportFigureTable
    columns = (table.wide, table.narrow, table.numbers)
    return tx.execute(select(*columns).where(table.report_id == report_id, table.name == name)).one_or_none()
