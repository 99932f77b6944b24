"""Small campaigns in which two responses are compared."""

from typing import Any

from tests.support.campaigns import ABOUT_YOU, NOW, definition, owner

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.campaigns import CampaignRow
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import journey, rating

HELPFUL: dict[str, Any] = {"compared": "more helpful", "equal": True}


def comparing(name: str = "pilot", **changes: Any) -> Campaign:
    """A campaign that asks for nothing but a preference."""
    data = {**definition(name).as_mapping(), "pair": HELPFUL, "demographics": ABOUT_YOU, **changes}
    if "questionnaire" not in changes:
        del data["questionnaire"]
    return parse_campaign({key: value for key, value in data.items() if value is not None})


def pairs(n: int) -> tuple[Item, ...]:
    """Pairs whose response A is the long one."""
    return tuple(
        Item(
            f"pair-{i}",
            Conversation.from_turns([("human", f"Question {i}"), ("bot", f"Long answer {i}, with many words.")]),
            {"item_published": "ab"[i % 2]},
            f"Short {i}.",
        )
        for i in range(n)
    )


def opened(platform: Platform, n_items: int = 3, **changes: Any) -> CampaignRow:
    """A campaign of pairs that raters can enter."""
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, comparing(**changes), pairs(n_items), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)


def prefer(platform: Platform, rater: RaterRow, towards_long: int, *, most: int = 99, why: str = "") -> None:
    """Prefer the long response of each pair by so much, whichever side it is on."""
    step = journey.next_state(platform, rater, now=NOW)
    while step.stage == "rate" and step.progress.n_done < most:
        assert step.assignment is not None
        left, _ = step.assignment.item.responses(step.assignment.shown_first)
        strength = -towards_long if left.startswith("Long") else towards_long
        answers = {"Q_preference": DraftAnswer(value=str(strength))}
        if why:
            answers |= {"Q_safe": DraftAnswer(value="No"), "Why": DraftAnswer(value=why)}
        given = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, answers=answers)
        key = f"{rater.id[-12:]}-{step.progress.n_done}"
        step = rating.submit_answers(platform, rater, step.assignment.id, key, given, now=NOW)
