"""A person decides about a flagged rater: who, when, why, and what became of it."""

import re
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW, owner
from tests.support.monitored_campaigns import crowd, opened, rates
from tests.support.rated_campaigns import rated_campaign

from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.files.raw.table_reader import read_frame
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.store import flags
from dissensus.store.campaigns import CampaignRow
from dissensus.store.flags import FlagJudgement
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import flags as flags_workflow
from dissensus.workflows.campaign.flags import FlaggedRaterView, FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringCache, load_monitoring, refresh_snapshots
from dissensus.workflows.export import ratings
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal

HOSTILE = "<script>alert('é 😀')</script>\n=cmd|' /C calc'!A0"


@pytest.fixture
def kept(platform: Platform) -> CampaignRow:
    return opened(platform, replication=20)


@pytest.fixture
def hasty(platform: Platform, kept: CampaignRow) -> str:
    """Somebody who is flagged for being fast."""
    found, _ = crowd(platform, kept)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    return found


def case(platform: Platform, kept: CampaignRow, rater_id: str) -> FlaggedRaterView:
    return flags_workflow.load_flag_case(platform, "pilot", rater_id, staff_id=kept.staff_id)


def decide(
    platform: Platform,
    kept: CampaignRow,
    rater_id: str,
    verdict: str,
    reason: str = "I looked.",
    *,
    form: str = "",
    minutes: int = 0,
) -> str:
    given = FlagVerdict(id=form or str(uuid4()), verdict=verdict, reason=reason)
    now = NOW + timedelta(minutes=minutes)
    flags_workflow.decide_flag(platform, "pilot", rater_id, given, staff_id=kept.staff_id, now=now)
    return given.id


def test_the_last_decision_holds_and_all_stay(platform: Platform, kept: CampaignRow, hasty: str) -> None:
    assert case(platform, kept, hasty).decisions == ()
    decide(platform, kept, hasty, "exclude", "Four seconds an item.", minutes=1)
    # The clock of another machine is behind.
    decide(platform, kept, hasty, "keep", HOSTILE, minutes=-5)
    found = case(platform, kept, hasty)
    assert [(one.verdict, one.reason) for one in found.decisions] == [
        ("keep", HOSTILE),
        ("exclude", "Four seconds an item."),
    ]
    assert found.flagged is not None
    assert found.decisions[1].evidence.splitlines() == list(found.flagged.reasons)
    assert (found.decisions[1].by, found.decisions[1].at) == ("owner", NOW + timedelta(minutes=1))
    seen = load_monitoring(platform, "pilot", staff_id=kept.staff_id, now=NOW)
    assert {name: one.verdict for name, one in seen.decisions.items()} == {hasty: "keep"}


def test_the_same_form_twice_is_one_decision(platform: Platform, kept: CampaignRow, hasty: str) -> None:
    sent = decide(platform, kept, hasty, "exclude")
    decide(platform, kept, hasty, "exclude", form=sent)
    assert len(case(platform, kept, hasty).decisions) == 1
    with pytest.raises(Conflict, match="This form has decided something else already"):
        decide(platform, kept, hasty, "keep", form=sent)


def test_a_form_of_one_rater_decides_about_no_other(platform: Platform, kept: CampaignRow) -> None:
    hasty, stubborn = crowd(platform, kept)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    sent = decide(platform, kept, hasty, "exclude")
    with pytest.raises(Conflict, match="This form has decided something else already"):
        decide(platform, kept, stubborn, "exclude", form=sent)


@pytest.mark.parametrize(
    ("verdict", "reason", "told"),
    [
        ("", "  \n", "Nothing is chosen. Choose keep or exclude.\nThere is no reason. Say why, so that others can"),
        ("delete", "Why not", "'delete' is no decision. Choose keep or exclude."),
        ("keep", "x" * 2001, "The reason has 2,001 characters; 2,000 are allowed. Shorten it."),
    ],
)
def test_every_mistake_is_told_at_once(
    platform: Platform, kept: CampaignRow, hasty: str, verdict: str, reason: str, told: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        decide(platform, kept, hasty, verdict, reason)
    assert case(platform, kept, hasty).decisions == ()


def test_a_form_that_lost_its_number_decides_nothing(platform: Platform, kept: CampaignRow, hasty: str) -> None:
    with pytest.raises(InvalidInput, match="The form has lost its number"):
        decide(platform, kept, hasty, "keep", form="1")


def test_there_is_nothing_to_decide_about_others(platform: Platform, kept: CampaignRow, hasty: str) -> None:
    careful = rates(platform, kept, 55)
    with pytest.raises(NotFound, match="meets no criterion, so there is nothing to decide"):
        decide(platform, kept, careful, "exclude")
    with pytest.raises(NotFound, match="There is no such rater in pilot"):
        decide(platform, kept, "nobody", "exclude")
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        flags_workflow.load_flag_case(platform, "pilot", hasty, staff_id=owner(platform.database, "eve"))


def test_a_rater_of_another_campaign_is_not_there(platform: Platform, kept: CampaignRow, hasty: str) -> None:
    other = rated_campaign(platform, 3, 1)
    with pytest.raises(NotFound, match="There is no such rater in crowded"):
        flags_workflow.load_flag_case(platform, "crowded", hasty, staff_id=other.staff_id)
    assert kept.name == "pilot"


def test_who_withdraws_takes_what_was_decided_along(platform: Platform, kept: CampaignRow, hasty: str) -> None:
    decide(platform, kept, hasty, "exclude")
    withdrawal.withdraw_rater(platform, hasty, now=NOW)
    assert load_monitoring(platform, "pilot", staff_id=kept.staff_id, now=NOW).decisions == {}
    with pytest.raises(NotFound, match="or they withdrew"):
        case(platform, kept, hasty)


def test_all_data_are_exported_and_who_is_excluded_is_flagged(
    platform: Platform, kept: CampaignRow, tmp_path: Path
) -> None:
    hasty, stubborn = crowd(platform, kept)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    ratings.export_ratings(platform, "pilot", tmp_path / "before.csv", now=NOW)
    assert "rater_flagged" not in read_frame(tmp_path / "before.csv").columns
    decide(platform, kept, hasty, "exclude")
    decide(platform, kept, stubborn, "keep")
    for ending in ("csv", "parquet"):
        ratings.export_ratings(platform, "pilot", tmp_path / f"after.{ending}", now=NOW)
        read = read_ratings(tmp_path / f"after.{ending}", answer="Q_safe")
        assert read.n_raters == 12
        assert read.exclude_flagged().n_raters == 11
        assert "rater_flagged" not in read.axes
    table = pl.read_parquet(tmp_path / "after.parquet")
    assert table["rater_flagged"].dtype == pl.Boolean
    assert table.height == read_frame(tmp_path / "before.csv").height


def test_a_file_in_the_columns_of_dices_has_the_flag_as_one_more(platform: Platform, tmp_path: Path) -> None:
    kept = rated_campaign(platform, 24, 3)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    seen = load_monitoring(platform, "crowded", staff_id=kept.staff_id, now=NOW).snapshot
    assert seen is not None
    assert seen.figures.flagged == ()
    with platform.database.writing() as tx:
        rater_id = str(tx.scalars(select(RaterTable.id)).first())
        judged = FlagJudgement(verdict="exclude", reason="For a test.", evidence="")
        flags.add_flag_decision(tx, rater_id, str(uuid4()), judged, staff_id=kept.staff_id, now=NOW)
    ratings.export_ratings(platform, "crowded", tmp_path / "crowded.csv", now=NOW)
    table = read_frame(tmp_path / "crowded.csv")
    assert table.columns == [*load_questionnaire("dices-350").columns, "rater_flagged"]
    assert read_ratings(tmp_path / "crowded.csv").exclude_flagged().n_raters == 2
