"""Records of a campaign for a release: ratings of items or pairs, or conversations of raters with chatbots."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import polars as pl
from sqlalchemy import Connection

from dissensus.campaign.consent_scope import describe_refusal
from dissensus.campaign.export_table import ExportedRating, export_form, to_frame
from dissensus.campaign.preferences import build_preferences
from dissensus.errors import InvalidInput, NotFound
from dissensus.pipeline.collect.chat import build_conversation
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_attempt, to_preferences
from dissensus.pipeline.release.derivation import EDIT, RESPONSE_B, SUCCESS, UPWORK
from dissensus.pipeline.release.pseudonyms import conceal_conversation
from dissensus.pipeline.release.source import AuthoredAttempt
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.ratings import columns as names
from dissensus.schema.records.image import IMAGE, IMAGE_ALT
from dissensus.schema.records.pair import PREFERENCE
from dissensus.schema.records.preference import SIDES, Preference
from dissensus.schema.records.source_notice import SOURCE
from dissensus.schema.release.plan import PURPOSE, ReleasePlan
from dissensus.store import export as export_store
from dissensus.store import raters
from dissensus.store.campaigns import CampaignRow
from dissensus.store.export import ChatExportCounts
from dissensus.text.transcripts import join_hh
from dissensus.workflows.export.folder import describe_omissions, describe_withdrawals
from dissensus.workflows.export.ratings import add_gold_attributes, load_export_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedRecords:
    """Records of raters who agreed to all purposes, under their ids in the store."""

    table: pl.DataFrame
    rater_ids: frozenset[str]
    questions: tuple[str, ...]
    first_day: date
    last_day: date
    withdrawn: int
    omissions: tuple[str, ...]
    datasets: frozenset[str] = frozenset()  # that items are from
    preferences: tuple[Preference, ...] = ()
    attempts: tuple[AuthoredAttempt, ...] = ()
    by_authors: bool = False  # raters wrote the conversations
    question: str | None = None  # of evidence, if the plan names none


def collect_ratings(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, purposes: tuple[str, ...], plan: ReleasePlan
) -> CollectedRecords:
    """Return the finished ratings of a campaign, and preferences where they are of pairs."""
    counts = export_store.count_rating_export(tx, campaign_row.id, purposes)
    finished = [rating for window in export_store.iterate_ratings(tx, campaign_row.id, purposes) for rating in window]
    refused = _list_refused(tx, campaign_row, finished)
    ratings = [rating for rating in finished if rating.item.item_id not in refused]
    omissions = describe_omissions(counts, purposes)
    if len(ratings) < len(finished):
        omissions.append(
            "Ratings of conversations whose authors did not agree to publication, which are left out: "
            f"{len(finished) - len(ratings):,}."
        )
    if not plan.with_images and any(IMAGE in rating.item.attributes for rating in ratings):
        omissions.append("Items showed images to raters, which are left out.")
    if not ratings:
        raise NotFound(f"{campaign_row.name} has no rating to release yet. {' '.join(omissions)}".rstrip())
    pair = campaign.pair
    unflagged = [rating for rating in ratings if not rating.flagged]
    return CollectedRecords(
        table=_to_table(tx, campaign_row, campaign, ratings, plan),
        rater_ids=frozenset(rating.rater_id for rating in ratings),
        questions=(*(one.name for one in campaign.questionnaire.questions), *campaign.questionnaire.overalls),
        first_day=min(rating.times.answered_at for rating in ratings).date(),
        last_day=max(rating.times.answered_at for rating in ratings).date(),
        withdrawn=counts.withdrawn,
        omissions=tuple(omissions),
        datasets=frozenset(filter(None, (rating.item.attributes.get(SOURCE) for rating in ratings))),
        preferences=() if pair is None else build_preferences(unflagged, pair.criterion),
        question=None if pair is None else PREFERENCE,
    )


def _list_refused(tx: Connection, campaign_row: CampaignRow, ratings: list[ExportedRating]) -> set[str]:
    """Return the items that are conversations of this site, by name or content, whose authors did not agree."""
    by_content = {
        build_conversation([one for one in chat.exchanges if one.response is not None])
        for chat in export_store.iterate_refused_chats(tx, (PURPOSE,))
        if any(one.response is not None for one in chat.exchanges)
    }
    named = export_store.list_refused_items(tx, campaign_row.id, (PURPOSE,))
    return {*named, *(one.item.item_id for one in ratings if one.item.conversation in by_content)}


def _to_table(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, ratings: list[ExportedRating], plan: ReleasePlan
) -> pl.DataFrame:
    columns, gold = load_export_columns(tx, campaign_row, campaign)
    form = export_form(campaign, **columns, with_text=plan.with_text)
    table = to_frame([replace(rating, item=add_gold_attributes(rating.item, gold)) for rating in ratings], form)
    # Official files do not have them.
    shown = [IMAGE, IMAGE_ALT] if plan.with_images and any(IMAGE in one.item.attributes for one in ratings) else []
    return table.with_columns(
        pl.Series(name, [rating.item.attributes.get(name) for rating in ratings], pl.String) for name in shown
    )


def collect_chats(
    tx: Connection,
    campaign_row: CampaignRow,
    campaign: Campaign,
    chat: ChatSettings,
    purposes: tuple[str, ...],
    plan: ReleasePlan,
) -> CollectedRecords:
    """Return the messages of ended conversations with the responses to them, one row each."""
    if not plan.with_text:
        raise InvalidInput(
            f"with_text: Raters of {campaign_row.name} wrote its conversations themselves. Write with_text = true, and "
            "let a person read all of them before the release."
        )
    counts = export_store.count_chat_export(tx, campaign_row.id, purposes)
    ended = [(one.chat, one.success) for one in export_store.iterate_ended_chats(tx, campaign_row.id, purposes)]
    omissions = [*_describe_chat_omissions(counts, purposes), *describe_withdrawals(counts.withdrawn)]
    chats = [
        CompletedChat(
            id=conceal_conversation(row.id),
            rater_id=row.rater_id,
            member=0,
            exchanges=row.exchanges,
            intent=row.intent,
            success=success,
        )
        for row, success in ended
    ]
    attributes = _load_attributes(tx, campaign_row, campaign, purposes)
    rows = [row for completed in chats for row in _chat_rows(completed, chat, attributes)]
    if not any(row[PREFERENCE] is not None or row[SUCCESS] is not None for row in rows):
        raise NotFound(
            f"{campaign_row.name} has no preference and no rated attempt to release yet. {' '.join(omissions)}".rstrip()
        )
    period = export_store.find_chat_period(tx, campaign_row.id, purposes)
    attempts = ((completed.rater_id, to_attempt(completed, chat)) for completed in chats)
    return CollectedRecords(
        table=_to_chat_table(rows),
        rater_ids=frozenset(completed.rater_id for completed in chats),
        questions=(PREFERENCE, SUCCESS),
        first_day=period[0].date(),
        last_day=period[1].date(),
        withdrawn=counts.withdrawn,
        omissions=tuple(omissions),
        preferences=tuple(one for completed in chats for one in to_preferences(completed, chat)),
        attempts=tuple(AuthoredAttempt(rater_id, attempt) for rater_id, attempt in attempts if attempt is not None),
        by_authors=True,
        question=PREFERENCE if any(row[PREFERENCE] is not None for row in rows) else SUCCESS,
    )


def _describe_chat_omissions(counts: ChatExportCounts, purposes: tuple[str, ...]) -> Iterator[str]:
    if counts.without_consent:
        yield f"{counts.without_consent:,} conversations {describe_refusal(purposes)} are left out."
    if counts.unfinished:
        yield f"{counts.unfinished:,} conversations that have not ended are left out."


def _load_attributes(
    tx: Connection, campaign_row: CampaignRow, campaign: Campaign, purposes: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """Return the self-descriptions of raters, without free text, and whether Upwork sent them."""
    declared = export_store.load_declarations(tx, campaign_row.id, purposes)
    questions = () if campaign.demographics is None else campaign.demographics.questions
    asked = [question.name for question in questions if question.kind != "text"]
    result: dict[str, dict[str, str]] = {
        rater_id: {name: _to_text(content[name]) for name in asked if content.get(name) is not None}
        for rater_id, content in declared.items()
    }
    if campaign.recruit is not None:
        upwork = str(campaign.recruit.is_upwork).lower()
        for rater_id in raters.list_open_link_raters(tx, campaign_row.id):
            result.setdefault(rater_id, {})[UPWORK] = upwork
    return result


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, value))


def _chat_rows(
    completed: CompletedChat, chat: ChatSettings, attributes: dict[str, dict[str, str]]
) -> Iterator[dict[str, Any]]:
    models = {one.preference_id: one.models for one in to_preferences(completed, chat)}
    for index, exchange in enumerate(completed.exchanges):
        turns = build_conversation(completed.exchanges[:index], exchange.message).turns
        item_id = f"{completed.id}-{index + 1}"
        mode, pick = chat.mode(exchange.mode), exchange.pick
        model_a, model_b = models.get(item_id, (None, None))
        texts = [candidate.text for candidate in exchange.candidates]
        yield {
            names.ITEM_ID: item_id,
            names.RATER_ID: completed.rater_id,
            **attributes.get(completed.rater_id, {}),
            PREFERENCE: None if pick is None else str(pick.strength),
            SUCCESS: None if completed.success is None else str(completed.success),
            "phase": exchange.mode,
            "context": join_hh((turn.speaker, turn.text) for turn in turns).strip(),
            "response": texts[0] if texts else None,
            RESPONSE_B: texts[1] if len(texts) > 1 else None,
            "item_conversation": completed.id,
            "item_turn": str(index + 1),
            "item_criterion": None if mode is None else mode.criterion,
            "item_continued": None if exchange.continues is None else SIDES[exchange.continues],
            names.INTENT: completed.intent,
            EDIT: None if pick is None else pick.edit,
            "item_model_a": model_a,
            "item_model_b": model_b,
        }


def _to_chat_table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    attributes = [name for name in columns if names.is_rater_attribute(name)]
    others = [name for name in columns if name not in (names.ITEM_ID, names.RATER_ID, *attributes)]
    schema = dict.fromkeys((names.ITEM_ID, names.RATER_ID, *attributes, *others), pl.String)
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)
