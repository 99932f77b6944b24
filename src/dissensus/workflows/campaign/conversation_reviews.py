"""What reviewers in other campaigns say of conversations."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.answer_drafts import Save, submitted
from dissensus.schema.campaign.chat import Chat
from dissensus.schema.questionnaire.definition import Questionnaire
from dissensus.schema.questionnaire.question import Question
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.records.review import Review
from dissensus.store import answer_drafts, campaigns, chat_export, chats, membership
from dissensus.workflows.campaign.conversation_items import find_item_copies
from dissensus.workflows.export.ratings import required_purposes
from dissensus.workflows.platform.platform import Platform

REVIEW: Final = "red-team-review"
SUCCESS, TAGS = "Q_success", "Q_tags"
MAX_BATCH: Final = 500
"""Assignments whose answers are read at a time."""


def iter_reviews(
    tx: Connection, platform: Platform, talked: Sequence[chats.Chat], chat: Chat, *, staff_id: str
) -> Iterator[Review]:
    """Yield the reviews of conversations, from campaigns to whose results somebody has access.

    Ids are those of the conversation and of the rater here. Raters count who agreed to all that is required.
    """
    copies = sorted(find_item_copies(tx, talked, chat), key=attrgetter("campaign_id", "id"))
    for campaign_id, several in groupby(copies, key=attrgetter("campaign_id")):
        campaign = platform.definitions.of(tx, campaigns.campaign_of(tx, campaign_id))
        role = membership.role_of(tx, campaign_id, staff_id)
        if role not in ("owner", "analyst") or not _asks_for_reviews(campaign.questionnaire):
            continue
        names = {copy.id: copy.item.item_id for copy in several}
        done = chat_export.done_about(tx, campaign_id, list(names), required_purposes(campaign, ()))
        for start in range(0, len(done), MAX_BATCH):
            part = done[start : start + MAX_BATCH]
            finals = answer_drafts.saves_of(tx, [one.assignment_id for one in part], final=True)
            for one in part:
                yield _to_review(names[one.item_id], one.rater_id, finals[one.assignment_id])


def _asks_for_reviews(questionnaire: Questionnaire) -> bool:
    """Tell whether it asks what reviewers are asked, whatever its words: then its answers are reviews."""
    asked, ours = ({_export_form(one) for one in each.questions} for each in (questionnaire, load_questionnaire(REVIEW)))
    return ours <= asked


def _export_form(one: Question) -> tuple[object, ...]:
    return one.name, one.kind, one.scale, one.decline, one.most, one.required


def _to_review(attempt_id: str, reviewer_id: str, finals: Sequence[Save]) -> Review:
    answers = {name: given.value for name, given in submitted(finals).items()}
    tags = answers.get(TAGS) or ()
    success = int(str(answers[SUCCESS]))
    return Review(attempt_id=attempt_id, reviewer_id=reviewer_id, success=success, tags=tuple(tags))
