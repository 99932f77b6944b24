"""Numbers of a campaign and of the whole platform, counted where they are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from sqlalchemy import ColumnElement, Connection, Select, func, select, update

from dissensus.store import tables as t
from dissensus.store.assignments import Fate
from dissensus.store.raters import Standing

STANDINGS: tuple[Standing, ...] = get_args(Standing)
FATES: tuple[Fate, ...] = get_args(Fate)
MOST_NOTICES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How far a campaign is; previews and dry runs do not count, but for the loads."""

    n_items: int
    raters: Mapping[Standing, int]
    n_rehearsals: int  # Previews and dry runs
    assignments: Mapping[Fate, int]  # Assignments by how they ended, or that they are open
    loads: tuple[tuple[int, int], ...]  # How many items have each number of raters, from the fewest raters on
    n_invited: int  # Personal links, and those by which somebody entered
    n_entered: int
    n_chats: int = 0  # Conversations with chatbots that have ended, and how often raters spoke in all of them
    n_exchanges: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a rater reported, and nobody has dealt with yet."""

    id: str
    kind: Literal["help", "illegal"]  # Whether they need help, or met what must not be shown
    text: str  # In their words, and about which item, if any
    item: str | None
    at: datetime


def numbers_of(tx: Connection, campaign_id: str) -> Numbers:
    """Count a campaign."""
    theirs = t.Rater.campaign_id == campaign_id
    ended = dict(
        tx.execute(
            select(t.Assignment.state, func.count())
            .join(t.Rater, t.Rater.id == t.Assignment.rater_id)
            .where(theirs, ~t.Rater.rehearsal)
            .group_by(t.Assignment.state)
        ).all()
    )
    loads = tx.execute(
        select(t.Item.load, func.count())
        .where(t.Item.campaign_id == campaign_id)
        .group_by(t.Item.load)
        .order_by(t.Item.load)
    ).all()
    invited = select(func.count()).select_from(t.Invitation).where(t.Invitation.campaign_id == campaign_id)
    rehearsals = select(func.count()).select_from(t.Rater).where(theirs, t.Rater.rehearsal)
    entered = select(func.count(t.Rater.invitation_hash)).where(theirs)
    return Numbers(
        n_items=sum(n for _, n in loads),
        raters=_raters(tx, campaign_id),
        n_rehearsals=tx.scalar(rehearsals) or 0,
        assignments={fate: ended.get(fate, 0) for fate in FATES},
        loads=tuple((load, n) for load, n in loads),
        n_invited=tx.scalar(invited) or 0,
        n_entered=tx.scalar(entered) or 0,
        n_chats=_n_chats(tx, theirs),
        n_exchanges=_n_exchanges(tx, theirs),
    )


def _n_chats(tx: Connection, theirs: ColumnElement[bool]) -> int:
    chats = select(func.count()).select_from(t.Chat).join(t.Rater, t.Rater.id == t.Chat.rater_id)
    return tx.scalar(chats.where(theirs, ~t.Rater.rehearsal, t.Chat.state == "done")) or 0


def _n_exchanges(tx: Connection, theirs: ColumnElement[bool]) -> int:
    said = select(func.count()).select_from(t.ChatExchange).join(t.Chat, t.Chat.id == t.ChatExchange.chat_id)
    return tx.scalar(said.join(t.Rater, t.Rater.id == t.Chat.rater_id).where(theirs, ~t.Rater.rehearsal)) or 0


def _raters(tx: Connection, campaign_id: str | None) -> dict[Standing, int]:
    """Return how many raters there are by standing, of a campaign or of all."""
    query = select(t.Rater.state, func.count()).where(~t.Rater.rehearsal).group_by(t.Rater.state)
    found = dict(tx.execute(query if campaign_id is None else query.where(t.Rater.campaign_id == campaign_id)).all())
    return {standing: found.get(standing, 0) for standing in STANDINGS}


def all_raters(tx: Connection) -> dict[Standing, int]:
    """Return how many raters there are by standing, in all campaigns."""
    return _raters(tx, None)


def last_save(tx: Connection) -> int:
    """Return the number of the last save, 0 where there is none; they count up."""
    return tx.scalar(select(func.max(t.Save.number))) or 0


def notices_of(tx: Connection, campaign_id: str) -> tuple[Notice, ...]:
    """Return what raters reported and nobody has dealt with, the latest first."""
    query = _notices(campaign_id).order_by(t.Notice.id.desc()).limit(MOST_NOTICES)
    return tuple(Notice(**row._mapping) for row in tx.execute(query))


def notices_after(tx: Connection, campaign_id: str, *, after: str, most: int) -> tuple[Notice, ...]:
    """Return what raters reported and nobody has dealt with, the earliest first, after one that is named by its id."""
    query = _notices(campaign_id).where(t.Notice.id > after).order_by(t.Notice.id).limit(most)
    return tuple(Notice(**row._mapping) for row in tx.execute(query))


def _notices(campaign_id: str) -> Select[*tuple[Any, ...]]:
    return (
        select(t.Notice.id, t.Notice.kind, t.Notice.text, t.Notice.at, t.Item.name.label("item"))
        .join(t.Rater, t.Rater.id == t.Notice.rater_id)
        .outerjoin(t.Assignment, t.Assignment.id == t.Notice.assignment_id)
        .outerjoin(t.Item, t.Item.id == t.Assignment.item_id)
        .where(t.Rater.campaign_id == campaign_id, t.Notice.answered_at.is_(None))
    )


def settle(tx: Connection, campaign_id: str, notice_id: str, *, show_again: bool, now: datetime) -> bool:
    """Keep that somebody dealt with a notice of a campaign, and tell whether it has such a one.

    The item that it reports stays withheld, unless it is to be shown again.
    """
    raters = select(t.Rater.id).where(t.Rater.campaign_id == campaign_id)
    mine = (t.Notice.id == notice_id) & t.Notice.rater_id.in_(raters)
    known = tx.execute(update(t.Notice).where(mine).values(answered_at=now)).rowcount
    if show_again:
        about = select(t.Assignment.item_id).join(t.Notice, t.Notice.assignment_id == t.Assignment.id).where(mine)
        tx.execute(update(t.Item).where(t.Item.id.in_(about)).values(withheld=False))
    return bool(known)
