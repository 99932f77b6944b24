"""How raters said that they felt, as it is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from dissensus.store import tables as t
from dissensus.store.export import taking_part


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeling:
    """How a rater said that they felt."""

    rater_id: str  # Who, the how manieth of the campaign they are from 0, and how often they had been asked before
    rater: int
    number: int
    answers: Mapping[str, str | Sequence[str]]  # Those that were given, by question
    reach: str | None  # How they can be reached; None where they do not say
    at: datetime  # When they said so, and when somebody had dealt with it
    settled_at: datetime | None


def n_asked(tx: Connection, rater_id: str) -> int:
    """Return how often a rater was asked how they feel."""
    return tx.scalar(select(func.count()).select_from(t.Feeling).where(t.Feeling.rater_id == rater_id)) or 0


def add(
    tx: Connection,
    rater_id: str,
    number: int,
    answers: Mapping[str, Any],
    *,
    told: bool,
    reach: str | None,
    now: datetime,
) -> None:
    """Keep how a rater feels, who must be locked."""
    row = {"rater_id": rater_id, "number": number, "answers": dict(answers), "told": told, "reach_text": reach}
    tx.execute(insert(t.Feeling).values(**row, at=now))


def told(tx: Connection, campaign_id: str) -> tuple[Feeling, ...]:
    """Return what raters of a campaign want its contact to know, what is open first, then the latest."""
    query = (
        select(t.Feeling, t.Rater.number.label("rater"))
        .join(t.Rater, t.Rater.id == t.Feeling.rater_id)
        .where(taking_part(campaign_id), t.Feeling.told)
        .order_by(t.Feeling.settled_at.is_not(None), t.Feeling.at.desc(), t.Feeling.rater_id)
    )
    return tuple(
        Feeling(
            rater_id=row.rater_id,
            rater=row.rater,
            number=row.number,
            answers=row.answers,
            reach=row.reach_text,
            at=row.at,
            settled_at=row.settled_at,
        )
        for row in tx.execute(query)
    )


def answers_of(tx: Connection, campaign_id: str) -> tuple[tuple[str, Mapping[str, str | Sequence[str]]], ...]:
    """Return who of a campaign said what, each time that they were asked."""
    query = select(t.Feeling.rater_id, t.Feeling.answers).join(t.Rater, t.Rater.id == t.Feeling.rater_id)
    return tuple((row.rater_id, row.answers) for row in tx.execute(query.where(taking_part(campaign_id))))


def settle(tx: Connection, campaign_id: str, rater_id: str, number: int, *, now: datetime) -> bool:
    """Keep that somebody dealt with what a rater said, and tell whether it was open."""
    here = select(t.Rater.id).where(taking_part(campaign_id)).scalar_subquery()
    open_ = (t.Feeling.rater_id == rater_id) & (t.Feeling.number == number) & t.Feeling.settled_at.is_(None)
    one = update(t.Feeling).where(open_, t.Feeling.told, t.Feeling.rater_id.in_(here))
    return bool(tx.execute(one.values(settled_at=now)).rowcount)
