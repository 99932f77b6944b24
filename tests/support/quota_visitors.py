"""Visitors of a campaign with a quota."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, TypeAlias

import httpx
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import Visitor
from tests.support.staff_site import StaffSite

from dissensus.http_client import POOL_LIMITS
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links

DECLINED = "Prefer not to say"


Group: TypeAlias = tuple[str, ...]


AGES, RACES = ("18-29", "30-49", "50+"), ("Asian", "Black", "Latine", "White")


def about(ages: Group, races: Group) -> dict[str, Any]:
    """Demographic questions: the axes, and one asked at the end."""
    axes = (("rater_age", ages), ("rater_race", (*races, "Several")), ("rater_education", ("school", "college")))
    questions = [{"name": name, "text": f"{name}?", "scale": list(scale), "decline": DECLINED} for name, scale in axes]
    return {"name": "you", "about": "rater", "languages": ["en"], "title": "About you", "questions": questions}


class Person(NamedTuple):
    """A visitor, and their last step."""

    age: str
    race: str
    goes: Literal["all the way", "away after the screener", "away after an item", "withdraws"]


def open_quota_campaign(staff_site: StaffSite, ages: Group, races: Group, *, seats: int) -> str:
    """Open a campaign with crossed cells; return the key of its link."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    axes = {"rater_age": {age: [age] for age in ages}, "rater_race": {race: [race] for race in races}}
    quota = {"axes": axes, "seats": seats, "rest": 1, "hold_minutes": 60}
    campaign = definition(demographics=about(ages, races), quota=quota)
    campaigns.create_campaign(staff_site.platform, campaign, items(2), staff_id=owner_id, now=NOW)
    return str(campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=owner_id, now=NOW).key)


@contextmanager
def visitor(staff_site: StaffSite) -> Iterator[Visitor]:
    """A visitor with a new browser."""
    with httpx.Client(base_url=staff_site.live.url, follow_redirects=True, timeout=20, limits=POOL_LIMITS) as client:
        yield Visitor(client)


def visit(visitor: Visitor, key: str, person: Person) -> Literal["turned away", "gone", "finished"]:
    """Take the steps of a rater up to the last step of this person."""
    page = visitor.enter(key)
    assert "<h1>Before you begin</h1>" in page.text
    assert "rater_education" not in page.text
    page = visitor.send("/about-you", form_token=token(page), rater_age=person.age, rater_race=person.race)
    if "All places are taken" in page.text:
        return "turned away"
    for done in range(2):
        if person.goes == "away after the screener" or (done and person.goes == "away after an item"):
            return "gone"
        page = visitor.rate(page, Q_safe="No")
    assert "rater_education" in page.text
    assert "rater_race" not in page.text
    page = visitor.send("/about-you", form_token=token(page), rater_education="school")
    assert "<h1>Thank you</h1>" in page.text
    if person.goes == "withdraws":
        address = re.search(r'href="(/withdraw/[^"]+)"', page.text)
        assert address
        visitor.send(address[1].replace("&amp;", "&"))
        return "gone"
    return "finished"


def token(page: httpx.Response) -> str:
    match = re.search(r'name="form_token" value="([^"]+)"', page.text)
    assert match, page.text
    return match[1]
