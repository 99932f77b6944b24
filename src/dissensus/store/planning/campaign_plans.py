"""Plans of a campaign: those that were computed for a draft, and the one that it follows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ForeignKey, Select, delete, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import ID, Base, find_row, list_columns, list_rows, new_id
from dissensus.store.staff import StaffTable


class CampaignPlanTable(Base):
    """A plan of a campaign."""

    __tablename__ = "campaign_plan"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"), index=True)
    staff_id: Mapped[str] = mapped_column(ForeignKey("staff.id"), doc="Member of staff who computed it.")
    at: Mapped[datetime]
    question: Mapped[str]
    file: Mapped[str] = mapped_column(doc="JSON text, as dissensus plan writes it.")
    content: Mapped[str | None] = mapped_column(doc="Tables and figures as JSON text; null for a file from elsewhere.")
    adopted_at: Mapped[datetime | None] = mapped_column(doc="Time when the campaign took its numbers.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """A plan of a campaign, without its texts."""

    id: str
    by: str  # Name of who computed it
    at: datetime
    question: str
    adopted_at: datetime | None


_TABLE = CampaignPlanTable


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPlan:
    """A plan to insert."""

    question: str
    file: str
    content: str | None = None


def add_plan(tx: Connection, campaign_id: str, plan: NewPlan, *, staff_id: str, now: datetime) -> str:
    """Insert a plan, and return its id."""
    plan_id = new_id(now)
    row = {"id": plan_id, "campaign_id": campaign_id, "staff_id": staff_id, "at": now}
    tx.execute(insert(_TABLE).values(**row, question=plan.question, file=plan.file, content=plan.content))
    return plan_id


def list_plans(tx: Connection, campaign_id: str) -> tuple[PlanRow, ...]:
    """Return the plans of a campaign, the latest first."""
    query = _select_rows(_TABLE.campaign_id == campaign_id).order_by(_TABLE.id.desc())
    return list_rows(tx, query, PlanRow)


def find_plan(tx: Connection, campaign_id: str, plan_id: str) -> tuple[PlanRow, str, str | None] | None:
    """Return a plan of a campaign with its file and its content, None if there is none."""
    own = (_TABLE.campaign_id == campaign_id) & (_TABLE.id == plan_id)
    row = find_row(tx, _select_rows(own), PlanRow)
    if row is None:
        return None
    file, content = tx.execute(select(_TABLE.file, _TABLE.content).where(own)).one()
    return row, file, content


def _select_rows(condition: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    columns = list_columns(_TABLE, PlanRow, joined={"by"})
    return (
        select(*columns, StaffTable.name.label("by"))
        .join(StaffTable, StaffTable.id == _TABLE.staff_id)
        .where(condition)
    )


def mark_adopted(tx: Connection, campaign_id: str, plan_id: str, *, now: datetime) -> None:
    """Mark one plan of a campaign as the one that it follows."""
    tx.execute(update(_TABLE).where(_TABLE.campaign_id == campaign_id).values(adopted_at=None))
    own = (_TABLE.campaign_id == campaign_id) & (_TABLE.id == plan_id)
    tx.execute(update(_TABLE).where(own).values(adopted_at=now))


def delete_oldest_plans(tx: Connection, campaign_id: str, *, most: int) -> None:
    """Delete the plans of a campaign except the latest ones and the one that it follows."""
    latest = select(_TABLE.id).where(_TABLE.campaign_id == campaign_id).order_by(_TABLE.id.desc()).limit(most)
    latest_ids = tx.scalars(latest).all()
    tx.execute(
        delete(_TABLE).where(
            _TABLE.campaign_id == campaign_id, _TABLE.adopted_at.is_(None), _TABLE.id.not_in(latest_ids)
        )
    )


def delete_plans(tx: Connection, campaign_id: str) -> None:
    """Delete all plans of a campaign."""
    tx.execute(delete(_TABLE).where(_TABLE.campaign_id == campaign_id))
