"""Queries of an audit: stored rows as records to compare with the log, and recounts of stored counters."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select

from dissensus.campaign.answer_drafts import digest_save
from dissensus.campaign.audit_log import digest_item, digest_values, format_time
from dissensus.campaign.audit_replay import (
    Record,
    check_record,
    consent_record,
    digest_declaration,
    digest_flag_decision,
    digest_survey,
    gold_decision_record,
    gold_label_record,
    survey_record,
)
from dissensus.pipeline.collect.chat import digest_ended_chat, digest_message, digest_pick
from dissensus.schema.records.preference import Side
from dissensus.store import chats, images
from dissensus.store.answer_drafts import SAVE_COLUMNS, AnswerTable, SaveTable, parse_saves
from dissensus.store.assignments import IS_FIRST, LOAD_STATES, AssignmentTable
from dissensus.store.campaigns import CampaignTable
from dissensus.store.care import CareSurveyTable
from dissensus.store.chats import ChatTable
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.store.consents import ConsentTable, ConsentTextTable
from dissensus.store.core.orm import list_columns
from dissensus.store.flags import FlagDecisionTable
from dissensus.store.gold import GoldDecisionTable, GoldLabelTable
from dissensus.store.items import ERASED_CONTENT, ItemTable, derive_columns
from dissensus.store.raters import DeclarationTable, RaterTable
from dissensus.store.seats import ScreenOutTable, SeatTable

WINDOW = 1_000
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCampaign:
    """The row of a campaign as stored, before it is parsed."""

    name: str
    state: str
    digest: str
    definition: Any  # a mapping, unless it was changed
    deleted_at: datetime | None

    @property
    def definition_name(self) -> str | None:
        """The name in the definition."""
        return self.definition.get("name") if isinstance(self.definition, dict) else None


def load_stored_campaign(tx: Connection, campaign_id: str) -> StoredCampaign:
    """Return the row of a campaign; nothing of it is cached."""
    columns = list_columns(CampaignTable, StoredCampaign)
    return StoredCampaign(**tx.execute(select(*columns).where(CampaignTable.id == campaign_id)).one()._mapping)


def iterate_consent_texts(tx: Connection, campaign_id: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the versions of the consent text: number, stored digest, content."""
    columns = (ConsentTextTable.version, ConsentTextTable.digest, ConsentTextTable.content)
    query = select(*columns).where(ConsentTextTable.campaign_id == campaign_id).order_by(ConsentTextTable.version)
    for row in tx.execute(query):
        yield row.version, row.digest, row.content


def iterate_records(tx: Connection, campaign_id: str) -> Iterator[Record]:
    """Yield the stored rows that events commit to, without rehearsals."""
    in_campaign = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal
    yield from _iterate_raters(tx, in_campaign)
    yield from _iterate_consents(tx, in_campaign)
    yield from _iterate_declarations(tx, in_campaign)
    yield from _iterate_check_answers(tx, in_campaign)
    yield from _iterate_surveys(tx, in_campaign)
    yield from _iterate_final_saves(tx, in_campaign)
    yield from _iterate_flag_decisions(tx, in_campaign)
    yield from _iterate_chats(tx, in_campaign)
    yield from _iterate_gold(tx, campaign_id)
    yield from _iterate_images(tx, campaign_id)


def _stream(tx: Connection, query: Select[*tuple[Any, ...]]) -> Iterator[Any]:
    """Yield the rows of a query, of which few are held at once."""
    yield from tx.execute(query.execution_options(yield_per=WINDOW))


def _iterate_raters(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    columns = (RaterTable.id, RaterTable.language, RaterTable.cell, RaterTable.excluded_topics)
    for row in _stream(tx, select(*columns).where(in_campaign, RaterTable.state != "withdrawn")):
        yield Record("rater", row.id, (row.language,))
        yield Record("quota cell", row.id, (row.cell,))
        if row.excluded_topics is not None:
            yield Record("excluded topics", row.id, (digest_values(row.excluded_topics.splitlines()),))


def _iterate_consents(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    columns = (ConsentTable.rater_id, ConsentTextTable.version, ConsentTextTable.digest)
    query = (
        select(*columns, ConsentTable.purpose, ConsentTable.agreed, ConsentTable.at)
        .join(ConsentTextTable, ConsentTextTable.id == ConsentTable.consent_text_id)
        .join(RaterTable, RaterTable.id == ConsentTable.rater_id)
        .where(in_campaign)
        .order_by(ConsentTable.rater_id, ConsentTextTable.version)
    )
    for (rater_id, version, digest), group in groupby(_stream(tx, query), attrgetter("rater_id", "version", "digest")):
        rows = list(group)
        at = ", ".join(sorted({format_time(row.at) for row in rows}))
        yield consent_record(rater_id, version, digest, {row.purpose: row.agreed for row in rows}, at)


def _iterate_declarations(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    columns = (DeclarationTable.id, DeclarationTable.rater_id, DeclarationTable.content, DeclarationTable.at)
    query = select(*columns).join(RaterTable, RaterTable.id == DeclarationTable.rater_id).where(in_campaign)
    for row in _stream(tx, query):
        yield Record("demographic answers", row.id, (row.rater_id, digest_declaration(row.content, row.at)))


def _iterate_check_answers(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    query = select(*CheckAnswerTable.__table__.c).join(RaterTable, RaterTable.id == CheckAnswerTable.rater_id)
    for row in _stream(tx, query.where(in_campaign)):
        yield check_record(row.rater_id, row.name, row.attempt, digest_values(row.answer), format_time(row.at))


def _iterate_surveys(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    query = select(*CareSurveyTable.__table__.c).join(RaterTable, RaterTable.id == CareSurveyTable.rater_id)
    for row in _stream(tx, query.where(in_campaign)):
        digest = digest_survey(row.answers, notify_contact=row.notify_contact, contact_info=row.contact_info)
        yield survey_record(row.rater_id, row.number, digest, format_time(row.at))


def _iterate_final_saves(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    columns = (SaveTable.key, SaveTable.received_at, AssignmentTable.shown_first, AssignmentTable.rater_id)
    query = (
        select(*columns, ItemTable.name, *SAVE_COLUMNS)
        .join(AssignmentTable, AssignmentTable.id == SaveTable.assignment_id)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .join(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .outerjoin(AnswerTable, AnswerTable.save_number == SaveTable.number)
        .where(in_campaign, SaveTable.final)
        .order_by(SaveTable.number)
    )
    # One query, since windows of it would sort all saves each time.
    for _, group in groupby(_stream(tx, query), attrgetter("number")):
        rows = list(group)
        first, digest = rows[0], _digest_save_rows(rows, rows[0].shown_first)
        yield Record("answers", first.key, (first.rater_id, first.name, digest, format_time(first.received_at)))


def _digest_save_rows(rows: Iterable[Any], shown_first: Side | None) -> str | None:
    """Return the digest of a save; None if an answer is no longer JSON."""
    try:
        (save,) = parse_saves(rows)
    except ValueError:
        return None
    return digest_save(save, shown_first)


def _iterate_flag_decisions(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    query = select(*FlagDecisionTable.__table__.c).join(RaterTable, RaterTable.id == FlagDecisionTable.rater_id)
    for row in _stream(tx, query.where(in_campaign)):
        digest = digest_flag_decision(row.verdict, row.reason, row.evidence, row.staff_id, row.at)
        yield Record("flag decision", row.id, (row.rater_id, digest))


def _iterate_chats(tx: Connection, in_campaign: ColumnElement[bool]) -> Iterator[Record]:
    columns = (ChatTable.id, ChatTable.success, ChatTable.comment_text)
    owned = select(*columns).join(RaterTable, RaterTable.id == ChatTable.rater_id).where(in_campaign)
    last = ""
    while rows := tx.execute(owned.where(ChatTable.id > last).order_by(ChatTable.id).limit(WINDOW)).all():
        last = rows[-1].id
        ends = {row.id: row for row in rows}
        for chat in chats.load_chats(tx, list(ends)):
            yield Record("conversation", chat.id, (chat.rater_id, digest_values(chat.mode, chat.intent, chat.number)))
            yield from _list_exchanges(chat)
            if chat.done:
                end = ends[chat.id]
                digest = digest_ended_chat(chat.exchanges, success=end.success, comment=end.comment_text)
                yield Record("conversation end", chat.id, (digest,))


def _list_exchanges(chat: chats.ChatRow) -> Iterator[Record]:
    for exchange_id, exchange in zip(chat.exchange_ids, chat.exchanges, strict=True):
        yield Record("message", exchange_id, (chat.rater_id, digest_message(exchange)))
        if exchange.pick is not None:
            yield Record("preference", exchange_id, (digest_pick(exchange),))


def _iterate_gold(tx: Connection, campaign_id: str) -> Iterator[Record]:
    labels = select(ItemTable.name, *GoldLabelTable.__table__.c).join(ItemTable, ItemTable.id == GoldLabelTable.item_id)
    for row in _stream(tx, labels.where(ItemTable.campaign_id == campaign_id)):
        digest = digest_values(row.answers)
        yield gold_label_record(row.name, row.part, row.staff_id, row.revision, digest, format_time(row.at))
    decisions = select(ItemTable.name, *GoldDecisionTable.__table__.c).join(
        ItemTable, ItemTable.id == GoldDecisionTable.item_id
    )
    for row in _stream(tx, decisions.where(ItemTable.campaign_id == campaign_id)):
        digest = digest_values(row.answers, row.reason, row.staff_id)
        yield gold_decision_record(row.name, row.part, row.revision, digest, format_time(row.at))


def _iterate_images(tx: Connection, campaign_id: str) -> Iterator[Record]:
    for row in images.list_images(tx, campaign_id):
        try:
            image = images.find_image(tx, campaign_id, row.name)
        except ValueError:  # the content is no longer base64
            yield Record("image", row.name, (None,))
        else:
            yield Record("image", row.name, (None if image is None else image.digest,))


def iterate_items(tx: Connection, campaign_id: str) -> Iterator[tuple[str, str, bool | None]]:
    """Yield the items in their order: name, digest, and whether the content matches it; None for an erased one."""
    columns = (ItemTable.name, ItemTable.content, ItemTable.salt, ItemTable.digest)
    derived = (ItemTable.search_text, ItemTable.safety_gold)
    query = select(*columns, *derived).where(ItemTable.campaign_id == campaign_id).order_by(ItemTable.position)
    for row in _stream(tx, query):
        erased = row.salt is None and row.content == ERASED_CONTENT
        valid = None if erased else _has_own_digest(row)
        # A digest of another form would end the audit.
        yield row.name, row.digest if _DIGEST.fullmatch(row.digest) else "", _is_listed_as_stored(row) and valid


def _has_own_digest(row: Any) -> bool:
    try:
        return row.salt is not None and digest_item(row.name, row.content, row.salt) == row.digest
    except ValueError:  # a salt that is not hexadecimal
        return False


def _is_listed_as_stored(row: Any) -> bool:
    """Return whether the columns that lists and searches read match the content of an item."""
    try:
        derived = derive_columns(row.name, row.content)
    except (KeyError, TypeError, AttributeError):  # the content is no longer an item
        return False
    return all(getattr(row, name) == derived[name] for name in ("search_text", "safety_gold"))


def iterate_withdrawn_raters(tx: Connection, campaign_id: str) -> Iterator[str]:
    """Yield the raters who are stored as withdrawn, without rehearsals."""
    withdrawn = (RaterTable.campaign_id == campaign_id) & ~RaterTable.rehearsal & (RaterTable.state == "withdrawn")
    yield from tx.scalars(select(RaterTable.id).where(withdrawn).order_by(RaterTable.number))


def iterate_wrong_assignments(tx: Connection, campaign_id: str) -> Iterator[tuple[str, str, str]]:
    """Yield assignments that are done without submitted answers, or the reverse: rater, item, state."""
    submitted = select(SaveTable.assignment_id).where(SaveTable.assignment_id == AssignmentTable.id, SaveTable.final)
    query = (
        select(AssignmentTable.rater_id, ItemTable.name, AssignmentTable.state)
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .join(ItemTable, ItemTable.id == AssignmentTable.item_id)
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal)
        .where((AssignmentTable.state == "done") != submitted.exists())
    )
    for row in _stream(tx, query):
        yield row.rater_id, row.name, row.state


def iterate_wrong_loads(tx: Connection, campaign_id: str) -> Iterator[tuple[str, int, int]]:
    """Yield items whose stored load differs from the recount: name, stored, counted."""
    counted = (
        select(AssignmentTable.item_id, func.count().label("n"))
        .join(RaterTable, RaterTable.id == AssignmentTable.rater_id)
        .where(RaterTable.campaign_id == campaign_id, ~RaterTable.rehearsal, AssignmentTable.state.in_(LOAD_STATES))
        .where(IS_FIRST)
        .group_by(AssignmentTable.item_id)
        .subquery()
    )
    n = func.coalesce(counted.c.n, 0)
    query = (
        select(ItemTable.name, ItemTable.load, n)
        .outerjoin(counted, counted.c.item_id == ItemTable.id)
        .where(ItemTable.campaign_id == campaign_id, ItemTable.load != n)
        .order_by(ItemTable.position)
    )
    for name, load, count in tx.execute(query):
        yield str(name), int(load), int(count)


def count_raters(tx: Connection, campaign_id: str) -> tuple[int, int]:
    """Return the stored and the recounted number of raters; the stored one includes those turned away."""
    stored = tx.scalar(select(CampaignTable.n_raters).where(CampaignTable.id == campaign_id)) or 0
    return stored, tx.scalar(select(func.count()).where(RaterTable.campaign_id == campaign_id)) or 0


def count_seats(tx: Connection, campaign_id: str) -> Counter[str]:
    """Count the seats of each quota cell."""
    query = select(SeatTable.cell, func.count()).where(SeatTable.campaign_id == campaign_id).group_by(SeatTable.cell)
    return Counter(dict(tx.execute(query).all()))


def iterate_wrong_seats(tx: Connection, campaign_id: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the seats of raters of another quota cell: rater, cell of the seat, cell of the rater."""
    query = (
        select(SeatTable.rater_id, SeatTable.cell, RaterTable.cell.label("rater_cell"))
        .join(RaterTable, RaterTable.id == SeatTable.rater_id)
        .where(SeatTable.campaign_id == campaign_id, SeatTable.cell.is_distinct_from(RaterTable.cell))
    )
    for row in tx.execute(query):
        yield row.rater_id, row.cell, row.rater_cell


def count_screen_outs(tx: Connection, campaign_id: str) -> Counter[str]:
    """Return the stored number of raters who were turned away, by quota cell."""
    query = select(ScreenOutTable.cell, ScreenOutTable.n_raters).where(ScreenOutTable.campaign_id == campaign_id)
    return Counter(dict(tx.execute(query).all()))
