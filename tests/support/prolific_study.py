"""A study on the Prolific test server that leads to a campaign of a site."""

import json
import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx
from sqlalchemy import select
from tests.support.campaigns import definition, open_campaign
from tests.support.live_site import LiveSite, Visitor
from tests.support.pilot_study import CODES, study
from tests.support.prolific_server import TOKEN, Prolific

from dissensus.recruit.prolific import ProlificClient
from dissensus.store.campaigns import CampaignRow
from dissensus.store.core.orm import Base
from dissensus.store.recruits import RecruitTable
from dissensus.store.seats import SeatTable
from dissensus.workflows.rater.invite_links import entry_links, load_entry_links

SECRET = "of-the-workspace"
DEMOGRAPHICS = {
    "name": "you",
    "about": "rater",
    "languages": ["en"],
    "title": "About you",
    "questions": [{"name": "rater_age", "text": "Age?", "scale": ["young", "old"], "decline": "No"}],
}
ONE_OLD_SEAT = {"axes": {"rater_age": {"old": ["old"]}}, "seats": 1, "rest": 20}


@dataclass(frozen=True)
class Study:
    """A campaign and its study on Prolific."""

    live: LiveSite
    prolific: Prolific
    id: str
    campaign: CampaignRow

    def start_submission(self) -> "Participant":
        """Reserve a place in the study; return the participant with their entry address."""
        address = self.prolific.arrive(self.id)
        submission = list(self.prolific.submissions)[-1]
        self.prolific.move(submission, "ACTIVE")
        return Participant(self, self.live.visitor(), address, submission)

    def deliver_events(self, *, skip: int = 0) -> list[bool]:
        """Deliver pending events of Prolific to the site; return which ones changed something."""
        events, self.prolific.events[:] = self.prolific.events[skip:], []
        return [self.deliver(json.loads(event.body)) for event in events]

    def deliver(self, payload: object, **options: Any) -> bool:
        return bool(self.post(payload, **options).raise_for_status().json()["changed"])

    def post(self, payload: object, **options: Any) -> httpx.Response:
        delivery = self.prolific.signed(payload, **{"at": self.live.clock(), "secret": SECRET, **options})
        return httpx.post(f"{self.live.url}/prolific/events", content=delivery.body, headers=delivery.headers)

    def find_recruit(self, submission: str) -> Any:
        with self.live.platform.database.reading() as tx:
            return tx.execute(select(RecruitTable.__table__).where(RecruitTable.submission == submission)).one_or_none()

    def seats(self) -> list[str]:
        with self.live.platform.database.reading() as tx:
            return sorted(tx.scalars(select(SeatTable.state).where(SeatTable.cell == "old")))


@dataclass(frozen=True)
class Participant:
    """A participant of the study."""

    study: Study
    visitor: Visitor
    address: str
    submission: str

    def arrive(self, visitor: Visitor | None = None) -> httpx.Response:
        return (visitor or self.visitor).http.get(self.address)

    def agree(self) -> httpx.Response:
        page = self.arrive()
        page = self.visitor.send("/c/pilot", **hidden_fields(page))
        return self.visitor.send("/c/pilot/consent", purpose="rating", read=hidden_fields(page)["read"])

    def rate_all(self, page: httpx.Response) -> httpx.Response:
        while "/rate/" in page.text:
            page = self.visitor.rate(page, Q_safe="No")
        return page

    def return_to_prolific(self, page: httpx.Response) -> None:
        """Follow the link to Prolific and submit the completion code."""
        self.study.prolific.complete(self.submission, code_in(page))


def hidden_fields(page: httpx.Response) -> dict[str, str]:
    """Hidden fields of all forms of a page."""
    return {
        name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text)
    }


def code_in(page: httpx.Response) -> str:
    (code,) = set(re.findall(r'href="https://app\.prolific\.com/submissions/complete\?cc=(\w+)"', page.text))
    assert f"enter {code}." in page.text or "You do not want to take part?" in page.text
    return str(code)


def publish_study(live: LiveSite, prolific: Prolific, n_items: int = 2, **changes: Any) -> Study:
    campaign = open_campaign(live.platform, n_items, recruit={"kind": "prolific", "codes": CODES}, **changes)
    address = entry_links(live.url, campaign, definition(recruit={"kind": "prolific", "codes": CODES})).anybody
    with ProlificClient(TOKEN, base=prolific.root) as client:
        study_id = client.create(study(address=str(address)))
        assert prolific.studies[study_id]["external_study_url"] == address
        client.publish(study_id)
    return Study(live, prolific, study_id, campaign)


def publish_study_by_cells(live: LiveSite, prolific: Prolific, **changes: Any) -> Study:
    campaign = open_campaign(live.platform, 2, recruit={"kind": "prolific", "codes": CODES}, **changes)
    links = load_entry_links(live.platform, "pilot", live.url, staff_id=campaign.staff_id).cells
    with ProlificClient(TOKEN, base=prolific.root) as client:
        study_id = client.create(study(address=links["old"]))
        client.publish(study_id)
    return Study(live, prolific, study_id, campaign)


def rows(live: LiveSite) -> dict[str, str]:
    """All rows as text, by table."""
    with live.platform.database.reading() as tx:
        return {table.name: str(tx.execute(select(table)).all()) for table in Base.metadata.sorted_tables}
