"""Campaigns with raters of several kinds, some of whom meet a criterion."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import insert, select, update
from tests.support.campaigns import AGREED, NOW, definition, owner

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating
from dissensus.workflows.rater.enrolment import Arrival

SCALE = ("No", "Unsure", "Yes")
N_ITEMS = 24
ABOUT: dict[str, Any] = {
    "name": "you",
    "about": "rater",
    "languages": ["en"],
    "title": "About you",
    "questions": [
        {"name": "rater_age", "text": "How old?", "scale": ["18-29", "30-49", "50+"], "decline": "Prefer not to say"},
        {"name": "rater_gender", "text": "Gender?", "scale": ["Woman", "Man"], "decline": "Prefer not to say"},
    ],
}


@dataclass(frozen=True)
class Habit:
    """How somebody rates: how long an item takes, and the one answer that they always give, if they do."""

    ms: int = 40_000
    always: str | None = None


HASTY, STUBBORN = Habit(ms=4_000), Habit(always="No")


def golden(n: int = N_ITEMS) -> list[Item]:
    """Items with an expert's label."""
    talk = Conversation.from_turns([("human", "Is it?"), ("bot", "It is.")])
    return [Item(f"item-{i}", talk, {"safety_gold": SCALE[i % 3]}) for i in range(n)]


def opened(platform: Platform, owner_id: str | None = None, **changes: Any) -> CampaignRow:
    """A campaign that raters can enter."""
    staff_id = owner_id or owner(platform.database)
    made = definition(**{"demographics": ABOUT, "replication": 10, **changes})
    campaigns.create_campaign(platform, made, golden(), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)


def rates(
    platform: Platform,
    kept: CampaignRow,
    number: int,
    habit: Habit = Habit(),
    *,
    at: datetime = NOW,
    said: dict[str, str] | None = None,
) -> str:
    """Somebody enters, rates all that is planned for them and says who they are; return their id."""
    rater, _ = enrolment.enrol_rater(platform, Arrival(kept.name, str(kept.key), "en"), AGREED, now=at)
    journey.next_state(platform, rater, now=at)
    rng = Random(number)
    with platform.database.writing() as tx:
        mine = AssignmentTable.rater_id == rater.id
        rows = tx.execute(select(AssignmentTable.id, ItemTable.position).join(ItemTable).where(mine)).all()
        for place, row in enumerate(rows):
            usual = rng.choice((row.position % 3, rng.randrange(3)))
            saved(
                tx,
                row.id,
                habit.always or SCALE[usual],
                ms=int(habit.ms * rng.uniform(0.6, 2)),
                at=at + timedelta(minutes=place),
            )
        tx.execute(update(AssignmentTable).where(mine).values(state="done", closed_at=at, offered_at=at))
    ages = ABOUT["questions"][0]["scale"]
    said = {"rater_age": rng.choice(ages), "rater_gender": rng.choice(("Woman", "Man"))} if said is None else said
    if said:
        rating.declare_attributes(platform, rater, said, now=at)
    return rater.id


def saved(tx: Any, assignment_id: str, answer: str, *, ms: int, at: datetime, revision: int = 1) -> int:
    """A page sends an answer to the end."""
    known = {"assignment_id": assignment_id, "revision": revision, "final": True, "visit": "v", "idle_ms": 0}
    key = f"{assignment_id[-12:]}-{revision}"
    number = int(
        tx.scalar(insert(SaveTable).values(**known, key=key, visible_ms=ms, received_at=at).returning(SaveTable.number))
    )
    value = {"value": json.dumps(answer), "first_ms": 1, "last_ms": 1, "changes": 0}
    tx.execute(insert(AnswerTable).values(save_number=number, question="Q_safe", **value))
    return number


def crowd(platform: Platform, kept: CampaignRow, n: int = 10) -> tuple[str, str]:
    """Careful raters, then one who is hasty and one who always says the same; return the ids of these."""
    for number in range(n):
        rates(platform, kept, number, at=NOW + timedelta(hours=number))
    return rates(platform, kept, 100, HASTY, at=NOW), rates(platform, kept, 101, STUBBORN, at=NOW)
