"""Forms of the chat page, sent as browsers without scripts do."""

import re
import time
from typing import Any

import httpx
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.live_site import LiveSite, Visitor


def enter_chat_campaign(live: LiveSite, **changes: Any) -> tuple[Visitor, httpx.Response]:
    """Enter an open chat campaign; return the visitor and their page."""
    campaign = open_chat_campaign(live.platform, **changes)
    visitor = live.visitor()
    return visitor, visitor.enter(str(campaign.key))


def forms(page: httpx.Response) -> dict[str, dict[str, str]]:
    """The hidden fields of all forms of a page, by action."""
    fields = {}
    for action, inner in re.findall(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL):
        fields[action] = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', inner))
    return fields


def send(visitor: Visitor, page: httpx.Response, ending: str, **fields: Any) -> httpx.Response:
    """Send the form of a page whose action has this ending."""
    ((action, hidden),) = [(one, hidden) for one, hidden in forms(page).items() if one.endswith(ending)]
    return visitor.send(action, **{**hidden, **fields})


def begin(visitor: Visitor, page: httpx.Response, mode: str = "red team", intent: str = "Insults.") -> httpx.Response:
    return send(visitor, page, "/begin", mode=mode, intent=intent)


def wait_for_responses(visitor: Visitor, page: httpx.Response) -> httpx.Response:
    """Reload a page until no response is pending."""
    end = time.monotonic() + 30
    while 'id="pending-responses"' in page.text:
        assert 'http-equiv="refresh"' in page.text
        assert time.monotonic() < end
        time.sleep(0.02)
        page = visitor.get("/rate")
    return page


def say(visitor: Visitor, page: httpx.Response, text: str, **fields: Any) -> httpx.Response:
    return wait_for_responses(visitor, send(visitor, page, "/messages", text=text, **fields))
