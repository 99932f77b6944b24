"""Participants sent by a recruiter and their submissions; no other table holds external ids."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, ForeignKey, Select, UniqueConstraint, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from dissensus.errors import Conflict
from dissensus.store.core.orm import Base, RaterData, find_row, list_columns, list_rows
from dissensus.store.raters import RATER_COLUMNS, RaterRow, RaterState, RaterTable


class RecruitTable(RaterData, Base):
    """A participant sent by a recruiter; the only table with external ids, which can be erased separately."""

    __tablename__ = "recruit"
    __table_args__ = (UniqueConstraint("campaign_id", "person"),)

    submission: Mapped[str] = mapped_column(
        primary_key=True, doc="The recruiter's id of the submission; a digest of the person for a panel."
    )
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaign.id"))
    person: Mapped[str] = mapped_column(doc="The recruiter's id of the person.")
    rater_id: Mapped[str | None] = mapped_column(
        ForeignKey("rater.id"), unique=True, doc="Null for a participant who was turned away."
    )
    status: Mapped[str | None] = mapped_column(doc="Last status at the recruiter.")
    n_repeat_visits: Mapped[int] = mapped_column(default=0, doc="Number of visits by another submission.")
    return_requested_at: Mapped[datetime | None] = mapped_column(doc="Time when an owner requested the return.")
    entered_at: Mapped[datetime]


def find_recruited_rater(tx: Connection, person: str, submission: str, *, lock: bool = False) -> RaterRow | None:
    """Return the rater of a recruiter's ids, or None; `lock` keeps them from being erased."""
    has_ids = (RecruitTable.person == person) & (RecruitTable.submission == submission)
    query = select(*RATER_COLUMNS).join(RecruitTable, RecruitTable.rater_id == RaterTable.id).where(has_ids)
    locked = query.with_for_update(read=True, key_share=True, of=RaterTable)
    return find_row(tx, locked if lock else query, RaterRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecruitRow:
    """A participant sent by a recruiter."""

    submission: str  # The recruiter's id
    person: str = field(repr=False)  # The recruiter's id
    campaign_id: str
    rater_id: str | None  # None for a participant who was turned away
    status: str | None  # Last status at the recruiter, if any


_COLUMNS = list_columns(RecruitTable, RecruitRow)


def find_recruit(tx: Connection, campaign_id: str, person: str) -> RecruitRow | None:
    """Return a participant by the recruiter's id of the person, or None."""
    in_campaign = (RecruitTable.campaign_id == campaign_id) & (RecruitTable.person == person)
    return find_row(tx, select(*_COLUMNS).where(in_campaign), RecruitRow)


def find_recruit_by_submission(tx: Connection, submission: str) -> RecruitRow | None:
    """Return a participant by the recruiter's id of the submission, or None."""
    return find_row(tx, select(*_COLUMNS).where(RecruitTable.submission == submission), RecruitRow)


def find_recruit_of_rater(tx: Connection, rater_id: str) -> RecruitRow | None:
    """Return the participant who is this rater, or None."""
    return find_row(tx, select(*_COLUMNS).where(RecruitTable.rater_id == rater_id), RecruitRow)


def add_recruit(
    tx: Connection, campaign_id: str, rater_id: str, *, person: str, submission: str, now: datetime
) -> None:
    """Insert a participant; Conflict if the submission was just used for another campaign."""
    ids = {"submission": submission, "campaign_id": campaign_id, "person": person, "rater_id": rater_id}
    try:
        with tx.begin_nested():
            tx.execute(insert(RecruitTable).values(**ids, n_repeat_visits=0, entered_at=now))
    except IntegrityError:
        raise Conflict("This submission is used for another campaign. Nothing about you was stored here.") from None


DECISIONS: Final = ("APPROVED", "PARTIALLY APPROVED", "REJECTED")
"""Statuses of submissions that were judged."""


def count_repeat_visit(tx: Connection, submission: str) -> None:
    """Increment the repeat visits of a participant."""
    tx.execute(
        update(RecruitTable)
        .where(RecruitTable.submission == submission)
        .values(n_repeat_visits=RecruitTable.n_repeat_visits + 1)
    )


def turn_away_recruit(tx: Connection, rater_id: str) -> None:
    """Detach a participant from their rater, who is to be deleted; the submission stays."""
    tx.execute(update(RecruitTable).where(RecruitTable.rater_id == rater_id).values(rater_id=None))


def set_recruit_status(tx: Connection, submission: str, status: str) -> None:
    """Set the recruiter's status of a submission."""
    tx.execute(update(RecruitTable).where(RecruitTable.submission == submission).values(status=status))


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionRow:
    """A submission of a participant, without the id of the person."""

    submission: str  # The recruiter's id
    rater_id: str | None  # None, like number and state, for a participant who was turned away
    number: int | None
    state: RaterState | None
    status: str | None  # Last status at the recruiter, if any
    n_repeat_visits: int  # Number of visits by another submission
    entered_at: datetime
    return_requested_at: datetime | None  # Time when the return was requested, if it was


def _select_submissions(campaign_id: str) -> Select[*tuple[Any, ...]]:
    return (
        select(
            RecruitTable.submission,
            RecruitTable.rater_id,
            RecruitTable.status,
            RecruitTable.n_repeat_visits,
            RecruitTable.entered_at,
            RecruitTable.return_requested_at,
            RaterTable.number,
            RaterTable.state,
        )
        .outerjoin(RaterTable, RaterTable.id == RecruitTable.rater_id)
        .where(RecruitTable.campaign_id == campaign_id)
    )


def iterate_external_ids(tx: Connection, campaign_id: str) -> Iterator[str]:
    """Yield the ids that people and their submissions have on recruitment platforms."""
    columns = (RecruitTable.person, RecruitTable.submission)
    for row in tx.execute(select(*columns).where(RecruitTable.campaign_id == campaign_id)):
        yield from filter(None, row)


def list_submissions(
    tx: Connection, campaign_id: str, *, first: str, start: int, most: int
) -> tuple[SubmissionRow, ...]:
    """Return a page of submissions: those of one status first, then in order of entry."""
    order = (case((RecruitTable.status == first, 0), else_=1), RecruitTable.entered_at, RecruitTable.submission)
    query = _select_submissions(campaign_id).order_by(*order).offset(start).limit(most)
    return list_rows(tx, query, SubmissionRow)


def list_submissions_after(
    tx: Connection, campaign_id: str, *, status: str | None, after: str, most: int
) -> tuple[SubmissionRow, ...]:
    """Return submissions, or those of one status, in the order of their ids, after an id."""
    query = _select_submissions(campaign_id).where(RecruitTable.submission > after)
    query = query if status is None else query.where(RecruitTable.status == status)
    return list_rows(tx, query.order_by(RecruitTable.submission).limit(most), SubmissionRow)


def find_submission(tx: Connection, campaign_id: str, submission: str) -> SubmissionRow | None:
    """Return a submission of a campaign, or None."""
    return find_row(tx, _select_submissions(campaign_id).where(RecruitTable.submission == submission), SubmissionRow)


def count_submissions(tx: Connection, campaign_id: str, *, status: str | None = None) -> int:
    """Count the submissions of a campaign, or those of one status."""
    query = select(func.count()).select_from(RecruitTable).where(RecruitTable.campaign_id == campaign_id)
    return tx.scalar(query if status is None else query.where(RecruitTable.status == status)) or 0


def record_return_request(tx: Connection, submission: str, *, now: datetime) -> None:
    """Set the time when the return of a submission was requested."""
    tx.execute(update(RecruitTable).where(RecruitTable.submission == submission).values(return_requested_at=now))


def erase_recruits(tx: Connection, campaign_id: str) -> int:
    """Delete all external ids of a campaign, and return the number of its participants."""
    return tx.execute(delete(RecruitTable).where(RecruitTable.campaign_id == campaign_id)).rowcount
