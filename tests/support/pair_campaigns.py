"""Small campaigns of pair comparison."""

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
from dissensus.workflows.rater import next_step, rating

HELPFUL: dict[str, Any] = {"criterion": "more helpful", "allow_ties": True}


def pair_definition(name: str = "pilot", **changes: Any) -> Campaign:
    """A definition with a preference question only."""
    data = {**definition(name).as_mapping(), "pair": HELPFUL, "demographics": ABOUT_YOU, **changes}
    if "questionnaire" not in changes:
        del data["questionnaire"]
    return parse_campaign({key: value for key, value in data.items() if value is not None})


def pairs(n: int) -> tuple[Item, ...]:
    """Pairs in which response A is the longer one."""
    return tuple(
        Item(
            f"pair-{i}",
            Conversation.from_turns([("human", f"Question {i}"), ("bot", f"Long answer {i}, with many words.")]),
            {"item_published": "ab"[i % 2]},
            f"Short {i}.",
        )
        for i in range(n)
    )


def open_pair_campaign(platform: Platform, n_items: int = 3, **changes: Any) -> CampaignRow:
    """Open a campaign of pairs."""
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, pair_definition(**changes), pairs(n_items), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)


def prefer(platform: Platform, rater: RaterRow, towards_long: int, *, most: int = 99, why: str = "") -> None:
    """Answer each pair with this strength towards the long response, on either side."""
    step = next_step.find_next_step(platform, rater, now=NOW)
    while step.stage == "rate" and step.progress.n_done < most:
        assert step.assignment is not None
        first, _ = step.assignment.item.responses(step.assignment.shown_first)
        strength = -towards_long if first.startswith("Long") else towards_long
        answers = {"Q_preference": DraftAnswer(value=str(strength))}
        if why:
            answers |= {"Q_safe": DraftAnswer(value="No"), "Why": DraftAnswer(value=why)}
        save = AnswerSave(revision=1, visit="v", visible_ms=1000, idle_ms=0, answers=answers)
        key = f"{rater.id[-12:]}-{step.progress.n_done}"
        step = rating.submit_answers(platform, rater, step.assignment.id, key, save, now=NOW)
