"""Wellbeing surveys of raters and their contact requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, ForeignKey, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base, RaterData, list_columns, list_rows
from dissensus.store.raters import RaterTable, is_participant


class CareSurveyTable(RaterData, Base):
    """Answers of a rater to one wellbeing survey."""

    __tablename__ = "care_survey"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, doc="Number of earlier surveys of the rater.")
    answers: Mapped[dict[str, Any]] = mapped_column(doc="Answers by question, without skipped ones.")
    notify_contact: Mapped[bool] = mapped_column(doc="True to show the answers to the contact of the campaign.")
    contact_info: Mapped[str | None] = mapped_column(doc="Contact details of the rater, if given.")
    at: Mapped[datetime]
    settled_at: Mapped[datetime | None] = mapped_column(doc="Time when the contact settled it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSurveyRow:
    """Answers of a rater to a wellbeing survey, with the number of the rater."""

    rater_id: str
    rater: int  # Zero-based entry number of the rater
    number: int  # Number of earlier surveys of the rater
    answers: Mapping[str, str | Sequence[str]]  # Answers by question, without skipped ones
    contact_info: str | None  # Contact details, if given
    at: datetime
    settled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyAnswers:
    """Answers of a rater to a wellbeing survey, and whether the contact may read them."""

    rater_id: str
    answers: Mapping[str, str | Sequence[str]]  # Answers by question, without skipped ones
    notify_contact: bool


def count_surveys(tx: Connection, rater_id: str) -> int:
    """Count the surveys of a rater."""
    return tx.scalar(select(func.count()).select_from(CareSurveyTable).where(CareSurveyTable.rater_id == rater_id)) or 0


def add_survey(
    tx: Connection,
    rater_id: str,
    number: int,
    answers: Mapping[str, Any],
    *,
    notify_contact: bool,
    contact_info: str | None,
    now: datetime,
) -> None:
    """Insert the answers of a rater to a survey; the rater must be locked."""
    row = {
        "rater_id": rater_id,
        "number": number,
        "answers": dict(answers),
        "notify_contact": notify_contact,
        "contact_info": contact_info,
    }
    tx.execute(insert(CareSurveyTable).values(**row, at=now))


def list_contact_requests(tx: Connection, campaign_id: str) -> tuple[CareSurveyRow, ...]:
    """Return the surveys that raters sent to the contact of a campaign: open ones first, then the latest."""
    query = (
        select(*list_columns(CareSurveyTable, CareSurveyRow, joined={"rater"}), RaterTable.number.label("rater"))
        .join(RaterTable, RaterTable.id == CareSurveyTable.rater_id)
        .where(is_participant(campaign_id), CareSurveyTable.notify_contact)
        .order_by(CareSurveyTable.settled_at.is_not(None), CareSurveyTable.at.desc(), CareSurveyTable.rater_id)
    )
    return list_rows(tx, query, CareSurveyRow)


def list_survey_answers(tx: Connection, campaign_id: str) -> tuple[SurveyAnswers, ...]:
    """Return the answers to all surveys of a campaign, the earliest first."""
    query = (
        select(*list_columns(CareSurveyTable, SurveyAnswers))
        .join(RaterTable, RaterTable.id == CareSurveyTable.rater_id)
        .where(is_participant(campaign_id))
        .order_by(CareSurveyTable.at, RaterTable.number, CareSurveyTable.number)
    )
    return list_rows(tx, query, SurveyAnswers)


def settle_contact_request(tx: Connection, campaign_id: str, rater_id: str, number: int, *, now: datetime) -> bool:
    """Mark a contact request as settled, and return whether it was open."""
    in_campaign = select(RaterTable.id).where(is_participant(campaign_id)).scalar_subquery()
    open_request = (
        (CareSurveyTable.rater_id == rater_id)
        & (CareSurveyTable.number == number)
        & CareSurveyTable.settled_at.is_(None)
        & CareSurveyTable.notify_contact
        & CareSurveyTable.rater_id.in_(in_campaign)
    )
    return bool(tx.execute(update(CareSurveyTable).where(open_request).values(settled_at=now)).rowcount)
