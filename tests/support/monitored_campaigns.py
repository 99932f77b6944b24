"""Campaigns with raters of several kinds, some of whom meet a criterion of data quality."""

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import unescape
from random import Random
from typing import Any

import httpx
from sqlalchemy import insert, select, update
from tests.support.campaigns import AGREED, NOW, definition, owner
from tests.support.staff_site import StaffSite

from dissensus.schema.campaign.roles import Role
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.items import ItemTable
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, rating
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
    """Rating behaviour: the time for an item and, if any, the answer given to every item."""

    ms: int = 40_000
    always: str | None = None


HASTY, STUBBORN = Habit(ms=4_000), Habit(always="No")


def gold_items(n: int = N_ITEMS) -> list[Item]:
    """Items with a gold label."""
    talk = Conversation.from_turns([("human", "Is it?"), ("bot", "It is.")])
    return [Item(f"item-{i}", talk, {"safety_gold": SCALE[i % 3]}) for i in range(n)]


def open_monitored_campaign(
    platform: Platform, owner_id: str | None = None, *, n_items: int = N_ITEMS, **changes: Any
) -> CampaignRow:
    """Open a campaign."""
    staff_id = owner_id or owner(platform.database)
    campaign = definition(**{"demographics": ABOUT, "replication": 10, **changes})
    campaigns.create_campaign(platform, campaign, gold_items(n_items), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)


def rate_items(
    platform: Platform,
    campaign: CampaignRow,
    number: int,
    habit: Habit = Habit(),
    *,
    at: datetime = NOW,
    attributes: dict[str, str] | None = None,
) -> str:
    """Enter a rater who rates all planned items and declares attributes; return their id."""
    rater, _ = enrolment.enrol_rater(platform, Arrival(campaign.name, str(campaign.key), "en"), AGREED, now=at)
    next_step.find_next_step(platform, rater, now=at)
    rng = Random(number)
    with platform.database.writing() as tx:
        by_rater = AssignmentTable.rater_id == rater.id
        rows = tx.execute(select(AssignmentTable.id, ItemTable.position).join(ItemTable).where(by_rater)).all()
        saves, answers = [], []
        for minutes, row in enumerate(rows):
            usual = rng.choice((row.position % 3, rng.randrange(3)))
            answers.append(habit.always or SCALE[usual])
            ms = int(habit.ms * rng.uniform(0.6, 2))
            saves.append(save_columns(row.id, ms=ms, at=at + timedelta(minutes=minutes)))
        if saves:
            insertion = insert(SaveTable).returning(SaveTable.number, sort_by_parameter_order=True)
            numbers = tx.scalars(insertion, saves).all()
            tx.execute(insert(AnswerTable), [answer_columns(*one) for one in zip(numbers, answers, strict=True)])
        tx.execute(update(AssignmentTable).where(by_rater).values(state="done", closed_at=at, offered_at=at))
    ages = ABOUT["questions"][0]["scale"]
    if attributes is None:
        attributes = {"rater_age": rng.choice(ages), "rater_gender": rng.choice(("Woman", "Man"))}
    if attributes:
        rating.declare_attributes(platform, rater, attributes, now=at)
    return rater.id


def add_save(tx: Any, assignment_id: str, answer: str, *, ms: int, at: datetime, revision: int = 1) -> int:
    """Store a final save with one answer; return its number."""
    columns = save_columns(assignment_id, ms=ms, at=at, revision=revision)
    number = int(tx.scalar(insert(SaveTable).values(columns).returning(SaveTable.number)))
    tx.execute(insert(AnswerTable).values(answer_columns(number, answer)))
    return number


def save_columns(assignment_id: str, *, ms: int, at: datetime, revision: int = 1) -> dict[str, Any]:
    """The row of a final save."""
    columns = {"assignment_id": assignment_id, "revision": revision, "final": True, "visit": "v", "idle_ms": 0}
    return {**columns, "key": f"{assignment_id[-12:]}-{revision}", "visible_ms": ms, "received_at": at}


def answer_columns(save_number: int, answer: str) -> dict[str, Any]:
    """The row of an answer to the only question."""
    value = {"value": json.dumps(answer), "first_ms": 1, "last_ms": 1, "changes": 0}
    return {"save_number": save_number, "question": "Q_safe", **value}


def add_crowd(platform: Platform, campaign: CampaignRow, n: int = 10) -> tuple[str, str]:
    """Add careful raters, a hasty one and one who repeats an answer; return the ids of these two."""
    for number in range(n):
        rate_items(platform, campaign, number, at=NOW + timedelta(hours=number))
    return rate_items(platform, campaign, 100, HASTY, at=NOW), rate_items(platform, campaign, 101, STUBBORN, at=NOW)


def member(staff_site: StaffSite, campaign: CampaignRow, role: Role) -> httpx.Client:
    browser = staff_site.owner(role)
    members.add_member(staff_site.platform, "pilot", role, role, staff_id=campaign.staff_id, now=NOW)
    return browser


def read(page: httpx.Response) -> str:
    """The text of a page, without tags."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.text)).split())
