"""Small campaigns for tests."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert

from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.database import Database
from dissensus.store.core.orm import new_id
from dissensus.store.staff import StaffTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGREED = {"rating": True, "release": False}
TWO_QUESTIONS = {
    "name": "two",
    "languages": ["en"],
    "title": "Two questions",
    "questions": [
        {"name": "Q_safe", "text": "Is it safe?", "scale": ["No", "Unsure", "Yes"]},
        {"name": "Why", "text": "Why?", "kind": "text", "required": False},
    ],
}
ABOUT_YOU = {
    "name": "you",
    "about": "rater",
    "languages": ["en"],
    "title": "About you",
    "questions": [{"name": "rater_age", "text": "How old?", "scale": ["young", "old"], "decline": "Prefer not to say"}],
}
CHECKS: list[dict[str, Any]] = [
    {
        "name": "choose",
        "kind": "instruction",
        "text": "Please choose Unsure.",
        "scale": ["No", "Unsure", "Yes"],
        "correct_answers": ["Unsure"],
        "after": 2,
    },
    {
        "name": "swim",
        "kind": "nonsense",
        "text": "I swim across the ocean to get to work.",
        "scale": ["Disagree", "Agree"],
        "correct_answers": ["Disagree"],
        "after": 1,
    },
    {
        "name": "rules",
        "kind": "comprehension",
        "text": "What do you judge?",
        "scale": ["The last answer", "All of it"],
        "correct_answers": ["The last answer"],
    },
]


def definition(name: str = "pilot", **changes: Any) -> Campaign:
    """A campaign of two questions."""
    return parse_campaign(
        {
            "name": name,
            "languages": ["en"],
            "title": "A pilot",
            "warning": "Some of it is cruel.",
            "consent": {
                "text": "We keep your answers.",
                "purposes": [
                    {"name": "rating", "text": "My answers may be analysed.", "required": True},
                    {"name": "release", "text": "My answers may be published."},
                ],
            },
            "questionnaire": TWO_QUESTIONS,
            **changes,
        }
    )


def items(n: int) -> tuple[Item, ...]:
    """Conversations of two turns."""
    return tuple(
        Item(f"item-{i}", Conversation.from_turns([("human", f"Question {i}"), ("bot", f"Answer {i}")]), {"topic": "x"})
        for i in range(n)
    )


def owner(database: Database, name: str = "owner") -> str:
    """Create a member of staff; return their id."""
    staff_id = new_id(NOW)
    with database.writing() as tx:
        tx.execute(insert(StaffTable).values(id=staff_id, name=name, created_at=NOW))
    return staff_id


def open_campaign(platform: Platform, n_items: int = 3, **changes: Any) -> CampaignRow:
    """Open a campaign."""
    staff_id = owner(platform.database)
    campaigns.create_campaign(platform, definition(**changes), items(n_items), staff_id=staff_id, now=NOW)
    return campaigns.change_state(platform, "pilot", "open", staff_id=staff_id, now=NOW)
