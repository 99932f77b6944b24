"""Chatbots whose responses a model line chooses, over HTTP."""

import logging
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.preference.pairs import simulated
from tests.support.chat_campaigns import TERN, open_chat_campaign
from tests.support.chat_forms import begin, came, say, send
from tests.support.live_site import serving
from tests.support.staff_browsers import House

from dissensus.files.models.folder import read_identity, save_model
from dissensus.files.models.registry import (
    HISTORY,
    RegistrationTerms,
    RegistryEntry,
    append_entry,
    make_version_folder,
    register_model,
)
from dissensus.preference.fit.training import train
from dissensus.stats.cluster_robust import ClusteredEstimate
from dissensus.store.chats import ChatCandidateTable, ChatExchangeTable
from dissensus.store.core.database import Database

AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
RIGHT, LESS = ClusteredEstimate(0.71, 0.66, 0.75, 400, 380), ClusteredEstimate(-0.02, -0.06, 0.02, 400, 380)
KEPT_BACK = RegistryEntry(
    at=AT, what="kept back", version=1, current=None, why="<b>No.</b>", n_pairs=1600, accuracy=RIGHT, difference=LESS
)
RESPONSES = ["kill the road", "sorry the road", "please the road"]
BEST = {
    "name": "best",
    "kind": "best_of_n",
    "model_type": "rejection sampling",
    "version": "1",
    "best_of_n": {"of": {**TERN, "scripted": {"responses": RESPONSES}}, "scorer": "registry:taste", "n": 32},
}


def test_what_a_line_has_learned_answers_the_next_time(database: Database, tmp_path: Path) -> None:
    line = register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless"))
    url = database.engine.url.render_as_string(hide_password=False)
    with serving(url, model_registry=tmp_path) as live:
        visitor, page = came(live, chat={"chatbots": [BEST]}, registered_models=["taste"])
        page = say(visitor, begin(visitor, page), "First.")
        page = send(visitor, page, "/pick", strength="2")
        # The line learns while somebody talks, and the site goes on with it.
        place = make_version_folder(line)
        save_model(train(simulated(200)[0], purpose="harmless"), place)
        append_entry(line, replace(KEPT_BACK, what="promoted", current=1, sha256=read_identity(place).sha256))
        page = say(visitor, page, "Second.")
        # Nobody is told.
        assert "taste" not in page.text
        with live.platform.database.reading() as tx:
            rows = tx.execute(
                select(ChatExchangeTable.message_text, ChatCandidateTable.response, ChatCandidateTable.ranked_by)
                .join(ChatCandidateTable, ChatCandidateTable.exchange_id == ChatExchangeTable.id)
                .order_by(ChatExchangeTable.number, ChatCandidateTable.position)
            ).all()
    assert [(said, by) for said, _, by in rows] == [("First.", None)] * 2 + [("Second.", "taste/1")] * 2
    assert [response for said, response, _ in rows if said == "Second."] == ["sorry the road"] * 2


def test_a_line_that_is_not_there_is_told_to_who_runs_the_site_alone(
    database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = database.engine.url.render_as_string(hide_password=False)
    with serving(url, model_registry=tmp_path) as live, caplog.at_level(logging.WARNING, "dissensus.chat"):
        visitor, page = came(live, chat={"chatbots": [BEST]})
        page = say(visitor, begin(visitor, page), "Are you there?")
    assert "does not answer at the moment" in page.text
    assert "Are you there?" in page.text
    assert "taste" not in page.text
    assert "There is no registered model 'taste'" in caplog.text


def test_staff_see_what_became_of_a_line(database: Database, tmp_path: Path) -> None:
    line = register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless"))
    old = {**BEST, "name": "old", "best_of_n": {**BEST["best_of_n"], "scorer": "registry:taste/1"}}  # type: ignore[dict-item]
    url = database.engine.url.render_as_string(hide_password=False)
    back = RegistryEntry(at=AT, what="rolled back", version=1, current=1, why="<i>We like it.</i>")
    with serving(url, model_registry=tmp_path) as live, ExitStack() as browsers:
        open_chat_campaign(live.platform, chat={"chatbots": [BEST, old]}, registered_models=["taste", "gone"])
        owner = House(live, browsers).owner("owner")
        page = owner.get("/campaigns/pilot").text
        assert "It learns from what raters prefer here, and chooses what is said by best; old, always by" in page
        assert "No version is current" in page
        assert "There is no such model on this site yet. Tell who runs the site." in page
        assert str(tmp_path) not in page
        append_entry(append_entry(line, KEPT_BACK), back)
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
    line = register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless"))
    (line.folder / HISTORY).write_text("{}")
    url = database.engine.url.render_as_string(hide_password=False)
    with serving(url, model_registry=tmp_path) as live, ExitStack() as browsers:
        open_chat_campaign(live.platform, registered_models=["taste"])
        page = House(live, browsers).owner("owner").get("/campaigns/pilot")
    assert page.status_code == 200
    assert "Its folder is damaged or out of reach. Tell who runs the site." in page.text
    assert "taste is not a registered model that can be trusted" in caplog.text
