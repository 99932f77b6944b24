"""What raters did for which they are paid, counted where it is asked for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    SQLColumnExpression,
    Subquery,
    case,
    cast,
    func,
    select,
    union_all,
    update,
)

from dissensus.campaign.pay import CEILING_MS
from dissensus.store import tables as t
from dissensus.store.raters import Standing

MOST_MS: Final = 2**31 - 1
"""As the column takes it, 24 days of work: more can only be made up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one rater did."""

    rater_id: str  # Who, and whether they go on
    number: int
    state: Standing
    entered_at: datetime
    had_finished: bool | None  # Whether who withdrew had finished; None for others
    n_rated: int
    worked_ms: int  # As `dissensus.campaign.pay.worked_ms` counts it; of who withdrew, as it was then
    noted: int  # What they were paid in all, as it was noted, in minor units
    status: str | None  # What the recruiter told last of their visit; None where it told nothing, or sent nobody

    @property
    def finished(self) -> bool:
        """Whether they did all that there was for them, and there was something."""
        return (self.state == "finished" and self.n_rated > 0) or bool(self.had_finished)


def work_of(tx: Connection, campaign_id: str, *, rater_ids: Collection[str] | None = None) -> tuple[Work, ...]:
    """Return what the raters of a campaign did, or some of them, in their order; previews and dry runs are left out."""
    theirs = (t.Rater.campaign_id == campaign_id) & ~t.Rater.rehearsal
    theirs = theirs if rater_ids is None else theirs & t.Rater.id.in_(rater_ids)
    rated, worked, noted = _rated(theirs), _worked(theirs), _noted(theirs)
    query = (
        select(t.Rater.id.label("rater_id"), t.Rater.number, t.Rater.state, t.Rater.entered_at, t.Rater.had_finished)
        .add_columns(func.coalesce(rated.c.n, 0).label("n_rated"))
        .add_columns(func.coalesce(t.Rater.worked_ms, worked.c.ms, 0).label("worked_ms"))
        .add_columns(func.coalesce(noted.c.amount, 0).label("noted"), t.Recruit.status)
        .outerjoin(rated, rated.c.rater_id == t.Rater.id)
        .outerjoin(worked, worked.c.rater_id == t.Rater.id)
        .outerjoin(noted, noted.c.rater_id == t.Rater.id)
        .outerjoin(t.Recruit, t.Recruit.rater_id == t.Rater.id)
        .where(theirs)
        .order_by(t.Rater.number)
    )
    return tuple(Work(**row._mapping) for row in tx.execute(query))


def raters_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[str, ...]:
    """Return the ids of raters in their order, after a number; previews and dry runs are left out."""
    theirs = (t.Rater.campaign_id == campaign_id) & ~t.Rater.rehearsal & (t.Rater.number > after)
    return tuple(tx.scalars(select(t.Rater.id).where(theirs).order_by(t.Rater.number).limit(most)))


def _rated(theirs: ColumnElement[bool]) -> Subquery:
    """Items that were rated, and conversations that have ended."""
    done = [
        select(one.rater_id).join(t.Rater, t.Rater.id == one.rater_id).where(theirs, one.state == "done")
        for one in (t.Assignment, t.Chat)
    ]
    every = union_all(*done).subquery("done")
    return select(every.c.rater_id, func.count().label("n")).group_by(every.c.rater_id).subquery("rated")


def _worked(theirs: ColumnElement[bool]) -> Subquery:
    """Of each visit of an item the longest time that it reported, within limits; then all of a rater together.

    What they say in a conversation, and what they pick there, is a visit each.
    """
    longest = func.max(t.Save.visible_ms - t.Save.idle_ms)
    visits = (
        select(t.Assignment.rater_id, _within(longest).label("ms"))
        .join(t.Assignment, t.Assignment.id == t.Save.assignment_id)
        .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
        .where(theirs)
        .group_by(t.Assignment.rater_id, t.Save.assignment_id, t.Save.visit)
    )
    every = union_all(visits, *_talked(theirs)).subquery("visits")
    sums = select(every.c.rater_id, _whole(every.c.ms).label("ms"))
    return sums.group_by(every.c.rater_id).subquery("worked")


def _talked(theirs: ColumnElement[bool]) -> tuple[Select[str, int], ...]:
    """Return the times of what raters said in conversations, and of what they picked."""
    picked = t.ChatPick.exchange_id == t.ChatExchange.id
    said = [
        select(t.Chat.rater_id, _within(one).label("ms")) for one in (t.ChatExchange.worked_ms, t.ChatPick.worked_ms)
    ]
    joined = [one.join(t.ChatExchange, t.ChatExchange.chat_id == t.Chat.id) for one in said]
    joined[1] = joined[1].join(t.ChatPick, picked)
    return tuple(one.join(t.Rater, t.Rater.id == t.Chat.rater_id).where(theirs) for one in joined)


def _within(ms: ColumnElement[int] | SQLColumnExpression[int]) -> ColumnElement[int]:
    return case((ms > CEILING_MS, CEILING_MS), (ms < 0, 0), else_=ms)


def _whole(column: SQLColumnExpression[int]) -> ColumnElement[int]:
    # PostgreSQL would make a decimal of the sum of wide integers.
    return cast(func.sum(column), BigInteger)


def _noted(theirs: ColumnElement[bool]) -> Subquery:
    rater = t.Payment.rater_id
    sums = select(rater, _whole(t.Payment.amount).label("amount")).join(t.Rater, t.Rater.id == rater)
    return sums.where(theirs).group_by(rater).subquery("noted")


def keep_work(tx: Connection, work: Work) -> None:
    """Keep what a rater is paid by, whose answers are about to be erased."""
    kept = {"worked_ms": min(work.worked_ms, MOST_MS), "had_finished": work.finished}
    tx.execute(update(t.Rater).where(t.Rater.id == work.rater_id).values(**kept))


def statuses_away(tx: Connection, campaign_id: str) -> Mapping[str | None, int]:
    """Return how many of those whom a recruiter sent were turned away, by what it told last of them."""
    away = (t.Recruit.campaign_id == campaign_id) & t.Recruit.rater_id.is_(None)
    return dict(tx.execute(select(t.Recruit.status, func.count()).where(away).group_by(t.Recruit.status)).all())
