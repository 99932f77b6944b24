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
from tests.web.rater.test_chat import begin, came, say, send
from tests.workflows.talking import TERN, talking

from dissensus.files.models.folder import identity, save_model
from dissensus.files.models.registry import HISTORY, Entry, Terms, add_entry, make_line, next_version
from dissensus.preference.fit.training import train
from dissensus.stats.paired import Difference
from dissensus.stats.proportion import Share
from dissensus.store import tables as t
from dissensus.store.core.database import Database

AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
RIGHT, LESS = Share(0.71, 0.66, 0.75, 400, 380), Difference(-0.02, -0.06, 0.02, 400, 380)
KEPT_BACK = Entry(
    at=AT, what="kept back", version=1, current=None, why="<b>No.</b>", n_pairs=1600, accuracy=RIGHT, difference=LESS
)
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
        place = next_version(line)
        save_model(train(simulated(200)[0], purpose="harmless"), place)
        add_entry(line, replace(KEPT_BACK, what="promoted", current=1, sha256=identity(place).sha256))
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
        assert "There is no such line on this site yet. Tell who runs the site." in page
        assert str(tmp_path) not in page
        add_entry(add_entry(line, KEPT_BACK), back)
        page = owner.get("/campaigns/pilot").text
    assert "Version 1 is current again since 2026-03-04 05:06 UTC:" in page
    for told in ("2026-03-04 05:06", "kept back, <strong>current", "1,600", "0.710", "-0.020 (-0.060 to +0.020)"):
        assert told in page
    for text in ("&lt;i&gt;We like it.&lt;/i&gt;", "&lt;b&gt;No.&lt;/b&gt;"):
        assert text in page
    assert "<i>" not in page


def test_a_line_that_is_damaged_breaks_no_page(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    line = make_line(tmp_path / "taste", Terms(purpose="harmless"))
    (line.folder / HISTORY).write_text("{}")
    url = database.engine.url.render_as_string(hide_password=False)
    with serving(url, models=tmp_path) as live, ExitStack() as browsers:
        talking(live.platform, lines=["taste"])
        page = House(live, browsers).owner("owner").get("/campaigns/pilot")
    assert page.status_code == 200
    assert "Its folder is damaged or out of reach. Tell who runs the site." in page.text
    assert "taste is no model line that can be trusted" in caplog.text
