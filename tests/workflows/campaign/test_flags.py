"""Decisions about flagged raters."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from sqlalchemy import select, update
from tests.databases import sqlite_only
from tests.support.campaigns import NOW, owner
from tests.support.monitored_campaigns import add_crowd, open_monitored_campaign, rate_items
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
from dissensus.workflows.campaign.audit import audit_campaign
from dissensus.workflows.campaign.flags import FlaggedRaterView, FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringCache, load_monitoring, refresh_snapshots
from dissensus.workflows.export import ratings
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal

HOSTILE = "<script>alert('é 😀')</script>\n=cmd|' /C calc'!A0"


@pytest.fixture
def campaign(platform: Platform) -> CampaignRow:
    return open_monitored_campaign(platform, replication=20)


@pytest.fixture
def hasty(platform: Platform, campaign: CampaignRow) -> str:
    """The id of a rater who is flagged for being fast."""
    hasty_id, _ = add_crowd(platform, campaign, 2)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    return hasty_id


def load_case(platform: Platform, campaign: CampaignRow, rater_id: str) -> FlaggedRaterView:
    return flags_workflow.load_flag_case(platform, "pilot", rater_id, staff_id=campaign.staff_id)


def decide(
    platform: Platform,
    campaign: CampaignRow,
    rater_id: str,
    verdict: str,
    reason: str = "I looked.",
    *,
    form: str = "",
    minutes: int = 0,
) -> str:
    flag_verdict = FlagVerdict(id=form or str(uuid4()), verdict=verdict, reason=reason)
    now = NOW + timedelta(minutes=minutes)
    flags_workflow.decide_flag(platform, "pilot", rater_id, flag_verdict, staff_id=campaign.staff_id, now=now)
    return flag_verdict.id


def test_the_last_decision_holds_and_earlier_ones_stay(platform: Platform, campaign: CampaignRow, hasty: str) -> None:
    assert load_case(platform, campaign, hasty).decisions == ()
    decide(platform, campaign, hasty, "exclude", "Four seconds an item.", minutes=1)
    # The clock of another machine is behind.
    decide(platform, campaign, hasty, "keep", HOSTILE, minutes=-5)
    case = load_case(platform, campaign, hasty)
    assert [(one.verdict, one.reason) for one in case.decisions] == [
        ("keep", HOSTILE),
        ("exclude", "Four seconds an item."),
    ]
    assert case.flagged is not None
    assert case.decisions[1].evidence.splitlines() == list(case.flagged.reasons)
    assert (case.decisions[1].by, case.decisions[1].at) == ("owner", NOW + timedelta(minutes=1))
    monitoring = load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    assert {name: one.verdict for name, one in monitoring.decisions.items()} == {hasty: "keep"}
    with platform.database.writing() as tx:
        tx.execute(update(flags.FlagDecisionTable).values(verdict="exclude"))
    faults = audit_campaign(platform, "pilot").faults
    assert [fault.partition(" ")[0] for fault in faults if "written: decision" in fault] == ["Flag"]


def test_the_same_form_twice_is_one_decision(platform: Platform, campaign: CampaignRow, hasty: str) -> None:
    form = decide(platform, campaign, hasty, "exclude")
    decide(platform, campaign, hasty, "exclude", form=form)
    assert len(load_case(platform, campaign, hasty).decisions) == 1
    with pytest.raises(Conflict, match="This form was already used for another decision"):
        decide(platform, campaign, hasty, "keep", form=form)


def test_a_form_of_one_rater_cannot_decide_about_another(platform: Platform, campaign: CampaignRow) -> None:
    hasty, stubborn = add_crowd(platform, campaign, 2)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    form = decide(platform, campaign, hasty, "exclude")
    with pytest.raises(Conflict, match="This form was already used for another decision"):
        decide(platform, campaign, stubborn, "exclude", form=form)


@sqlite_only
def test_every_mistake_is_reported_at_once(platform: Platform, campaign: CampaignRow, hasty: str) -> None:
    nothing = "Nothing is chosen. Choose keep or exclude.\nThere is no reason. Give one, so that others can"
    for verdict, reason, form, message in (
        ("", "  \n", "", nothing),
        ("delete", "Why not", "", "'delete' is not a decision. Choose keep or exclude."),
        ("keep", "x" * 2001, "", "The reason has 2,001 characters; 2,000 are allowed. Shorten it."),
        ("keep", "I looked.", "1", "The form has no valid id"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(message)):
            decide(platform, campaign, hasty, verdict, reason, form=form)
        assert load_case(platform, campaign, hasty).decisions == ()
    decide(platform, campaign, hasty, "keep", "x" * 2000)


def test_at_most_fifty_raters_are_decided_about_at_once(platform: Platform, campaign: CampaignRow) -> None:
    verdict = FlagVerdict(id=str(uuid4()), verdict="keep", reason="I looked.")
    by: dict[str, Any] = {"staff_id": campaign.staff_id, "now": NOW}
    for numbers, message in ((range(0), "No rater is selected"), (range(51), "51 raters are selected, and at most 50")):
        with pytest.raises(InvalidInput, match=message):
            flags_workflow.decide_flags(platform, "pilot", numbers, verdict, **by)
    assert flags_workflow.decide_flags(platform, "pilot", range(50), verdict, **by) == 0


def test_unflagged_raters_cannot_be_decided_about(platform: Platform, campaign: CampaignRow, hasty: str) -> None:
    careful = rate_items(platform, campaign, 55)
    with pytest.raises(NotFound, match="meets no criterion, so there is nothing to decide"):
        decide(platform, campaign, careful, "exclude")
    with pytest.raises(NotFound, match="There is no such rater in pilot"):
        decide(platform, campaign, "nobody", "exclude")
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        flags_workflow.load_flag_case(platform, "pilot", hasty, staff_id=owner(platform.database, "eve"))


def test_a_rater_of_another_campaign_is_not_found(platform: Platform, hasty: str) -> None:
    other = rated_campaign(platform, 3, 1)
    with pytest.raises(NotFound, match="There is no such rater in crowded"):
        flags_workflow.load_flag_case(platform, "crowded", hasty, staff_id=other.staff_id)


def test_a_withdrawal_removes_the_decisions_about_the_rater(
    platform: Platform, campaign: CampaignRow, hasty: str
) -> None:
    decide(platform, campaign, hasty, "exclude")
    withdrawal.withdraw_rater(platform, hasty, now=NOW)
    assert load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=NOW).decisions == {}
    with pytest.raises(NotFound, match="or they withdrew"):
        load_case(platform, campaign, hasty)


def test_excluded_raters_are_exported_with_a_flag(platform: Platform, campaign: CampaignRow, tmp_path: Path) -> None:
    hasty, stubborn = add_crowd(platform, campaign, 2)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    ratings.export_ratings(platform, "pilot", tmp_path / "before.csv", now=NOW)
    assert "rater_flagged" not in read_frame(tmp_path / "before.csv").columns
    decide(platform, campaign, hasty, "exclude")
    decide(platform, campaign, stubborn, "keep")
    for ending in ("csv", "parquet"):
        ratings.export_ratings(platform, "pilot", tmp_path / f"after.{ending}", now=NOW)
        exported = read_ratings(tmp_path / f"after.{ending}", answer="Q_safe")
        assert exported.n_raters == 4
        assert exported.exclude_flagged().n_raters == 3
        assert "rater_flagged" not in exported.axes
    table = pl.read_parquet(tmp_path / "after.parquet")
    assert table["rater_flagged"].dtype == pl.Boolean
    assert table.height == read_frame(tmp_path / "before.csv").height


def test_an_export_in_the_columns_of_dices_adds_the_flag(platform: Platform, tmp_path: Path) -> None:
    campaign = rated_campaign(platform, 24, 3)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    snapshot = load_monitoring(platform, "crowded", staff_id=campaign.staff_id, now=NOW).snapshot
    assert snapshot is not None
    assert snapshot.figures.flagged == ()
    with platform.database.writing() as tx:
        rater_id = str(tx.scalars(select(RaterTable.id)).first())
        judgement = FlagJudgement(verdict="exclude", reason="For a test.", evidence="")
        flags.add_flag_decision(tx, rater_id, str(uuid4()), judgement, staff_id=campaign.staff_id, now=NOW)
    ratings.export_ratings(platform, "crowded", tmp_path / "crowded.csv", now=NOW)
    table = read_frame(tmp_path / "crowded.csv")
    assert table.columns == [*load_questionnaire("dices-350").columns, "open_time_ms", "rater_flagged"]
    assert read_ratings(tmp_path / "crowded.csv").exclude_flagged().n_raters == 2
