"""Wellbeing surveys of raters and their contact requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, ForeignKey, func, insert, select, update
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.store.core.orm import Base, RaterData
from dissensus.store.raters import RaterTable, is_participant


class CareSurveyTable(RaterData, Base):
    """Answers of a rater to one wellbeing survey."""

    __tablename__ = "care_survey"

    rater_id: Mapped[str] = mapped_column(ForeignKey("rater.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, doc="How often they had been asked before.")
    answers: Mapped[dict[str, Any]] = mapped_column(doc="Those that were given.")
    notify_contact: Mapped[bool] = mapped_column(doc="Whether the contact of the campaign is to know.")
    contact_info: Mapped[str | None] = mapped_column(doc="How they can be reached, where they say so.")
    at: Mapped[datetime]
    settled_at: Mapped[datetime | None] = mapped_column(doc="When the contact had dealt with it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CareSurveyRow:
    """Answers of a rater to a wellbeing survey, with the number of the rater."""

    rater_id: str  # Who, the how manieth of the campaign they are from 0, and how often they had been asked before
    rater: int
    number: int
    answers: Mapping[str, str | Sequence[str]]  # Those that were given, by question
    contact_info: str | None  # How they can be reached; None if they do not say
    at: datetime  # When they said so, and when somebody had dealt with it
    settled_at: datetime | None


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
        select(CareSurveyTable, RaterTable.number.label("rater"))
        .join(RaterTable, RaterTable.id == CareSurveyTable.rater_id)
        .where(is_participant(campaign_id), CareSurveyTable.notify_contact)
        .order_by(CareSurveyTable.settled_at.is_not(None), CareSurveyTable.at.desc(), CareSurveyTable.rater_id)
    )
    return tuple(
        CareSurveyRow(
            rater_id=row.rater_id,
            rater=row.rater,
            number=row.number,
            answers=row.answers,
            contact_info=row.contact_info,
            at=row.at,
            settled_at=row.settled_at,
        )
        for row in tx.execute(query)
    )


def list_survey_answers(tx: Connection, campaign_id: str) -> tuple[tuple[str, Mapping[str, str | Sequence[str]]], ...]:
    """Return the answers to all surveys of a campaign, with the rater of each."""
    query = select(CareSurveyTable.rater_id, CareSurveyTable.answers).join(
        RaterTable, RaterTable.id == CareSurveyTable.rater_id
    )
    return tuple((row.rater_id, row.answers) for row in tx.execute(query.where(is_participant(campaign_id))))


def settle_contact_request(tx: Connection, campaign_id: str, rater_id: str, number: int, *, now: datetime) -> bool:
    """Mark a contact request as settled, and return whether it was open."""
    in_campaign = select(RaterTable.id).where(is_participant(campaign_id)).scalar_subquery()
    open_ = (
        (CareSurveyTable.rater_id == rater_id)
        & (CareSurveyTable.number == number)
        & CareSurveyTable.settled_at.is_(None)
    )
    one = update(CareSurveyTable).where(
        open_, CareSurveyTable.notify_contact, CareSurveyTable.rater_id.in_(in_campaign)
    )
    return bool(tx.execute(one.values(settled_at=now)).rowcount)
