"""Recovery of chats after the site was killed."""

import re
import signal
import time
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from tests.support.chat_campaigns import TERN, open_chat_campaign
from tests.support.chat_forms import begin, send
from tests.support.live_site import Visitor
from tests.support.served_site import KEY, served

from dissensus.store.chats import ChatExchangeTable, ChatPickTable
from dissensus.store.core.database import Database
from dissensus.workflows.campaign import audit
from dissensus.workflows.platform.platform import Platform

WORDS = [f"word-{n}" for n in range(20)]
SLOW = {**TERN, "scripted": {"responses": [" ".join(WORDS)], "pause_s": 0.2}}
LONGEST_S = 60


@pytest.mark.slow
def test_picks_and_messages_survive_a_killed_site(database: Database, database_url: str, tmp_path: Path) -> None:
    platform = Platform(database)
    campaign = open_chat_campaign(platform, chat={"chatbots": [SLOW]})
    with (
        served(tmp_path, database_url=database_url, secret_key=KEY) as site,
        httpx.Client(base_url=site.url, follow_redirects=True) as http,
    ):
        visitor = Visitor(http)
        page = begin(visitor, visitor.enter(str(campaign.key)))
        page = send(visitor, page, "/messages", text="First.")
        page = _wait_for_responses(visitor)
        page = send(visitor, page, "/pick", strength="-3")
        page = send(visitor, page, "/messages", text="Second.")
        assert 'id="pending-responses"' in page.text
        time.sleep(1)
        site.stop(signal.SIGKILL)
        cookies = http.cookies
    with (
        served(tmp_path, database_url=database_url, secret_key=KEY) as site,
        httpx.Client(base_url=site.url, follow_redirects=True, cookies=dict(cookies)) as http,
    ):
        page = _wait_for_responses(Visitor(http))
        assert page.text.count(" ".join(WORDS)) == 3
        assert "Second." in page.text
    with platform.database.reading() as tx:
        assert tx.scalars(select(ChatPickTable.strength)).all() == [-3]
        assert tx.scalars(select(ChatExchangeTable.message_text).order_by(ChatExchangeTable.number)).all() == [
            "First.",
            "Second.",
        ]
    assert audit.audit_campaign(platform, "pilot").holds


def _wait_for_responses(visitor: Visitor) -> httpx.Response:
    end = time.monotonic() + LONGEST_S
    while not re.search(r"/pick", (page := visitor.get("/rate")).text):
        assert time.monotonic() < end
        time.sleep(0.2)
    return page
