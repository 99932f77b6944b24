"""Whom a recruiter sent: ids of elsewhere, which are in no other table."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from dissensus.errors import Conflict
from dissensus.store import tables as t


@dataclass(frozen=True, slots=True, kw_only=True)
class Recruit:
    """Somebody whom a recruiter sent."""

    submission: str  # The recruiter's id of the visit
    campaign_id: str  # To which campaign, and who it is there; None for who was turned away
    rater_id: str | None
    status: str | None  # What the recruiter told last; None for nothing so far


_COLUMNS = [getattr(t.Recruit, name) for name in Recruit.__dataclass_fields__]


def recruit_of(tx: Connection, campaign_id: str, person: str) -> Recruit | None:
    """Return somebody by the recruiter's id of the person, None where they have not come."""
    here = (t.Recruit.campaign_id == campaign_id) & (t.Recruit.person == person)
    row = tx.execute(select(*_COLUMNS).where(here)).one_or_none()
    return None if row is None else Recruit(**row._mapping)


def recruit_by(tx: Connection, submission: str) -> Recruit | None:
    """Return somebody by the recruiter's id of the visit, None where there is none."""
    row = tx.execute(select(*_COLUMNS).where(t.Recruit.submission == submission)).one_or_none()
    return None if row is None else Recruit(**row._mapping)


def recruited_as(tx: Connection, rater_id: str) -> Recruit | None:
    """Return whom a recruiter sent who is this rater now, None where nobody did."""
    row = tx.execute(select(*_COLUMNS).where(t.Recruit.rater_id == rater_id)).one_or_none()
    return None if row is None else Recruit(**row._mapping)


def add_recruit(
    tx: Connection, campaign_id: str, rater_id: str, *, person: str, study: str, submission: str, now: datetime
) -> None:
    """Keep whom a recruiter sent."""
    ids = {"submission": submission, "campaign_id": campaign_id, "person": person, "study": study, "rater_id": rater_id}
    try:
        with tx.begin_nested():
            tx.execute(insert(t.Recruit).values(**ids, again=0, entered_at=now, changed_at=now))
    except IntegrityError:
        raise Conflict("This submission is used for another campaign. Nothing about you was kept here.") from None


def came_again(tx: Connection, submission: str) -> None:
    """Count that the same person came by another visit."""
    tx.execute(update(t.Recruit).where(t.Recruit.submission == submission).values(again=t.Recruit.again + 1))


def turn_away(tx: Connection, rater_id: str, *, now: datetime) -> None:
    """Part somebody from the rater that they were not allowed to become, and keep that they came."""
    tx.execute(update(t.Recruit).where(t.Recruit.rater_id == rater_id).values(rater_id=None, changed_at=now))


def set_status(tx: Connection, submission: str, status: str, *, now: datetime) -> None:
    """Keep what the recruiter tells of a visit."""
    tx.execute(update(t.Recruit).where(t.Recruit.submission == submission).values(status=status, changed_at=now))
