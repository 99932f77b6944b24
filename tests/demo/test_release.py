"""Release of the demo: refused, mended, written."""

from pathlib import Path

from tests.support.campaigns import NOW
from tests.support.rated_campaigns import rated_campaign

from dissensus.demo.release import release_ratings
from dissensus.files.releases.verification import validate_release
from dissensus.store.core.database import Database
from dissensus.workflows.platform.platform import Platform


def test_the_first_plan_is_refused_and_the_second_written(database: Database, tmp_path: Path) -> None:
    platform = Platform(database)
    rated_campaign(platform, 4, 21, name="demo")
    released = release_ratings(platform, "demo", tmp_path, now=NOW)
    assert released.refused == ("anonymity", "membership", "texts", "datasheet")
    assert released.open_checks == ()
    assert (released.n_ratings, released.n_raters) == (84, 21)
    assert validate_release(tmp_path / "demo-1.0").ok


def test_too_few_raters_are_not_released(database: Database, tmp_path: Path) -> None:
    platform = Platform(database)
    rated_campaign(platform, 4, 3, name="demo")
    released = release_ratings(platform, "demo", tmp_path, now=NOW)
    assert released.open_checks == ("anonymity",)
    assert not (tmp_path / "demo-1.0").exists()
