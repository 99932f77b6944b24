"""Finished conversations that are items of other campaigns: erasure on withdrawal, and reviews from there."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import AnswerSave, select_submitted
from dissensus.campaign.consent_scope import required_purposes
from dissensus.campaign.opening import ATTEMPT_REVIEW
from dissensus.pipeline.collect.completed_chats import CompletedChat, to_item
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.attempt import Review
from dissensus.store import answer_drafts, assignments, audit_log, campaigns, chats, export, items, members
from dissensus.store.lists import reports
from dissensus.workflows.platform.platform import Platform

SUCCESS, TAGS = "Q_success", "Q_tags"
MAX_BATCH: Final = 500
"""Assignments whose answers are read at once."""


def to_completed_chat(row: chats.ChatRow, *, member: int = 0, success: int | None = None) -> CompletedChat:
    """Return a stored conversation as the stages take it."""
    return CompletedChat(
        id=row.id, rater_id=row.rater_id, member=member, exchanges=row.exchanges, intent=row.intent, success=success
    )


def erase_conversation_items(tx: Connection, rater_id: str, chat: ChatSettings, *, now: datetime) -> int:
    """Erase and withhold copies of a rater's conversations in other campaigns, whose reports are deleted.

    Return the number of copies.
    """
    copies = list(find_item_copies(tx, chats.list_rater_chats(tx, rater_id), chat))
    for copy in copies:
        assignments.withhold_item(tx, copy.id, now=now)
        items.erase_item(tx, copy.id)
        audit_log.append_event(tx, copy.campaign_id, "items_changed", {"erased": copy.item.item_id}, now=now)
    for campaign_id in sorted({copy.campaign_id for copy in copies}):
        reports.delete_reports(tx, campaign_id)
    return len(copies)


def find_item_copies(tx: Connection, rows: Iterable[chats.ChatRow], chat: ChatSettings) -> Iterator[items.ItemCopy]:
    """Yield the items of other campaigns that were made from the given conversations."""
    originals = {row.id: to_item(to_completed_chat(row), chat) for row in rows}
    for copy in items.iterate_item_copies(tx, list(originals)):
        item = originals[copy.item.item_id]
        if item is not None and copy.item.conversation == item.conversation:
            yield copy


def iterate_reviews(
    tx: Connection, platform: Platform, rows: Sequence[chats.ChatRow], chat: ChatSettings, *, staff_id: str
) -> Iterator[Review]:
    """Yield reviews of conversations from campaigns whose results the member of staff may see."""
    copies = sorted(find_item_copies(tx, rows, chat), key=attrgetter("campaign_id", "id"))
    for campaign_id, group in groupby(copies, key=attrgetter("campaign_id")):
        campaign = platform.definitions.load(tx, campaigns.get_campaign(tx, campaign_id))
        role = members.find_role(tx, campaign_id, staff_id)
        if role not in ("owner", "analyst") or not _asks_for_reviews(campaign.questionnaire):
            continue
        names = {copy.id: copy.item.item_id for copy in group}
        done = export.list_done_assignments(tx, campaign_id, list(names), required_purposes(campaign, ()))
        for start in range(0, len(done), MAX_BATCH):
            batch = done[start : start + MAX_BATCH]
            finals = answer_drafts.load_saves(tx, [assignment.assignment_id for assignment in batch], final=True)
            for assignment in batch:
                yield _to_review(names[assignment.item_id], assignment.rater_id, finals[assignment.assignment_id])


def _asks_for_reviews(questionnaire: Questionnaire) -> bool:
    """Return whether a questionnaire has all review questions, in any wording."""
    required = {_without_wording(question) for question in load_questionnaire(ATTEMPT_REVIEW).questions}
    return required <= {_without_wording(question) for question in questionnaire.questions}


def _without_wording(question: Question) -> tuple[object, ...]:
    return question.name, question.kind, question.scale, question.decline, question.max_answers, question.required


def _to_review(attempt_id: str, reviewer_id: str, finals: Sequence[AnswerSave]) -> Review:
    answers = {name: answer.value for name, answer in select_submitted(finals).items()}
    tags = answers.get(TAGS) or ()
    success = int(str(answers[SUCCESS]))
    return Review(attempt_id=attempt_id, reviewer_id=reviewer_id, success=success, tags=tuple(tags))
