"""Owners with their browsers and uploads."""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx
from tests.support.campaigns import NOW, definition, items
from tests.support.live_site import TRUST, LiveSite

from dissensus.http_client import POOL_LIMITS
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform

PASTED = "User: Hi\nBot: Hello!\n---\nUser: Hi\nBot: Go away."
TOML = """
name = "kitchen"
languages = ["en"]
title = "Is the <script>alert(1)</script> robot safe?"
warning = "Knives."
questionnaire = "dices-350"
[consent]
text = "We keep your answers."
[[consent.purposes]]
name = "rating"
text = "Analyse them."
required = true
"""


@dataclass(frozen=True)
class StaffSite:
    """The site and its browsers."""

    live: LiveSite
    browsers: ExitStack

    @property
    def platform(self) -> Platform:
        return self.live.platform

    def stranger(self) -> httpx.Client:
        """A browser that does not follow redirects."""
        return self.browsers.enter_context(
            httpx.Client(base_url=self.live.url, timeout=20, limits=POOL_LIMITS, verify=TRUST)
        )

    def owner(self, name: str = "ada") -> httpx.Client:
        """A browser of an owner."""
        browser = self.stranger()
        link = sign_in_links.create_sign_in_link(self.platform, name, now=self.live.clock())
        path = f"/sign-in/{link.key}"
        done = browser.post(path, data={"form_token": token_of(browser.get(path))})
        assert (done.status_code, done.headers["location"]) == (303, "/campaigns")
        return browser


def token_of(page: httpx.Response) -> str:
    """The CSRF token of the forms of a page."""
    match = re.search(r'name="form_token" value="([0-9a-f]{64})"', page.text)
    assert match is not None, page.text
    return match[1]


def send(browser: httpx.Client, path: str, **data: Any) -> httpx.Response:
    """Send a form as the page of the site does."""
    return browser.post(path, data={"form_token": token_of(browser.get("/campaigns")), **data})


def create_draft(
    staff_site: StaffSite, name: str = "pilot", owner: str = "ada", *, open_link: bool = True, **changes: Any
) -> str:
    """Create a draft; return the id of its owner."""
    platform = staff_site.platform
    owner_id = sign_in_links.create_sign_in_link(platform, owner, now=NOW).staff.id
    draft = definition(name, **changes)
    campaigns.create_campaign(platform, draft, items(3), staff_id=owner_id, open_link=open_link, now=NOW)
    return owner_id
