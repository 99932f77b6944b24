"""A site that is killed while chatbots respond, and another one that goes on."""

import re
import signal
import time
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from tests.cli.server import KEY, served
from tests.web.live import Visitor
from tests.web.rater.test_chat import begin, send
from tests.workflows.talking import TERN, talking

from dissensus.store import tables as t
from dissensus.store.core.database import Database
from dissensus.workflows.campaign import audit
from dissensus.workflows.platform.platform import Platform

WORDS = [f"word-{n}" for n in range(20)]
SLOW = {**TERN, "scripted": {"responses": [" ".join(WORDS)], "pause_s": 0.2}}
LONGEST_S = 60


@pytest.mark.slow
def test_no_pick_is_lost_and_what_was_said_is_answered(database: Database, database_url: str, tmp_path: Path) -> None:
    platform = Platform(database)
    kept = talking(platform, chat={"chatbots": [SLOW]})
    with (
        served(tmp_path, database_url=database_url, secret_key=KEY) as site,
        httpx.Client(base_url=site.url, follow_redirects=True) as http,
    ):
        visitor = Visitor(http)
        page = begin(visitor, visitor.enter(str(kept.key)))
        page = send(visitor, page, "/say", text="First.")
        page = _answered(visitor)
        page = send(visitor, page, "/pick", strength="-3")
        page = send(visitor, page, "/say", text="Second.")
        assert 'id="answering"' in page.text
        time.sleep(1)
        site.stop(signal.SIGKILL)
        cookies = http.cookies
    with (
        served(tmp_path, database_url=database_url, secret_key=KEY) as site,
        httpx.Client(base_url=site.url, follow_redirects=True, cookies=dict(cookies)) as http,
    ):
        page = _answered(Visitor(http))
        assert page.text.count(" ".join(WORDS)) == 3
        assert "Second." in page.text
    with platform.database.reading() as tx:
        assert tx.scalars(select(t.ChatPick.strength)).all() == [-3]
        assert tx.scalars(select(t.ChatExchange.said_text).order_by(t.ChatExchange.number)).all() == [
            "First.",
            "Second.",
        ]
    assert audit.audit_campaign(platform, "pilot").holds


def _answered(visitor: Visitor) -> httpx.Response:
    end = time.monotonic() + LONGEST_S
    while not re.search(r"/pick", (page := visitor.get("/rate")).text):
        assert time.monotonic() < end
        time.sleep(0.2)
    return page
