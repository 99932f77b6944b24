"""Whom a recruiter sent, as an owner decides on them."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, case, delete, func, select, update

from dissensus.store import tables as t
from dissensus.store.raters import Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The visit of somebody whom a recruiter sent; who they are there is not told."""

    submission: str  # The recruiter's id of the visit
    rater_id: str | None  # Who they are here, and how many items they rated; None for who was turned away
    number: int | None
    state: Standing | None
    n_rated: int
    status: str | None  # What the recruiter told last; None for nothing so far
    again: int  # How often the same person came by another visit
    entered_at: datetime  # When they came, and were asked to give it back, if they were
    return_asked_at: datetime | None


def _submissions(campaign_id: str) -> Select[tuple[object, ...]]:
    done = select(func.count()).where(t.Assignment.rater_id == t.Rater.id, t.Assignment.state == "done")
    r = t.Recruit
    return (
        select(r.submission, r.rater_id, r.status, r.again, r.entered_at, r.return_asked_at)
        .add_columns(t.Rater.number, t.Rater.state, done.scalar_subquery().label("n_rated"))
        .outerjoin(t.Rater, t.Rater.id == r.rater_id)
        .where(r.campaign_id == campaign_id)
    )


def submissions_of(tx: Connection, campaign_id: str, *, first: str, start: int, most: int) -> tuple[Submission, ...]:
    """Return some submissions of a campaign: those of one status first, then as they came."""
    order = (case((t.Recruit.status == first, 0), else_=1), t.Recruit.entered_at, t.Recruit.submission)
    query = _submissions(campaign_id).order_by(*order).offset(start).limit(most)
    return tuple(Submission(**row._mapping) for row in tx.execute(query))


def submissions_after(
    tx: Connection, campaign_id: str, *, status: str | None, after: str, most: int
) -> tuple[Submission, ...]:
    """Return submissions of a campaign, or those of one status, by their ids, after one."""
    query = _submissions(campaign_id).where(t.Recruit.submission > after)
    query = query if status is None else query.where(t.Recruit.status == status)
    rows = tx.execute(query.order_by(t.Recruit.submission).limit(most))
    return tuple(Submission(**row._mapping) for row in rows)


def submission_of(tx: Connection, campaign_id: str, submission: str) -> Submission | None:
    """Return a submission of a campaign, None where there is none."""
    row = tx.execute(_submissions(campaign_id).where(t.Recruit.submission == submission)).one_or_none()
    return None if row is None else Submission(**row._mapping)


def n_submissions(tx: Connection, campaign_id: str, *, status: str | None = None) -> int:
    """Return how many submissions a campaign has, in all or of one status."""
    query = select(func.count()).select_from(t.Recruit).where(t.Recruit.campaign_id == campaign_id)
    return tx.scalar(query if status is None else query.where(t.Recruit.status == status)) or 0


def asked_return(tx: Connection, submission: str, *, now: datetime) -> None:
    """Keep that somebody was asked to give a visit back."""
    tx.execute(update(t.Recruit).where(t.Recruit.submission == submission).values(return_asked_at=now))


def erase_all(tx: Connection, campaign_id: str) -> int:
    """Delete all that tells whom a recruiter sent to a campaign, and return how many there were."""
    return tx.execute(delete(t.Recruit).where(t.Recruit.campaign_id == campaign_id)).rowcount
