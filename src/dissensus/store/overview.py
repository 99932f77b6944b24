"""Counts of a campaign and of the platform."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from sqlalchemy import ColumnElement, Connection, func, select

from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentState, AssignmentTable
from dissensus.store.chats import ChatExchangeTable, ChatTable
from dissensus.store.items import ItemTable
from dissensus.store.raters import InvitationTable, RaterState, RaterTable

RATER_STATES: tuple[RaterState, ...] = get_args(RaterState)


ASSIGNMENT_STATES: tuple[AssignmentState, ...] = get_args(AssignmentState)


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignNumbers:
    """Numbers of a campaign without previews and dry runs."""

    n_items: int
    raters: Mapping[RaterState, int]
    n_rehearsals: int  # Previews and dry runs
    assignments: Mapping[AssignmentState, int]
    loads: tuple[tuple[int, int], ...]  # Pairs of load and number of items with it, lowest load first
    n_invited: int  # Personal links
    n_entered: int  # Personal links by which somebody entered
    n_chats: int = 0  # Ended conversations
    n_exchanges: int = 0


def load_campaign_numbers(tx: Connection, campaign_id: str) -> CampaignNumbers:
    """Return the numbers of a campaign."""
    owned = RaterTable.campaign_id == campaign_id
    by_state = dict(
        tx.execute(
            select(AssignmentTable.state, func.count())
            .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
            .where(owned, ~RaterTable.rehearsal)
            .group_by(AssignmentTable.state)
        ).all()
    )
    loads = tx.execute(
        select(ItemTable.load, func.count())
        .where(ItemTable.campaign_id == campaign_id)
        .group_by(ItemTable.load)
        .order_by(ItemTable.load)
    ).all()
    invited = select(func.count()).select_from(InvitationTable).where(InvitationTable.campaign_id == campaign_id)
    rehearsals = select(func.count()).select_from(RaterTable).where(owned, RaterTable.rehearsal)
    entered = select(func.count(RaterTable.invitation_hash)).where(owned)
    return CampaignNumbers(
        n_items=sum(n for _, n in loads),
        raters=_count_raters(tx, campaign_id),
        n_rehearsals=tx.scalar(rehearsals) or 0,
        assignments={state: by_state.get(state, 0) for state in ASSIGNMENT_STATES},
        loads=tuple((load, n) for load, n in loads),
        n_invited=tx.scalar(invited) or 0,
        n_entered=tx.scalar(entered) or 0,
        n_chats=_count_chats(tx, owned),
        n_exchanges=_count_exchanges(tx, owned),
    )


def _count_chats(tx: Connection, in_campaign: ColumnElement[bool]) -> int:
    chats = select(func.count()).select_from(ChatTable).join(RaterTable, RaterTable.id == ChatTable.rater_id)
    return tx.scalar(chats.where(in_campaign, ~RaterTable.rehearsal, ChatTable.state == "done")) or 0


def _count_exchanges(tx: Connection, in_campaign: ColumnElement[bool]) -> int:
    exchanges = (
        select(func.count())
        .select_from(ChatExchangeTable)
        .join(ChatTable, ChatTable.id == ChatExchangeTable.chat_id)
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
    )
    return tx.scalar(exchanges.where(in_campaign, ~RaterTable.rehearsal)) or 0


def _count_raters(tx: Connection, campaign_id: str | None) -> dict[RaterState, int]:
    """Count raters by state, of a campaign or of all."""
    query = select(RaterTable.state, func.count()).where(~RaterTable.rehearsal).group_by(RaterTable.state)
    query = query if campaign_id is None else query.where(RaterTable.campaign_id == campaign_id)
    by_state = dict(tx.execute(query).all())
    return {state: by_state.get(state, 0) for state in RATER_STATES}


def count_all_raters(tx: Connection) -> dict[RaterState, int]:
    """Count the raters of all campaigns by state."""
    return _count_raters(tx, None)


def find_last_save_number(tx: Connection) -> int:
    """Return the number of the last save, 0 without any."""
    return tx.scalar(select(func.max(SaveTable.number))) or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterSummary:
    """A rater in a list."""

    number: int  # Zero-based entry number
    id: str
    standing: RaterState
    cell: str | None  # Quota cell, if there is a quota and the cell is known
    language: str
    n_rated: int
    n_skipped: int
    n_open: int


def list_raters_after(tx: Connection, campaign_id: str, *, after: int, most: int) -> tuple[RaterSummary, ...]:
    """Return raters in the order of entry, after a number, without rehearsals."""
    counts = {
        name: func.count(AssignmentTable.id).filter(AssignmentTable.state == state).label(name)
        for name, state in (("n_rated", "done"), ("n_skipped", "skipped"), ("n_open", "open"))
    }
    query = (
        select(
            RaterTable.number,
            RaterTable.id,
            RaterTable.state.label("standing"),
            RaterTable.cell,
            RaterTable.language,
            *counts.values(),
        )
        .outerjoin(AssignmentTable, AssignmentTable.rater_id == RaterTable.id)
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal, RaterTable.number > after)
        .group_by(RaterTable.id)
        .order_by(RaterTable.number)
    )
    return tuple(RaterSummary(**row._mapping) for row in tx.execute(query.limit(most)))
