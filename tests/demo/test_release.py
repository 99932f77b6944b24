"""Release of the demo: refused, mended, written."""

from pathlib import Path

import pytest
from tests.databases import sqlite_only
from tests.support.campaigns import AGREED, NOW
from tests.support.chat_campaigns import finish_chat, open_chat_campaign
from tests.support.rated_campaigns import rated_campaign

from dissensus.demo.release import CONVERSATIONS, RATINGS, release_campaign
from dissensus.files.releases.verification import validate_release
from dissensus.pipeline.collect.chat import ResponsePick
from dissensus.store.core.database import Database
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

pytestmark = sqlite_only


@pytest.mark.slow
def test_the_first_plan_is_refused_and_the_second_written(database: Database, tmp_path: Path) -> None:
    platform = Platform(database)
    rated_campaign(platform, 4, 21, name="demo")
    released = release_campaign(platform, "demo", tmp_path, RATINGS, now=NOW)
    assert released.first_faults == ("anonymity", "membership", "texts", "datasheet")
    assert released.open_checks == ()
    assert (released.n_ratings, released.n_raters) == (84, 21)
    assert validate_release(tmp_path / "demo-1.0").ok


@pytest.mark.slow
def test_conversations_are_released_with_their_pairs(database: Database, tmp_path: Path) -> None:
    platform = Platform(database)
    campaign = open_chat_campaign(platform, "talk")
    for _ in range(5):
        arrival = Arrival("talk", str(campaign.key), "en")
        rater, _ = enrolment.enrol_rater(platform, arrival, {**AGREED, "release": True}, now=NOW)
        finish_chat(platform, rater, ResponsePick(strength=3))
    released = release_campaign(platform, "talk", tmp_path, CONVERSATIONS, now=NOW)
    assert (released.first_faults, released.open_checks) == (("with_text",), ())
    assert (released.n_ratings, released.n_raters, released.n_pairs, released.n_attempts) == (5, 5, 5, 5)
    assert validate_release(tmp_path / "talk-1.0").ok


def test_too_few_raters_are_not_released(database: Database, tmp_path: Path) -> None:
    platform = Platform(database)
    rated_campaign(platform, 4, 3, name="demo")
    released = release_campaign(platform, "demo", tmp_path, RATINGS, now=NOW)
    assert released.open_checks == ("anonymity",)
    assert not (tmp_path / "demo-1.0").exists()
