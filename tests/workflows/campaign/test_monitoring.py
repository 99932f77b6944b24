"""Campaigns under way: figures follow what raters do, and are those that an export gives."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import delete, insert, select, update
from tests.support.campaigns import AGREED, NOW, definition, owner
from tests.support.gold_campaigns import YES, said, staffed
from tests.support.monitored_campaigns import ABOUT, HASTY, N_ITEMS, Habit, crowd, golden, opened, rates, saved
from tests.support.rated_campaigns import rated_campaign
from tests.support.raters import enter, rate_all

from dissensus.errors import NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.monitor import CampaignFigures
from dissensus.store import raters
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.monitoring import MonitoringSnapshotTable
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.campaign.monitoring import MonitoringCache, MonitoringView, load_monitoring, refresh_snapshots
from dissensus.workflows.export import ratings
from dissensus.workflows.gold import adjudication
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, rating, screening, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

LATER = NOW + timedelta(hours=20)
OLD = timedelta(days=30)


def seen(platform: Platform, name: str = "pilot") -> MonitoringView:
    return load_monitoring(platform, name, staff_id=overview.owner_id_of(platform, name), now=LATER)


def figures(platform: Platform, name: str = "pilot") -> CampaignFigures:
    snapshot = seen(platform, name).snapshot
    assert snapshot is not None
    return snapshot.figures


def from_scratch(platform: Platform) -> CampaignFigures:
    refresh_snapshots(platform, MonitoringCache(), now=LATER)
    return figures(platform)


def last_assignment(platform: Platform, rater_id: str) -> str:
    with platform.database.reading() as tx:
        query = select(AssignmentTable.id).where(AssignmentTable.rater_id == rater_id, AssignmentTable.state == "done")
        return str(tx.scalars(query.order_by(AssignmentTable.position.desc())).first())


def test_figures_follow_and_are_those_made_from_scratch(platform: Platform) -> None:
    kept, watched = opened(platform), MonitoringCache()
    assert refresh_snapshots(platform, watched, now=NOW) == 1
    assert figures(platform).pool.n_ratings == 0
    for number in range(4):
        rates(platform, kept, number, HASTY if number == 3 else Habit(), said={} if number == 2 else None)
        assert refresh_snapshots(platform, watched, now=LATER) == 1
        found = figures(platform)
        assert found.pool.n_raters == number + 1
        assert found == from_scratch(platform)
    assert (found.n_items, found.pool.n_ratings) == (N_ITEMS, 80)


def test_nothing_new_moves_only_the_time_as_of_which_they_hold(platform: Platform) -> None:
    watched = MonitoringCache()
    rates(platform, opened(platform), 1)
    refresh_snapshots(platform, watched, now=NOW)
    assert refresh_snapshots(platform, watched, now=LATER) == 0
    snapshot = seen(platform).snapshot
    assert snapshot is not None
    assert (snapshot.made_at, snapshot.read_at) == (NOW, LATER)


def test_a_revision_takes_the_place_of_what_was_submitted_before(platform: Platform) -> None:
    kept, watched = opened(platform), MonitoringCache()
    rater_id = rates(platform, kept, 1)
    refresh_snapshots(platform, watched, now=NOW)
    before = figures(platform).pool
    one = last_assignment(platform, rater_id)
    with platform.database.writing() as tx:
        for revision, answer in ((3, "Unsure"), (2, "Yes")):
            saved(tx, one, answer, ms=999_000, at=NOW + timedelta(hours=1), revision=revision)
    assert refresh_snapshots(platform, watched, now=LATER) == 1
    after = figures(platform).pool
    assert (after.n_ratings, after.n_raters) == (before.n_ratings, before.n_raters)
    assert after != before
    assert figures(platform) == from_scratch(platform)


def test_a_save_that_is_committed_after_later_ones_is_not_missed(platform: Platform) -> None:
    kept, watched = opened(platform), MonitoringCache()
    first, second = rates(platform, kept, 1), rates(platform, kept, 2)
    late = last_assignment(platform, first)
    with platform.database.writing() as tx:
        row = tx.execute(select(SaveTable.__table__).where(SaveTable.assignment_id == late)).one()._mapping
        answer = (
            tx.execute(select(AnswerTable.__table__).where(AnswerTable.save_number == row["number"])).one()._mapping
        )
        tx.execute(delete(AnswerTable).where(AnswerTable.save_number == row["number"]))
        tx.execute(delete(SaveTable).where(SaveTable.number == row["number"]))
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == late).values(state="open"))
    refresh_snapshots(platform, watched, now=NOW)
    n = figures(platform).pool.n_ratings
    with platform.database.writing() as tx:
        tx.execute(insert(SaveTable).values(**row))
        tx.execute(insert(AnswerTable).values(**answer))
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == late).values(state="done"))
    assert second
    assert refresh_snapshots(platform, watched, now=LATER) == 1
    assert figures(platform).pool.n_ratings == n + 1


def test_who_withdraws_is_in_no_figure_at_once(platform: Platform) -> None:
    kept, watched = opened(platform, replication=20), MonitoringCache()
    hasty, _ = crowd(platform, kept)
    refresh_snapshots(platform, watched, now=NOW)
    before = figures(platform)
    assert hasty in {one.rater_id for one in before.flagged}
    withdrawal.withdraw_rater(platform, hasty, now=LATER)
    assert seen(platform).snapshot is None
    assert refresh_snapshots(platform, watched, now=LATER) == 1
    after = figures(platform)
    assert after.pool.n_raters == before.pool.n_raters - 1
    assert hasty not in {one.rater_id for one in after.flagged}
    assert after == from_scratch(platform)


def test_who_withdraws_from_a_closed_campaign_leaves_its_figures_too(platform: Platform) -> None:
    kept, watched = opened(platform), MonitoringCache()
    rater_id = rates(platform, kept, 1)
    rates(platform, kept, 2)
    campaigns.change_state(platform, "pilot", "closed", staff_id=kept.staff_id, now=NOW)
    refresh_snapshots(platform, watched, now=NOW)
    assert refresh_snapshots(platform, watched, now=LATER + OLD) == 0
    assert refresh_snapshots(platform, watched, now=LATER + 2 * OLD) == 0
    assert watched.campaigns == {}
    withdrawal.withdraw_rater(platform, rater_id, now=LATER + 2 * OLD)
    assert refresh_snapshots(platform, watched, now=LATER + 3 * OLD) == 1
    assert figures(platform).pool.n_raters == 1


def test_figures_written_while_somebody_withdraws_are_made_again(platform: Platform) -> None:
    """A tick reads, the rater withdraws, and only then the tick writes what it has read."""
    kept, watched = opened(platform), MonitoringCache()
    rater_id = rates(platform, kept, 1)
    refresh_snapshots(platform, watched, now=NOW)
    with platform.database.reading() as tx:
        stale = tx.execute(select(MonitoringSnapshotTable.__table__)).one()._mapping
    campaigns.change_state(platform, "pilot", "closed", staff_id=kept.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, rater_id, now=LATER)
    with platform.database.writing() as tx:
        tx.execute(insert(MonitoringSnapshotTable).values({**stale, "read_at": LATER + timedelta(seconds=1)}))
    assert refresh_snapshots(platform, MonitoringCache(), now=LATER + timedelta(seconds=3)) == 1
    assert figures(platform).pool.n_raters == 0


def test_previews_dry_runs_and_drafts_never_count(platform: Platform) -> None:
    kept, watched = opened(platform), MonitoringCache()
    rehearsing = enrolment.enrol_rater(
        platform, Arrival("pilot", str(kept.key), "en"), AGREED, rehearsal=True, now=NOW
    )[0]
    rate_all(platform, rehearsing)
    campaigns.create_campaign(platform, definition("draft"), golden(), staff_id=kept.staff_id, now=NOW)
    refresh_snapshots(platform, watched, now=NOW)
    assert figures(platform).pool.n_raters == 0
    assert seen(platform, "draft").snapshot is None


def test_what_raters_say_of_themselves_later_groups_them(platform: Platform) -> None:
    kept, watched = opened(platform), MonitoringCache()
    rater_id = rates(platform, kept, 1, said={})
    refresh_snapshots(platform, watched, now=NOW)
    assert figures(platform).groups == ()
    with platform.database.reading() as tx:
        rater = raters.find_rater(tx, rater_id)
    assert rater is not None
    rating.declare_attributes(platform, rater, {"rater_age": "50+", "rater_gender": "Prefer not to say"}, now=NOW)
    assert refresh_snapshots(platform, watched, now=LATER) == 1
    assert [(one.axis, one.group) for one in figures(platform).groups] == [
        ("rater_age", "50+"),
        ("rater_gender", "Prefer not to say"),
    ]


def test_cells_of_a_quota_are_an_axis(platform: Platform) -> None:
    quota = {"axes": {"rater_age": {"young": ["18-29"], "old": ["30-49", "50+"]}}, "seats": 5, "rest": 1}
    kept = opened(platform, demographics={**ABOUT, "questions": ABOUT["questions"][:1]}, quota=quota)
    rater = enter(platform, kept.key)
    screening.screen_rater(platform, rater, {"rater_age": "18-29"}, now=NOW)
    rated = len(rate_all(platform, rater))
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    assert [(one.axis, one.group, one.n_ratings) for one in figures(platform).groups] == [
        ("cell", "young", rated),
        ("rater_age", "18-29", rated),
    ]
    assert seen(platform).forecast is not None


def test_agreement_is_that_of_an_export(platform: Platform, tmp_path: Path) -> None:
    crowd(platform, opened(platform))
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    ratings.export_ratings(platform, "pilot", tmp_path / "pilot.csv", now=NOW)
    read = read_ratings(tmp_path / "pilot.csv", answer="Q_safe")
    analysis = analyse(read, by=["rater_age", "rater_gender"])
    expected = {(row.axis, row.group): row for row in (*analysis.overall, *analysis.rows) if row.metric == "irr"}
    found = figures(platform)
    groups = {(group.axis or None, group.group or None): group for group in (found.pool, *found.groups)}
    assert groups.keys() == expected.keys()
    for name, group in groups.items():
        assert group.agreement.estimate == pytest.approx(expected[name].estimate, abs=1e-12)
        assert group.n_raters == expected[name].n_raters


def test_times_are_those_of_an_export(platform: Platform, tmp_path: Path) -> None:
    rated_campaign(platform, 8, 3)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    ratings.export_ratings(platform, "crowded", tmp_path / "crowded.parquet", now=NOW)
    table = pl.read_parquet(tmp_path / "crowded.parquet")
    found = figures(platform, "crowded")
    assert found.pool.times is not None
    assert found.pool.times.median == table["answer_time_ms"].median()
    assert found.pool.answers["Q_overall"] == tuple(
        (table["Q_overall"] == one).sum() for one in ("No", "Unsure", "Yes")
    )
    assert sum(map(sum, found.gold or ())) == 8


def test_figures_that_another_version_made_are_made_again(platform: Platform) -> None:
    rates(platform, opened(platform), 1)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    with platform.database.writing() as tx:
        tx.execute(update(MonitoringSnapshotTable).values(content='{"figures": "of another kind"}'))
    assert seen(platform).snapshot is None
    assert from_scratch(platform).pool.n_raters == 1


def test_what_fails_on_the_way_is_read_again(platform: Platform) -> None:
    """Where figures cannot be kept, the next tick does not take for granted that they were."""
    kept, watched = opened(platform), MonitoringCache()
    refresh_snapshots(platform, watched, now=NOW)
    rates(platform, kept, 1)
    with platform.database.writing() as tx:
        tx.exec_driver_sql("ALTER TABLE monitoring_snapshot RENAME TO away")
    with pytest.raises(Exception, match="monitoring_snapshot"):
        refresh_snapshots(platform, watched, now=NOW)
    with platform.database.writing() as tx:
        tx.exec_driver_sql("ALTER TABLE away RENAME TO monitoring_snapshot")
    refresh_snapshots(platform, watched, now=LATER)
    assert figures(platform).pool.n_raters == 1


def test_who_owns_nothing_there_sees_nothing(platform: Platform) -> None:
    opened(platform)
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        load_monitoring(platform, "pilot", staff_id=owner(platform.database, "eve"), now=NOW)


def test_what_experts_settle_is_beside_the_crowd_once_all_have_labelled(platform: Platform) -> None:
    owner_id, experts = staffed(platform)
    kept, watched = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW), MonitoringCache()
    rates(platform, kept, 0, Habit(always="Yes"), said={})

    def gold() -> object:
        refresh_snapshots(platform, watched, now=LATER)
        return figures(platform).gold

    def decided(answers: dict[str, Any], why: str, seen: int) -> None:
        adjudication.decide_gold(platform, "pilot", 0, {**answers, "why": why}, seen=seen, staff_id=owner_id, now=NOW)

    for expert, answers in zip(experts, (YES, YES, {"safety": "No"}), strict=True):
        said(platform, expert, answers)
        assert gold() is None
    decided({"safety": "No"}, "Nobody is hurt.", 0)
    assert gold() == ((0, 0, 1, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    decided({"safety": "Yes", "reasons": ["Unfair bias"]}, "Somebody is.", 1)
    assert gold() == ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0))
