"""Collect reviews of conversations from the campaigns that rate them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import AnswerSave, select_submitted
from dissensus.schema.campaign.chat import ChatSettings
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.review import Review
from dissensus.store import answer_drafts, campaigns, chats, export, members
from dissensus.workflows.campaign.conversation_items import find_item_copies
from dissensus.workflows.export.consent_scope import required_purposes
from dissensus.workflows.platform.platform import Platform

REVIEW: Final = "red-team-review"
SUCCESS, TAGS = "Q_success", "Q_tags"
MAX_BATCH: Final = 500
"""Assignments whose answers are read at once."""


def iter_reviews(
    tx: Connection, platform: Platform, rows: Sequence[chats.ChatRow], chat: ChatSettings, *, staff_id: str
) -> Iterator[Review]:
    """Yield reviews of conversations from campaigns whose results the member of staff may see."""
    copies = sorted(find_item_copies(tx, rows, chat), key=attrgetter("campaign_id", "id"))
    for campaign_id, group in groupby(copies, key=attrgetter("campaign_id")):
        campaign = platform.definitions.of(tx, campaigns.get_campaign(tx, campaign_id))
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
    required = {_without_wording(question) for question in load_questionnaire(REVIEW).questions}
    return required <= {_without_wording(question) for question in questionnaire.questions}


def _without_wording(question: Question) -> tuple[object, ...]:
    return question.name, question.kind, question.scale, question.decline, question.max_answers, question.required


def _to_review(attempt_id: str, reviewer_id: str, finals: Sequence[AnswerSave]) -> Review:
    answers = {name: answer.value for name, answer in select_submitted(finals).items()}
    tags = answers.get(TAGS) or ()
    success = int(str(answers[SUCCESS]))
    return Review(attempt_id=attempt_id, reviewer_id=reviewer_id, success=success, tags=tuple(tags))
