"""Forms of the chat page, sent as browsers without scripts do."""

import re
import time
from typing import Any

import httpx
from tests.support.chat_campaigns import open_chat_campaign
from tests.support.live_site import Live, Visitor


def came(live: Live, **changes: Any) -> tuple[Visitor, httpx.Response]:
    """Somebody who agreed, and the page that they are at."""
    kept = open_chat_campaign(live.platform, **changes)
    visitor = live.visitor()
    return visitor, visitor.enter(str(kept.key))


def forms(page: httpx.Response) -> dict[str, dict[str, str]]:
    """The hidden fields of all forms of a page, by where they are sent."""
    found = {}
    for action, inner in re.findall(r'<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL):
        found[action] = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', inner))
    return found


def send(visitor: Visitor, page: httpx.Response, ending: str, **fields: Any) -> httpx.Response:
    """Send the form of a page whose address ends so."""
    ((action, known),) = [(one, known) for one, known in forms(page).items() if one.endswith(ending)]
    return visitor.send(action, **{**known, **fields})


def begin(visitor: Visitor, page: httpx.Response, mode: str = "red team", intent: str = "Insults.") -> httpx.Response:
    return send(visitor, page, "/begin", mode=mode, intent=intent)


def settled(visitor: Visitor, page: httpx.Response) -> httpx.Response:
    """Load a page again until no response is awaited."""
    end = time.monotonic() + 30
    while 'id="answering"' in page.text:
        assert 'http-equiv="refresh"' in page.text
        assert time.monotonic() < end
        time.sleep(0.02)
        page = visitor.get("/rate")
    return page


def say(visitor: Visitor, page: httpx.Response, text: str, **fields: Any) -> httpx.Response:
    return settled(visitor, send(visitor, page, "/say", text=text, **fields))
