"""Chatbots whose responses a model line chooses, over HTTP."""

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.preference.pairs import simulated
from tests.web.live import serving
from tests.web.test_chatting import begin, came, say, send
from tests.workflows.talking import TERN

from dissensus.files.model_folder import save_model
from dissensus.files.model_line import Entry, Terms, add_entry, make_line, next_version
from dissensus.preference.training import train
from dissensus.store import tables as t
from dissensus.store.database import Database

RESPONSES = ["kill the road", "sorry the road", "please the road"]
BEST = {
    "name": "best",
    "kind": "best_of_n",
    "model_type": "rejection sampling",
    "version": "1",
    "best_of_n": {"of": {**TERN, "scripted": {"responses": RESPONSES}}, "scorer": "line:taste", "n": 32},
}


def test_what_a_line_has_learned_answers_the_next_time(database: Database, tmp_path: Path) -> None:
    line = make_line(tmp_path / "taste", Terms(purpose="harmless"))
    url = database.engine.url.render_as_string(hide_password=False)
    with serving(url, models=tmp_path) as live:
        visitor, page = came(live, chat={"chatbots": [BEST]}, lines=["taste"])
        page = say(visitor, begin(visitor, page), "First.")
        page = send(visitor, page, "/pick", strength="2")
        # The line learns while somebody talks, and the site goes on with it.
        save_model(train(simulated(200)[0], purpose="harmless"), next_version(line))
        at = datetime(2026, 3, 4, tzinfo=UTC)
        add_entry(line, Entry(at=at, what="promoted", version=1, current=1, why="It is."))
        page = say(visitor, page, "Second.")
        # Nobody is told.
        assert "taste" not in page.text
        with live.platform.database.reading() as tx:
            rows = tx.execute(
                select(t.ChatExchange.said_text, t.ChatCandidate.response, t.ChatCandidate.ranked_by)
                .join(t.ChatCandidate, t.ChatCandidate.exchange_id == t.ChatExchange.id)
                .order_by(t.ChatExchange.number, t.ChatCandidate.place)
            ).all()
    assert [(said, by) for said, _, by in rows] == [("First.", None)] * 2 + [("Second.", "taste/1")] * 2
    assert [response for said, response, _ in rows if said == "Second."] == ["sorry the road"] * 2


def test_a_line_that_is_not_there_is_told_to_who_runs_the_site_alone(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = database.engine.url.render_as_string(hide_password=False)
    with serving(url, models=tmp_path) as live, caplog.at_level(logging.WARNING, "dissensus.chat"):
        visitor, page = came(live, chat={"chatbots": [BEST]})
        page = say(visitor, begin(visitor, page), "Are you there?")
    assert "does not answer at the moment" in page.text
    assert "Are you there?" in page.text
    assert "taste" not in page.text
    assert "There is no model line 'taste'" in caplog.text
