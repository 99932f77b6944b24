"""API clients with tokens."""

from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Any
from uuid import uuid4

import httpx
from tests.support.campaigns import AGREED, NOW, definition, items
from tests.support.live_site import TRUST
from tests.support.staff_site import StaffSite

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.http_client import POOL_LIMITS
from dissensus.schema.campaign.roles import Role
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import new_id
from dissensus.web.core.permissions import SCOPES
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.platform import api_tokens, sign_in_links
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, quota_screening, rating
from dissensus.workflows.rater.enrolment import Arrival

API = "/api/v1/campaigns"
QUOTA = {"axes": {"rater_age": {"young": ["young"], "old": ["old"]}}, "seats": 6, "rest": 1}


def token(platform: Platform, person: str, *, scopes: frozenset[str] = SCOPES) -> str:
    """Create a token of a person, with all scopes by default."""
    member = sign_in_links.create_sign_in_link(platform, person, now=NOW).staff
    return api_tokens.create_token(platform, member, f"token {new_id(NOW)}", scopes=scopes, days=30, now=NOW)[0]


def program(staff_site: StaffSite, person: str = "ada", *, scopes: frozenset[str] = SCOPES) -> httpx.Client:
    """An API client with a token of this person."""
    headers = {"authorization": f"Bearer {token(staff_site.platform, person, scopes=scopes)}"}
    return staff_site.browsers.enter_context(
        httpx.Client(base_url=staff_site.live.url, timeout=20, limits=POOL_LIMITS, headers=headers, verify=TRUST)
    )


def open_api_campaign(staff_site: StaffSite, n_items: int = 3, **changes: Any) -> CampaignRow:
    """Open a campaign of ada."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    campaigns.create_campaign(staff_site.platform, definition(**changes), items(n_items), staff_id=owner_id, now=NOW)
    return campaigns.change_state(staff_site.platform, "pilot", "open", staff_id=owner_id, now=NOW)


def add_member(staff_site: StaffSite, person: str, role: Role) -> None:
    """Add a member to the campaign of ada."""
    owner_id = sign_in_links.create_sign_in_link(staff_site.platform, "ada", now=NOW).staff.id
    members.add_member(staff_site.platform, "pilot", person, role, staff_id=owner_id, now=NOW)


def rate(
    staff_site: StaffSite,
    campaign: CampaignRow,
    n: int = 1,
    *,
    answer: str | None = None,
    release: bool = False,
    age: str | None = None,
    now: datetime = NOW,
) -> None:
    """Let n raters rate all items, with different answers unless one is given."""
    platform, agreed, chance = staff_site.platform, {**AGREED, "release": release}, Random(f"{n} {age}")
    for _ in range(n):
        rater, _ = enrolment.enrol_rater(platform, Arrival(campaign.name, str(campaign.key), "en"), agreed, now=now)
        if age is not None:
            assert quota_screening.screen_rater(platform, rater, {"rater_age": age}, now=now) is not None
        state = next_step.find_next_step(platform, rater, now=now)
        while state.assignment is not None:
            value = answer or chance.choice(["No", "Unsure", "Yes"])
            answers = AnswerSave(
                revision=1, visit="v", visible_ms=1, idle_ms=0, answers={"Q_safe": DraftAnswer(value=value)}
            )
            state = rating.submit_answers(platform, rater, state.assignment.id, str(uuid4()), answers, now=now)


def pages(http: httpx.Client, path: str, limit: int = 2, **query: Any) -> Iterator[dict[str, Any]]:
    after = ""
    while True:
        answer = http.get(path, params={"limit": limit, "after": after, **query})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert len(page["data"]) <= limit
        yield page
        after = page["next"]
        if after is None:
            return


def rows(http: httpx.Client, path: str, limit: int = 2, **query: Any) -> list[dict[str, Any]]:
    return [row for page in pages(http, path, limit, **query) for row in page["data"]]
