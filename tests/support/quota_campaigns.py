"""Campaigns with a quota, and raters screened for its seats."""

from datetime import datetime
from typing import Any

from tests.support.campaigns import AGREED, NOW, open_campaign

from dissensus.store import seats
from dissensus.store.raters import RaterRow
from dissensus.store.seats import SeatCounts
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, quota_screening
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.next_step import RaterStep

DECLINED = "Prefer not to say"
ABOUT_YOU = {
    "name": "you",
    "about": "rater",
    "languages": ["en"],
    "title": "About you",
    "questions": [
        {"name": "rater_age", "text": "How old?", "scale": ["young", "old"], "decline": DECLINED},
        {"name": "rater_size", "text": "How tall?", "scale": ["small", "tall"], "decline": DECLINED},
        {
            "name": "rater_pet",
            "text": "Which pet?",
            "scale": ["cat", "dog"],
            "when": {"question": "rater_age", "is": ["old"]},
        },
    ],
}
AXES = {"rater_age": {"young": ["young"], "old": ["old"]}, "rater_size": {"small": ["small"], "tall": ["tall"]}}


def open_seat_campaign(platform: Platform, n_items: int = 2, *, seats: int = 1, **changes: Any) -> Any:
    """Open a campaign with a quota."""
    about = {"axes": AXES, "seats": seats, "rest": 1, "hold_minutes": 60, **changes.pop("quota", {})}
    return open_campaign(platform, n_items, demographics=ABOUT_YOU, quota=about, **changes)


def enter(platform: Platform, key: object, **options: Any) -> RaterRow:
    now = options.pop("now", NOW)
    return enrolment.enrol_rater(platform, Arrival("pilot", str(key), "en"), AGREED, now=now, **options)[0]


def screen(
    platform: Platform, rater: RaterRow, age: str = "young", size: str = "small", now: datetime = NOW
) -> RaterStep | None:
    return quota_screening.screen_rater(platform, rater, {"rater_age": age, "rater_size": size}, now=now)


def load_seat_counts(platform: Platform, campaign_id: str) -> dict[str, SeatCounts]:
    with platform.database.reading() as tx:
        return seats.load_seat_counts(tx, campaign_id)
