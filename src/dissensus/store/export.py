"""Queries of exports: finished ratings and conversations of raters who agreed, in windows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, and_, distinct, exists, func, select

from dissensus.campaign.answer_drafts import select_submitted
from dissensus.campaign.corrections import measure_submission
from dissensus.campaign.export_table import ExportedRating
from dissensus.schema.records.source_notice import SOURCE
from dissensus.store import chats
from dissensus.store.answer_drafts import SaveTable, load_saves, load_visits
from dissensus.store.assignments import IS_FIRST, AssignmentTable
from dissensus.store.chats import ChatExchangeTable, ChatTable
from dissensus.store.check_answers import load_attempts_by_rater
from dissensus.store.consents import has_agreed
from dissensus.store.flags import load_excluded_raters
from dissensus.store.items import MAX_IDS_PER_STATEMENT, ItemTable, to_item
from dissensus.store.raters import DeclarationTable, RaterTable, is_participant

CHAT_WINDOW: Final = 200
"""Conversations read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatExportCounts:
    """Conversations that an export leaves out, and raters who withdrew."""

    rehearsal: int  # Conversations of previews
    without_consent: int  # Conversations of raters who did not agree to every purpose
    unfinished: int
    withdrawn: int  # Number of those raters


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedChat:
    """A conversation that has ended."""

    chat: chats.ChatRow
    success: int | None  # Rating of the outcome by the rater


def count_chat_export(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> ChatExportCounts:
    """Count the conversations that an export leaves out."""
    in_campaign, agreed, done = RaterTable.campaign_id == campaign_id, has_agreed(purposes), ChatTable.state == "done"
    return ChatExportCounts(
        rehearsal=chats.count_matching_chats(tx, and_(in_campaign, RaterTable.rehearsal)),
        without_consent=chats.count_matching_chats(tx, and_(is_participant(campaign_id), ~agreed, done)),
        unfinished=chats.count_matching_chats(tx, and_(is_participant(campaign_id), agreed, ~done)),
        withdrawn=_count_withdrawn(tx, campaign_id),
    )


def _count_withdrawn(tx: Connection, campaign_id: str) -> int:
    withdrawn = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal & (RaterTable.state == "withdrawn")
    return tx.scalar(select(func.count()).select_from(RaterTable).where(withdrawn)) or 0


def iterate_ended_chats(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> Iterator[EndedChat]:
    """Yield ended conversations of raters who agreed to all purposes, by their ids."""
    query = _select_ended_chats(campaign_id, purposes, ChatTable.id, ChatTable.success)
    query = query.order_by(ChatTable.id).limit(CHAT_WINDOW)
    last = ""
    while rows := tx.execute(query.where(ChatTable.id > last)).all():
        last = rows[-1].id
        success = {row.id: row.success for row in rows}
        for chat in chats.load_chats(tx, list(success)):
            yield EndedChat(chat=chat, success=success[chat.id])


def count_chat_exchanges(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> int:
    """Count the messages in ended conversations of raters who agreed to all purposes."""
    query = _select_ended_chats(campaign_id, purposes, func.count())
    return tx.scalar(query.join(ChatExchangeTable, ChatExchangeTable.chat_id == ChatTable.id)) or 0


def find_chat_period(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> tuple[datetime, datetime]:
    """Return when the first and the last ended conversation of raters who agreed began; there must be one."""
    period = (func.min(ChatTable.started_at), func.max(ChatTable.started_at))
    first, last = tx.execute(_select_ended_chats(campaign_id, purposes, *period)).one()
    return first, last


def _select_ended_chats(campaign_id: str, purposes: Sequence[str], *columns: Any) -> Select[Any]:
    """Return the query of ended conversations of raters who agreed to all purposes."""
    return (
        select(*columns)
        .select_from(ChatTable)
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
        .where(is_participant(campaign_id), has_agreed(purposes), ChatTable.state == "done")
    )


def may_have_item_copies(tx: Connection, campaign_id: str) -> bool:
    """Return whether an item is named like a conversation of a campaign, as its copies are."""
    named = select(ItemTable.id).join(ChatTable, ChatTable.id == ItemTable.name)
    query = named.join(RaterTable, RaterTable.id == ChatTable.rater_id).where(is_participant(campaign_id)).limit(1)
    return tx.scalar(query) is not None


def list_refused_items(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> frozenset[str]:
    """Return the names of items that are conversations of this site whose authors did not agree to all purposes."""
    query = (
        select(ItemTable.name)
        .join(ChatTable, ChatTable.id == ItemTable.name)
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
        .where(ItemTable.campaign_id == campaign_id, ~has_agreed(purposes))
    )
    return frozenset(tx.scalars(query))


def iterate_refused_chats(tx: Connection, purposes: Sequence[str]) -> Iterator[chats.ChatRow]:
    """Yield all conversations of the site whose authors did not agree to all purposes."""
    query = (
        select(ChatTable.id)
        .join(RaterTable, RaterTable.id == ChatTable.rater_id)
        .where(~has_agreed(purposes), ~RaterTable.rehearsal)
        .order_by(ChatTable.id)
        .limit(CHAT_WINDOW)
    )
    last = ""
    while ids := tx.scalars(query.where(ChatTable.id > last)).all():
        last = ids[-1]
        yield from chats.load_chats(tx, ids)


@dataclass(frozen=True, slots=True)
class DoneAssignment:
    """A finished assignment."""

    assignment_id: str
    item_id: str
    rater_id: str


def list_done_assignments(
    tx: Connection, campaign_id: str, item_ids: Sequence[str], purposes: Sequence[str]
) -> tuple[DoneAssignment, ...]:
    """Return finished assignments of some items, of raters who agreed to all purposes."""
    result: list[DoneAssignment] = []
    for start in range(0, len(item_ids), MAX_IDS_PER_STATEMENT):
        query = (
            select(AssignmentTable.id, AssignmentTable.item_id, AssignmentTable.rater_id)
            .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
            .where(is_participant(campaign_id), has_agreed(purposes), AssignmentTable.state == "done")
            .where(IS_FIRST, AssignmentTable.item_id.in_(item_ids[start : start + MAX_IDS_PER_STATEMENT]))
            .order_by(AssignmentTable.id)
        )
        result += [DoneAssignment(*row) for row in tx.execute(query)]
    return tuple(result)


def load_declarations(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return the last self-descriptions of raters who agreed to all purposes."""
    return _load_declarations(tx, and_(is_participant(campaign_id), has_agreed(purposes)))


def _load_declarations(tx: Connection, condition: ColumnElement[bool]) -> dict[str, Mapping[str, Any]]:
    """Return the last self-description of each rater under a condition."""
    query = (
        select(DeclarationTable.rater_id, DeclarationTable.content)
        .join(RaterTable, RaterTable.id == DeclarationTable.rater_id)
        .where(condition)
        .order_by(DeclarationTable.at, DeclarationTable.id)
    )
    return dict(tx.execute(query).all())


RATING_WINDOW: Final = 100
"""Ratings read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingCount:
    """Numbers of raters and of their finished ratings."""

    raters: int
    ratings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingExportCounts:
    """Ratings that an export has, and those that it leaves out."""

    exported: RatingCount  # Finished ratings of raters who agreed
    rehearsal: RatingCount  # Ratings of previews and dry runs
    without_consent: RatingCount  # Ratings of raters who did not agree to every purpose
    withdrawn: int  # Raters who withdrew
    unfinished: int  # Items begun and not submitted, by raters who agreed


def count_rating_export(tx: Connection, campaign_id: str, purposes: Sequence[str]) -> RatingExportCounts:
    """Count the ratings that an export has, and those that it leaves out."""
    in_campaign = RaterTable.campaign_id == campaign_id
    participates, agreed = is_participant(campaign_id), has_agreed(purposes)
    has_saves = select(SaveTable.assignment_id).where(SaveTable.assignment_id == AssignmentTable.id).exists()
    unfinished = _select_assignments(func.count()).where(
        participates, agreed, AssignmentTable.state != "done", has_saves
    )
    return RatingExportCounts(
        exported=_count_ratings(tx, and_(participates, agreed)),
        rehearsal=_count_ratings(tx, and_(in_campaign, RaterTable.rehearsal)),
        without_consent=_count_ratings(tx, and_(participates, ~agreed)),
        withdrawn=_count_withdrawn(tx, campaign_id),
        unfinished=tx.scalar(unfinished) or 0,
    )


def has_corrections(tx: Connection, campaign_id: str) -> bool:
    """Return whether a participant of a campaign corrected a finished item."""
    query = (
        _select_assignments(AssignmentTable.id)
        .join(SaveTable, SaveTable.assignment_id == AssignmentTable.id)
        .where(is_participant(campaign_id), AssignmentTable.state == "done", SaveTable.final)
        .group_by(AssignmentTable.id)
        .having(func.count() > 1)
        .limit(1)
    )
    return tx.scalar(query) is not None


def has_repeats(tx: Connection, campaign_id: str) -> bool:
    """Return whether a participant of a campaign rated an item twice."""
    query = _select_assignments(AssignmentTable.id).where(
        is_participant(campaign_id), AssignmentTable.state == "done", ~IS_FIRST
    )
    return tx.scalar(query.limit(1)) is not None


def list_item_attributes(tx: Connection, campaign_id: str) -> frozenset[str]:
    """Return the names of all attributes of the items of a campaign."""
    result: set[str] = set()
    query = select(ItemTable.content["attributes"]).where(ItemTable.campaign_id == campaign_id)
    for attributes in tx.scalars(query.execution_options(yield_per=RATING_WINDOW)):
        result.update(attributes)
    return frozenset(result)


def list_item_sources(tx: Connection, campaign_id: str) -> tuple[str, ...]:
    """Return the names of the datasets that items of a campaign are from, in order."""
    source = ItemTable.content["attributes"][SOURCE].as_string()
    query = select(source).where(ItemTable.campaign_id == campaign_id, source.is_not(None)).distinct()
    return tuple(sorted(tx.scalars(query)))


def iterate_ratings(
    tx: Connection, campaign_id: str, purposes: Sequence[str], *, window: int = RATING_WINDOW
) -> Iterator[tuple[ExportedRating, ...]]:
    """Yield finished ratings of raters who agreed to all purposes, in windows, by assignment id."""
    last = ""
    while ratings := list_ratings_after(tx, campaign_id, purposes, last=last, most=window):
        last = ratings[-1][0]
        yield tuple(rating for _, rating in ratings)


def list_ratings_after(
    tx: Connection, campaign_id: str, purposes: Sequence[str], *, last: str, until: datetime | None = None, most: int
) -> tuple[tuple[str, ExportedRating], ...]:
    """Return finished ratings of raters who agreed to all purposes, after an assignment id.

    With `until` only ratings that were finished by then, in their present state.
    """
    query = (
        _select_assignments(
            *(AssignmentTable.id, AssignmentTable.rater_id, AssignmentTable.showing, AssignmentTable.shown_first),
            *(ItemTable.name, ItemTable.content),
        )
        .join(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .where(
            is_participant(campaign_id),
            has_agreed(purposes),
            AssignmentTable.state == "done",
            AssignmentTable.id > last,
        )
        .where(*_finished_until(until))
        .order_by(AssignmentTable.id)
        .limit(most)
    )
    return _to_ratings(tx, tx.execute(query).all(), load_excluded_raters(tx, campaign_id))


def _finished_until(until: datetime | None) -> tuple[ColumnElement[bool], ...]:
    if until is None:
        return ()
    return (
        exists().where(SaveTable.assignment_id == AssignmentTable.id, SaveTable.final, SaveTable.received_at <= until),
    )


def _to_ratings(tx: Connection, rows: Sequence[Any], flagged: frozenset[str]) -> tuple[tuple[str, ExportedRating], ...]:
    ids = [row.id for row in rows]
    finals = load_saves(tx, ids, final=True)
    times = {assignment_id: measure_submission(saves) for assignment_id, saves in load_visits(tx, ids).items()}
    rater_ids = {row.rater_id for row in rows}
    declarations = _load_declarations(tx, RaterTable.id.in_(rater_ids))
    check_answers = load_attempts_by_rater(tx, rater_ids)
    submitted = {assignment_id: select_submitted(saves) for assignment_id, saves in finals.items()}
    ratings = (
        ExportedRating(
            rater_id=row.rater_id,
            item=to_item(row.name, row.content),
            answers={name: draft.value for name, draft in submitted[row.id].items() if draft.value is not None},
            bulk=frozenset(name for name, draft in submitted[row.id].items() if draft.bulk),
            declared=declarations.get(row.rater_id, {}),
            times=times[row.id],
            showing=row.showing,
            check_answers=check_answers.get(row.rater_id, {}),
            flagged=row.rater_id in flagged,
            shown_first=row.shown_first,
        )
        for row in rows
    )
    return tuple(zip(ids, ratings, strict=True))


def _select_assignments(*columns: Any) -> Select[Any]:
    return select(*columns).select_from(AssignmentTable).join(RaterTable, RaterTable.id == AssignmentTable.rater_id)


def _count_ratings(tx: Connection, condition: ColumnElement[bool]) -> RatingCount:
    query = _select_assignments(func.count(distinct(AssignmentTable.rater_id)), func.count())
    raters, ratings = tx.execute(query.where(condition, AssignmentTable.state == "done")).one()
    return RatingCount(raters=raters, ratings=ratings)
