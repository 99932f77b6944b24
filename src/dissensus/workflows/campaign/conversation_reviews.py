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
"""Assignments whose answers are read at a time."""


def iter_reviews(
    tx: Connection, platform: Platform, talked: Sequence[chats.ChatRow], chat: ChatSettings, *, staff_id: str
) -> Iterator[Review]:
    """Yield reviews of conversations from campaigns whose results the member of staff may see."""
    copies = sorted(find_item_copies(tx, talked, chat), key=attrgetter("campaign_id", "id"))
    for campaign_id, several in groupby(copies, key=attrgetter("campaign_id")):
        campaign = platform.definitions.of(tx, campaigns.get_campaign(tx, campaign_id))
        role = members.find_role(tx, campaign_id, staff_id)
        if role not in ("owner", "analyst") or not _asks_for_reviews(campaign.questionnaire):
            continue
        names = {copy.id: copy.item.item_id for copy in several}
        done = export.list_done_assignments(tx, campaign_id, list(names), required_purposes(campaign, ()))
        for start in range(0, len(done), MAX_BATCH):
            part = done[start : start + MAX_BATCH]
            finals = answer_drafts.load_saves(tx, [one.assignment_id for one in part], final=True)
            for one in part:
                yield _to_review(names[one.item_id], one.rater_id, finals[one.assignment_id])


def _asks_for_reviews(questionnaire: Questionnaire) -> bool:
    """Return whether a questionnaire asks the review questions, whatever their wording."""
    asked, ours = (
        {_export_form(one) for one in each.questions} for each in (questionnaire, load_questionnaire(REVIEW))
    )
    return ours <= asked


def _export_form(one: Question) -> tuple[object, ...]:
    return one.name, one.kind, one.scale, one.decline, one.most, one.required


def _to_review(attempt_id: str, reviewer_id: str, finals: Sequence[AnswerSave]) -> Review:
    answers = {name: given.value for name, given in select_submitted(finals).items()}
    tags = answers.get(TAGS) or ()
    success = int(str(answers[SUCCESS]))
    return Review(attempt_id=attempt_id, reviewer_id=reviewer_id, success=success, tags=tuple(tags))
