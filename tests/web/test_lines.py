"""Chatbots whose responses a model line chooses, over HTTP."""

import logging
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.preference.pairs import simulated
from tests.web.live import serving
from tests.web.owners import House
from tests.web.test_chatting import begin, came, say, send
from tests.workflows.talking import TERN, talking

from dissensus.files.model_folder import save_model
from dissensus.files.model_line import Entry, Terms, add_entry, make_line, next_version
from dissensus.preference.training import train
from dissensus.stats.proportion import Share
from dissensus.store import tables as t
from dissensus.store.database import Database

AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
RIGHT = Share(0.71, 0.66, 0.75, 400, 380)
KEPT_BACK = Entry(at=AT, what="kept back", version=1, current=None, why="<b>No.</b>", n_pairs=1600, accuracy=RIGHT)
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
        add_entry(line, replace(KEPT_BACK, what="promoted", current=1))
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


def test_staff_see_what_became_of_a_line(database: Database, tmp_path: Path) -> None:
    line = make_line(tmp_path / "taste", Terms(purpose="harmless"))
    old = {**BEST, "name": "old", "best_of_n": {**BEST["best_of_n"], "scorer": "line:taste/1"}}  # type: ignore[dict-item]
    url = database.engine.url.render_as_string(hide_password=False)
    back = Entry(at=AT, what="rolled back", version=1, current=1, why="<i>We like it.</i>")
    with serving(url, models=tmp_path) as live, ExitStack() as browsers:
        talking(live.platform, chat={"chatbots": [BEST, old]}, lines=["taste", "gone"])
        owner = House(live, browsers).owner("owner")
        page = owner.get("/campaigns/pilot").text
        assert "It learns from what raters prefer here, and chooses what is said by best; old, always by" in page
        assert "No version is current" in page
        assert "<strong>It is not there:</strong> There is no model line &#39;gone&#39;" in page
        add_entry(add_entry(line, KEPT_BACK), back)
        page = owner.get("/campaigns/pilot").text
    assert "Version 1 is current." in page
    for told in ("2026-03-04 05:06", "kept back", "1,600", "0.710", "0.660 to 0.750", "&lt;i&gt;We like it.&lt;/i&gt;"):
        assert told in page
    assert "<i>" not in page
