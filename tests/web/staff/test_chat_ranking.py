"""Chatbots with responses chosen by a registered model, over HTTP."""

import logging
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.databases import sqlite_only
from tests.preference.pairs import simulate_pairs
from tests.support.chat_campaigns import TERN, open_chat_campaign
from tests.support.chat_forms import begin, enter_chat_campaign, say, send
from tests.support.live_site import serving
from tests.support.staff_site import StaffSite

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

AT = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
RIGHT, LESS = ClusteredEstimate(0.71, 0.66, 0.75, 400, 380), ClusteredEstimate(-0.02, -0.06, 0.02, 400, 380)
KEPT_BACK = RegistryEntry(
    at=AT,
    action="kept back",
    version=1,
    current=None,
    reason="<b>No.</b>",
    n_pairs=1600,
    accuracy=RIGHT,
    difference=LESS,
)
RESPONSES = ["kill the road", "sorry the road", "please the road"]
BEST = {
    "name": "best",
    "kind": "best_of_n",
    "model_type": "rejection sampling",
    "version": "1",
    "best_of_n": {"chatbot": {**TERN, "scripted": {"responses": RESPONSES}}, "scorer": "registry:taste", "n": 32},
}


def test_a_promoted_version_ranks_the_next_responses(database_url: str, tmp_path: Path) -> None:
    registered_model = register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless"))
    with serving(database_url, model_registry=tmp_path) as live:
        visitor, page = enter_chat_campaign(live, chat={"chatbots": [BEST]}, registered_models=["taste"])
        page = say(visitor, begin(visitor, page), "First.")
        page = send(visitor, page, "/pick", strength="2")
        # A version is promoted during a conversation, and the site uses it from then on.
        folder = make_version_folder(registered_model)
        save_model(train(simulate_pairs(200)[0], purpose="harmless"), folder)
        append_entry(
            registered_model, replace(KEPT_BACK, action="promoted", current=1, sha256=read_identity(folder).sha256)
        )
        page = say(visitor, page, "Second.")
        # Raters do not see the name of the model.
        assert "taste" not in page.text
        with live.platform.database.reading() as tx:
            rows = tx.execute(
                select(ChatExchangeTable.message_text, ChatCandidateTable.response, ChatCandidateTable.ranked_by)
                .join(ChatCandidateTable, ChatCandidateTable.exchange_id == ChatExchangeTable.id)
                .order_by(ChatExchangeTable.number, ChatCandidateTable.position)
            ).all()
    assert [(message, by) for message, _, by in rows] == [("First.", None)] * 2 + [("Second.", "taste/1")] * 2
    assert [response for message, response, _ in rows if message == "Second."] == ["sorry the road"] * 2


@sqlite_only
def test_a_missing_model_is_reported_only_in_the_log(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(database_url, model_registry=tmp_path) as live, caplog.at_level(logging.WARNING, "dissensus.chat"):
        visitor, page = enter_chat_campaign(live, chat={"chatbots": [BEST]})
        page = say(visitor, begin(visitor, page), "Are you there?")
    assert "No response arrived." in page.text
    assert "Are you there?" in page.text
    assert "taste" not in page.text
    assert "There is no registered model 'taste'" in caplog.text


@sqlite_only
def test_staff_see_the_versions_of_a_model(database_url: str, tmp_path: Path) -> None:
    registered_model = register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless"))
    old = {**BEST, "name": "old", "best_of_n": {**BEST["best_of_n"], "scorer": "registry:taste/1"}}  # type: ignore[dict-item]
    back = RegistryEntry(at=AT, action="rolled back", version=1, current=1, reason="<i>We like it.</i>")
    with serving(database_url, model_registry=tmp_path) as live, ExitStack() as browsers:
        open_chat_campaign(live.platform, chat={"chatbots": [BEST, old]}, registered_models=["taste", "gone"])
        owner = StaffSite(live, browsers).owner("owner")
        page = owner.get("/campaigns/pilot").text
        assert "Trained on the preferences of this campaign; selects the responses of best; old, always by" in page
        assert "No version is current" in page
        assert "It does not exist on this site yet. Contact the operator of the site." in page
        assert str(tmp_path) not in page
        append_entry(append_entry(registered_model, KEPT_BACK), back)
        page = owner.get("/campaigns/pilot").text
    # The table scrolls in its frame, where it would be cut on a narrow page.
    assert '<div class="wide" tabindex="0" role="group" aria-label="Versions of taste">' in page
    assert "Version 1 is current again since 2026-03-04 05:06 UTC:" in page
    for expected in ("2026-03-04 05:06", "kept back, <strong>current", "1,600", "0.710", "−0.020 (−0.060 to +0.020)"):
        assert expected in page
    for text in ("&lt;i&gt;We like it.&lt;/i&gt;", "&lt;b&gt;No.&lt;/b&gt;"):
        assert text in page
    assert "<i>" not in page


@sqlite_only
def test_a_damaged_model_does_not_break_pages(
    database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registered_model = register_model(tmp_path / "taste", RegistrationTerms(purpose="harmless"))
    (registered_model.folder / HISTORY).write_text("{}")
    with serving(database_url, model_registry=tmp_path) as live, ExitStack() as browsers:
        open_chat_campaign(live.platform, registered_models=["taste"])
        page = StaffSite(live, browsers).owner("owner").get("/campaigns/pilot")
    assert page.status_code == 200
    assert "Its folder is damaged or not accessible. Contact the operator of the site." in page.text
    assert "taste is not a valid registered model" in caplog.text
