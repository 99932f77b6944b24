"""Monitoring: figures follow the ratings and equal those of an export."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sqlalchemy import Connection, delete, event, insert, select, update
from tests.support.campaigns import AGREED, NOW, definition, items, open_campaign, owner
from tests.support.gold_campaigns import NO, YES, create_gold_campaign, label_item
from tests.support.monitored_campaigns import (
    ABOUT,
    HASTY,
    N_ITEMS,
    STUBBORN,
    Habit,
    add_crowd,
    add_save,
    gold_items,
    open_monitored_campaign,
    rate_items,
)
from tests.support.rated_campaigns import rated_campaign
from tests.support.raters import enter, rate_all, submit

from dissensus.errors import Conflict, NoDatabase, NotFound
from dissensus.files.ratings.reader import read_ratings
from dissensus.pipeline.analyse import analyse
from dissensus.pipeline.monitor import WITHIN, CampaignFigures, ItemSummary
from dissensus.store import campaigns as campaigns_store
from dissensus.store import monitoring as monitoring_store
from dissensus.store import raters
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.core import leases
from dissensus.store.monitoring import MonitoringProgressTable, MonitoringSnapshotTable, PublishedFiguresTable
from dissensus.workflows.campaign import audit, campaign_deletion, campaigns, overview
from dissensus.workflows.campaign import monitoring as monitoring_workflow
from dissensus.workflows.campaign.monitoring import MonitoringCache, MonitoringView, load_monitoring, refresh_snapshots
from dissensus.workflows.export import ratings
from dissensus.workflows.gold import adjudication, labelling
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, quota_screening, rating, withdrawal
from dissensus.workflows.rater.enrolment import Arrival

LATER = NOW + timedelta(hours=20)
OLD = timedelta(days=30)


def load_view(platform: Platform, name: str = "pilot") -> MonitoringView:
    return load_monitoring(platform, name, staff_id=overview.find_owner_id(platform, name), now=LATER)


def load_figures(platform: Platform, name: str = "pilot") -> CampaignFigures:
    snapshot = load_view(platform, name).snapshot
    assert snapshot is not None
    return snapshot.figures


def recompute_figures(platform: Platform) -> CampaignFigures:
    refresh_snapshots(platform, MonitoringCache(), now=LATER)
    return load_figures(platform)


def load_summaries(platform: Platform) -> dict[tuple[int, str, str], ItemSummary]:
    """The stored summaries, which a process that reads everything anew would leave as they are."""
    with platform.database.reading() as tx:
        campaign_id = campaigns_store.get_campaign_by_name(tx, "pilot").id
        stored = monitoring_store.load_item_summaries(tx, campaign_id)
    recompute_figures(platform)
    with platform.database.reading() as tx:
        assert monitoring_store.load_item_summaries(tx, campaign_id) == stored
    return stored


def last_assignment(platform: Platform, rater_id: str) -> str:
    with platform.database.reading() as tx:
        query = select(AssignmentTable.id).where(AssignmentTable.rater_id == rater_id, AssignmentTable.state == "done")
        return str(tx.scalars(query.order_by(AssignmentTable.position.desc())).first())


def test_incremental_figures_equal_recomputed_ones(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    assert refresh_snapshots(platform, cache, now=NOW) == 1
    assert load_figures(platform).pool.n_ratings == 0
    for number in range(4):
        rate_items(
            platform, campaign, number, HASTY if number == 3 else Habit(), attributes={} if number == 2 else None
        )
        assert refresh_snapshots(platform, cache, now=LATER) == 1
        updated, summaries = load_figures(platform), load_summaries(platform)
        assert updated.pool.n_raters == number + 1
        assert updated == load_figures(platform)
        assert sum(sum(one.counts) for one in summaries.values() if one.axis == WITHIN) == 20 * (number + 1)
    assert (updated.n_items, updated.pool.n_ratings) == (N_ITEMS, 80)


def test_a_tick_without_new_ratings_moves_only_the_read_time(platform: Platform) -> None:
    cache = MonitoringCache()
    rate_items(platform, open_monitored_campaign(platform), 1)
    refresh_snapshots(platform, cache, now=NOW)
    assert refresh_snapshots(platform, cache, now=LATER) == 0
    snapshot = load_view(platform).snapshot
    assert snapshot is not None
    assert (snapshot.updated_at, snapshot.read_at) == (NOW, LATER)


def test_a_revision_replaces_the_earlier_submission(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    rater_id = rate_items(platform, campaign, 1)
    refresh_snapshots(platform, cache, now=NOW)
    before = load_figures(platform).pool
    assignment_id = last_assignment(platform, rater_id)
    with platform.database.writing() as tx:
        for revision, answer in ((3, "Unsure"), (2, "Yes")):
            add_save(tx, assignment_id, answer, ms=999_000, at=NOW + timedelta(hours=1), revision=revision)
    assert refresh_snapshots(platform, cache, now=LATER) == 1
    after = load_figures(platform).pool
    assert (after.n_ratings, after.n_raters) == (before.n_ratings, before.n_raters)
    assert after != before
    summaries, figures = load_summaries(platform), load_figures(platform)
    assert figures.pool == after
    answers = [sum(counts) for counts in zip(*(one.counts for one in summaries.values()), strict=True)]
    assert tuple(answers) == after.answers["Q_safe"]


def test_a_save_committed_after_later_ones_is_counted(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    first, second = rate_items(platform, campaign, 1), rate_items(platform, campaign, 2)
    late_id = last_assignment(platform, first)
    with platform.database.writing() as tx:
        row = tx.execute(select(SaveTable.__table__).where(SaveTable.assignment_id == late_id)).one()._mapping
        answer = (
            tx.execute(select(AnswerTable.__table__).where(AnswerTable.save_number == row["number"])).one()._mapping
        )
        tx.execute(delete(AnswerTable).where(AnswerTable.save_number == row["number"]))
        tx.execute(delete(SaveTable).where(SaveTable.number == row["number"]))
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == late_id).values(state="open"))
    refresh_snapshots(platform, cache, now=NOW)
    n = load_figures(platform).pool.n_ratings
    with platform.database.writing() as tx:
        tx.execute(insert(SaveTable).values(**row))
        tx.execute(insert(AnswerTable).values(**answer))
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == late_id).values(state="done"))
    assert second
    assert refresh_snapshots(platform, cache, now=LATER) == 1
    assert load_figures(platform).pool.n_ratings == n + 1


def test_a_withdrawal_removes_the_rater_from_all_figures_at_once(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform, replication=20), MonitoringCache()
    hasty, _ = add_crowd(platform, campaign)
    begun = enter(platform, campaign.key)
    next_step.find_next_step(platform, begun, now=NOW)
    refresh_snapshots(platform, cache, now=NOW)
    before = load_figures(platform)
    assert hasty in {one.rater_id for one in before.flagged}
    withdrawal.withdraw_rater(platform, hasty, now=LATER)
    # Items that the rater had opened lose their summaries, although these do not change.
    withdrawal.withdraw_rater(platform, begun.id, now=LATER)
    assert load_view(platform).snapshot is None
    assert refresh_snapshots(platform, cache, now=LATER) == 1
    after = load_figures(platform)
    assert {position for position, _, _ in load_summaries(platform)} == {*range(N_ITEMS)}
    assert after == load_figures(platform)
    assert after.pool.n_raters == before.pool.n_raters - 1
    assert hasty not in {one.rater_id for one in after.flagged}


def test_a_withdrawal_from_a_closed_campaign_updates_its_figures(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    rater_id = rate_items(platform, campaign, 1)
    rate_items(platform, campaign, 2)
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    refresh_snapshots(platform, cache, now=NOW)
    assert refresh_snapshots(platform, cache, now=LATER + OLD) == 0
    assert refresh_snapshots(platform, cache, now=LATER + 2 * OLD) == 0
    assert cache.campaigns == {}
    withdrawal.withdraw_rater(platform, rater_id, now=LATER + 2 * OLD)
    assert refresh_snapshots(platform, cache, now=LATER + 3 * OLD) == 1
    assert load_figures(platform).pool.n_raters == 1


def test_answers_in_transit_when_a_campaign_closes_are_counted(platform: Platform) -> None:
    campaign, cache = open_campaign(platform, 1), MonitoringCache()
    for rater in [enter(platform, campaign.key) for _ in range(5)]:
        rate_all(platform, rater)
    late = enter(platform, campaign.key)
    step = next_step.find_next_step(platform, late, now=NOW)
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    refresh_snapshots(platform, cache, now=LATER)
    published = load_view(platform).published
    assert published is not None
    submit(platform, late, step, "late", now=LATER + OLD)
    assert refresh_snapshots(platform, cache, now=LATER + 2 * OLD) == 1
    assert load_figures(platform).pool.n_ratings == 6
    assert load_view(platform).published == published
    assert refresh_snapshots(platform, cache, now=LATER + 3 * OLD) == 0
    assert cache.campaigns == {}


def test_gold_settled_after_a_campaign_closed_is_compared_with_the_crowd(platform: Platform) -> None:
    owner_id, experts = create_gold_campaign(platform, 2, gold={"verifiers": 1, "checkers": 0})
    campaign, cache = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW), MonitoringCache()
    rate_all(platform, enter(platform, campaign.key))
    campaigns.change_state(platform, "pilot", "closed", staff_id=owner_id, now=NOW)
    refresh_snapshots(platform, cache, now=LATER)
    for position, others in enumerate((NO, YES)):
        for expert, answers in zip(experts, (NO, others), strict=True):
            at = LATER + OLD
            labelling.label_item(platform, "pilot", position, answers, revision=0, staff_id=expert, now=at)
    refresh_snapshots(platform, cache, now=LATER + 2 * OLD)
    assert load_figures(platform).gold == ((1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    decision = {"safety": "No", "reason": "Nobody is hurt."}
    adjudication.decide_gold(platform, "pilot", 1, decision, revision=0, staff_id=owner_id, now=LATER + 3 * OLD)
    refresh_snapshots(platform, cache, now=LATER + 4 * OLD)
    assert load_figures(platform).gold == ((2, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))


def test_an_audit_compares_no_figures_older_than_a_self_description(platform: Platform) -> None:
    campaign = open_monitored_campaign(platform)
    rater_id = rate_items(platform, campaign, 1)
    refresh_snapshots(platform, MonitoringCache(), now=LATER)
    with platform.database.reading() as tx:
        rater = raters.find_rater(tx, rater_id)
        assert monitoring_store.is_snapshot_current(tx, campaign.id)
    assert rater is not None
    about = {"rater_age": "50+", "rater_gender": "Man"}
    rating.declare_attributes(platform, rater, about, now=LATER)
    with platform.database.reading() as tx:
        assert not monitoring_store.is_snapshot_current(tx, campaign.id)
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=LATER)
    with pytest.raises(Conflict, match=r"This campaign is closed\. Nothing was stored"):
        rating.declare_attributes(platform, rater, about, now=LATER)


def test_figures_written_during_a_withdrawal_are_recomputed(platform: Platform) -> None:
    """A tick reads, the rater withdraws, and then the tick writes stale figures."""
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    rater_id = rate_items(platform, campaign, 1)
    refresh_snapshots(platform, cache, now=NOW)
    with platform.database.reading() as tx:
        stale = tx.execute(select(MonitoringSnapshotTable.__table__)).one()._mapping
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    withdrawal.withdraw_rater(platform, rater_id, now=LATER)
    with platform.database.writing() as tx:
        tx.execute(insert(MonitoringSnapshotTable).values({**stale, "read_at": LATER + timedelta(seconds=1)}))
    assert refresh_snapshots(platform, MonitoringCache(), now=LATER + timedelta(seconds=3)) == 1
    assert load_figures(platform).pool.n_raters == 0


def act_during(platform: Platform, table: str, act: Callable[[], object]) -> None:
    """Close the campaign, and act once after the next query of a table by the job that computes its figures."""
    owner_id = overview.find_owner_id(platform, "pilot")
    campaigns.change_state(platform, "pilot", "closed", staff_id=owner_id, now=NOW)
    pending = [act]

    def listen(*args: Any) -> None:
        if pending and f"FROM {table}" in args[2].replace("\n", " "):
            pending.pop()()

    event.listen(platform.database.engine, "after_cursor_execute", listen)
    refresh_snapshots(platform, MonitoringCache(), now=LATER)
    event.remove(platform.database.engine, "after_cursor_execute", listen)
    assert not pending


def test_a_withdrawal_prevents_that_figures_computed_before_are_published(platform: Platform) -> None:
    campaign = open_monitored_campaign(platform)
    rater_ids = [rate_items(platform, campaign, number) for number in range(6)]
    act_during(platform, "published_figures", lambda: withdrawal.withdraw_rater(platform, rater_ids[0], now=LATER))
    assert load_view(platform).published is None
    refresh_snapshots(platform, MonitoringCache(), now=LATER + timedelta(seconds=3))
    published = load_view(platform).published
    assert published is not None
    assert published.figures.pool.n_raters == 5


@pytest.mark.parametrize("table", ["declaration", "published_figures"])
def test_a_deletion_leaves_no_figures_computed_before(platform: Platform, table: str) -> None:
    campaign = open_monitored_campaign(platform)
    for number in range(5):
        rate_items(platform, campaign, number)
    deletion = partial(
        campaign_deletion.delete_campaign,
        platform,
        "pilot",
        confirmation="pilot",
        staff_id=campaign.staff_id,
        now=LATER,
    )
    act_during(platform, table, deletion)
    with platform.database.reading() as tx:
        for left in (MonitoringSnapshotTable, PublishedFiguresTable):
            assert tx.scalars(select(left.campaign_id)).all() == []


def test_previews_dry_runs_and_drafts_never_count(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    rehearsing = enrolment.enrol_rater(
        platform, Arrival("pilot", str(campaign.key), "en"), AGREED, rehearsal=True, now=NOW
    )[0]
    rate_all(platform, rehearsing)
    campaigns.create_campaign(platform, definition("draft"), gold_items(), staff_id=campaign.staff_id, now=NOW)
    refresh_snapshots(platform, cache, now=NOW)
    assert load_figures(platform).pool.n_raters == 0
    assert load_view(platform, "draft").snapshot is None


def test_attributes_declared_later_form_groups(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    rater_id = rate_items(platform, campaign, 1, attributes={})
    refresh_snapshots(platform, cache, now=NOW)
    assert load_figures(platform).groups == ()
    with platform.database.reading() as tx:
        rater = raters.find_rater(tx, rater_id)
    assert rater is not None
    rating.declare_attributes(platform, rater, {"rater_age": "50+", "rater_gender": "Prefer not to say"}, now=NOW)
    assert refresh_snapshots(platform, cache, now=LATER) == 1
    assert [(one.axis, one.group) for one in load_figures(platform).groups] == [
        ("rater_age", "50+"),
        ("rater_gender", "Prefer not to say"),
    ]


def test_cells_of_a_quota_are_an_axis(platform: Platform) -> None:
    quota = {"axes": {"rater_age": {"young": ["18-29"], "old": ["30-49", "50+"]}}, "seats": 5, "rest": 1}
    campaign = open_monitored_campaign(
        platform, demographics={**ABOUT, "questions": ABOUT["questions"][:1]}, quota=quota
    )
    rater = enter(platform, campaign.key)
    quota_screening.screen_rater(platform, rater, {"rater_age": "18-29"}, now=NOW)
    rated = len(rate_all(platform, rater))
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    assert [(one.axis, one.group, one.n_ratings) for one in load_figures(platform).groups] == [
        ("cell", "young", rated),
        ("rater_age", "18-29", rated),
    ]
    assert load_view(platform).forecast is not None


def test_agreement_is_that_of_an_export(platform: Platform, tmp_path: Path) -> None:
    add_crowd(platform, open_monitored_campaign(platform))
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    ratings.export_ratings(platform, "pilot", tmp_path / "pilot.csv", now=NOW)
    exported = read_ratings(tmp_path / "pilot.csv", answer="Q_safe")
    analysis = analyse(exported, by=["rater_age", "rater_gender"])
    expected = {(row.axis, row.group): row for row in (*analysis.overall, *analysis.rows) if row.metric == "irr"}
    monitored = load_figures(platform)
    groups = {(group.axis or None, group.group or None): group for group in (monitored.pool, *monitored.groups)}
    assert groups.keys() == expected.keys()
    for name, group in groups.items():
        assert group.agreement.estimate == pytest.approx(expected[name].estimate, abs=1e-12)
        assert group.n_raters == expected[name].n_raters


def test_times_are_those_of_an_export(platform: Platform, tmp_path: Path) -> None:
    rated_campaign(platform, 8, 3)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    ratings.export_ratings(platform, "crowded", tmp_path / "crowded.parquet", now=NOW)
    table = pl.read_parquet(tmp_path / "crowded.parquet")
    monitored = load_figures(platform, "crowded")
    assert monitored.pool.times is not None
    assert monitored.pool.times.median == table["answer_time_ms"].median()
    assert monitored.pool.answers["Q_overall"] == tuple(
        (table["Q_overall"] == one).sum() for one in ("No", "Unsure", "Yes")
    )
    assert sum(map(sum, monitored.gold or ())) == 8


def test_unreadable_snapshots_are_recomputed(platform: Platform) -> None:
    rate_items(platform, open_monitored_campaign(platform), 1)
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    with platform.database.writing() as tx:
        tx.execute(update(MonitoringSnapshotTable).values(content='{"figures": "of another kind"}'))
    assert load_view(platform).snapshot is None
    assert recompute_figures(platform).pool.n_raters == 1


def test_figures_that_could_not_be_stored_are_recomputed(platform: Platform) -> None:
    """Figures that could not be stored are computed again by the next tick."""
    campaign, cache = open_monitored_campaign(platform), MonitoringCache()
    refresh_snapshots(platform, cache, now=NOW)
    rate_items(platform, campaign, 1)
    with platform.database.writing() as tx:
        tx.exec_driver_sql("ALTER TABLE monitoring_snapshot RENAME TO away")
    with pytest.raises(Exception, match="monitoring_snapshot"):
        refresh_snapshots(platform, cache, now=NOW)
    with platform.database.writing() as tx:
        tx.exec_driver_sql("ALTER TABLE away RENAME TO monitoring_snapshot")
    refresh_snapshots(platform, cache, now=LATER)
    assert load_figures(platform).pool.n_raters == 1


class Runs:
    """Check of the lease before each run, which acts before one of them."""

    def __init__(self, at: int = 0, act: Callable[[], object] = lambda: None) -> None:
        self.n, self.at, self.act = 0, at, act

    def __call__(self, tx: Connection) -> bool:
        self.n += 1
        if self.n == self.at:
            self.act()
        return True


@pytest.fixture
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs end after the second rater, each of whom has 20 ratings and is listed alone."""
    monkeypatch.setattr(monitoring_workflow, "RUN_LENGTH", 30)
    monkeypatch.setattr(monitoring_workflow, "RATERS_AT_ONCE", 1)


@pytest.mark.usefixtures("short_runs")
def test_figures_of_several_runs_are_those_of_one(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, cache, runs = open_monitored_campaign(platform), MonitoringCache(), Runs()
    for number in range(5):
        rate_items(platform, campaign, number, HASTY if number == 3 else Habit())
    assert refresh_snapshots(platform, cache, now=NOW, is_held=runs) == 1
    assert runs.n == 6  # Three runs, of which two store codes, and the check before figures are stored
    several, summaries = load_figures(platform), load_summaries(platform)
    monkeypatch.setattr(monitoring_workflow, "RUN_LENGTH", 100_000)
    assert several == recompute_figures(platform)
    assert summaries == load_summaries(platform)
    assert several.pool.n_ratings == 100


@pytest.mark.usefixtures("short_runs")
def test_a_refresh_goes_on_after_the_last_run_that_came_to_its_end(platform: Platform) -> None:
    def fail() -> None:
        raise NoDatabase("The database does not answer.")

    campaign, cache, runs = open_monitored_campaign(platform), MonitoringCache(), Runs()
    for number in range(5):
        rate_items(platform, campaign, number)
    with pytest.raises(NoDatabase):
        refresh_snapshots(platform, cache, now=NOW, is_held=Runs(5, fail))  # In the third run
    assert load_view(platform).snapshot is None
    assert refresh_snapshots(platform, cache, now=NOW, is_held=runs) == 1
    assert runs.n == 2  # One run, and the check before figures are stored
    resumed, summaries = load_figures(platform), load_summaries(platform)
    assert resumed == recompute_figures(platform)
    assert {position for position, _, _ in summaries} == {*range(N_ITEMS)}
    assert resumed.pool.n_ratings == 100


class Killed(BaseException):
    """End of the process."""


def kill() -> None:
    raise Killed


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("second_showing", [False, True])
def test_the_successor_of_a_killed_process_goes_on_from_the_codes_of_whole_runs(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, second_showing: bool
) -> None:
    monkeypatch.setattr(monitoring_store, "OVERLAP", 0)
    campaign = open_monitored_campaign(platform, replication=30)
    rater_ids = [rate_items(platform, campaign, number, STUBBORN) for number in range(6)]
    if second_showing:
        with platform.database.writing() as tx:
            repeat = update(AssignmentTable).where(AssignmentTable.rater_id == rater_ids[1])
            tx.execute(repeat.values(showing=2))
    with pytest.raises(Killed):
        refresh_snapshots(platform, MonitoringCache(), now=NOW, is_held=Runs(5, kill))  # Four raters are stored
    correct_last(platform, rater_ids[0])  # Stored
    correct_last(platform, rater_ids[5])  # Not read yet
    withdrawal.withdraw_rater(platform, rater_ids[3], now=LATER)
    with platform.database.reading() as tx:
        stored = {rater_id for rater_id, _, _ in monitoring_store.iterate_codes(tx, campaign.id)}
    assert stored == {rater_ids[0], rater_ids[1], rater_ids[2]}
    reopened = last_assignment(platform, rater_ids[2])
    with platform.database.writing() as tx:
        add_save(tx, reopened, "Yes", ms=9_000, at=LATER, revision=50)
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == reopened).values(state="skipped"))
    rate_items(platform, campaign, 6, STUBBORN)
    runs = Runs()
    assert refresh_snapshots(platform, MonitoringCache(), now=LATER, is_held=runs) == 1
    assert runs.n == 5  # Two raters, stored; the third one; two corrections; the check before figures are stored
    resumed, summaries = load_figures(platform), load_summaries(platform)
    with platform.database.writing() as tx:
        tx.execute(delete(MonitoringProgressTable))
    assert resumed == recompute_figures(platform)
    assert summaries == load_summaries(platform)
    n_first = 119 - 20 * second_showing  # Of six raters, one of whom skipped an item
    assert resumed.pool.answers == {"Q_safe": (n_first - 2, 2, 0)}


@pytest.mark.usefixtures("short_runs")
def test_stored_codes_follow_the_answers_from_process_to_process(platform: Platform) -> None:
    campaign = open_monitored_campaign(platform, replication=30)
    rater_ids: list[str] = []
    for number in range(6):
        rater_ids.append(rate_items(platform, campaign, number, at=NOW + timedelta(hours=number)))
        correct_last(platform, rater_ids[number // 2], revision=50 + number)
        refresh_snapshots(platform, MonitoringCache(), now=LATER)
    followed = load_figures(platform)
    with platform.database.reading() as tx:
        assert {rater_id for rater_id, _, _ in monitoring_store.iterate_codes(tx, campaign.id)} == {*rater_ids}
    withdrawal.withdraw_rater(platform, rater_ids[5], now=LATER)
    with platform.database.writing() as tx:
        tx.execute(update(MonitoringProgressTable).values(layout="of another version"))
    refresh_snapshots(platform, MonitoringCache(), now=LATER)
    anew = load_figures(platform)
    assert anew.pool.n_raters == followed.pool.n_raters - 1
    with platform.database.writing() as tx:
        tx.execute(delete(MonitoringProgressTable))
    assert anew == recompute_figures(platform)


@pytest.mark.usefixtures("short_runs")
def test_codes_of_a_process_that_lost_its_lease_are_replaced(platform: Platform) -> None:
    """Two processes store codes in turn, and a third one takes over from the last of them."""
    campaign, first, second = open_monitored_campaign(platform, replication=30), MonitoringCache(), MonitoringCache()
    rater_ids = [rate_items(platform, campaign, number, STUBBORN) for number in range(2)]
    refresh_snapshots(platform, first, now=NOW)
    for cache, pair in ((second, (2, 3)), (first, (4, 5)), (second, (6, 7))):
        rater_ids += [rate_items(platform, campaign, number, STUBBORN) for number in pair]
        correct_last(platform, rater_ids[0], revision=50 + len(rater_ids))
        refresh_snapshots(platform, cache, now=LATER)
    refresh_snapshots(platform, MonitoringCache(), now=LATER)
    assert load_figures(platform).pool.answers == {"Q_safe": (159, 1, 0)}


def spoil_codes(platform: Platform, campaign_id: str) -> None:
    """Give the codes of the first rater to all, and have figures computed from them."""
    with platform.database.writing() as tx:
        codes = list(monitoring_store.iterate_codes(tx, campaign_id))
        same = [(rater_id, showing, codes[0][2]) for rater_id, showing, _ in codes]
        assert same != codes
        encoded = [(rater_id, showing, monitoring_store.encode_codes(content)) for rater_id, showing, content in same]
        monitoring_store.replace_codes(tx, {rater_id for rater_id, _, _ in codes}, encoded)
        monitoring_store.delete_snapshot(tx, campaign_id)


def test_codes_are_deleted_of_one_campaign(platform: Platform) -> None:
    campaign = open_campaign(platform)
    campaigns.create_campaign(platform, definition("second"), items(1), staff_id=campaign.staff_id, now=NOW)
    second = campaigns.change_state(platform, "second", "open", staff_id=campaign.staff_id, now=NOW)
    arrivals = [Arrival(row.name, str(row.key), "en") for row in (campaign, second)]
    one, other = (enrolment.enrol_rater(platform, arrival, AGREED, now=NOW)[0].id for arrival in arrivals)
    with platform.database.writing() as tx:
        monitoring_store.replace_codes(tx, [one, other], [(one, 0, "AQ=="), (other, 0, "Ag==")])
        monitoring_store.delete_codes(tx, campaign.id)
        assert list(monitoring_store.iterate_codes(tx, campaign.id)) == []
        assert list(monitoring_store.iterate_codes(tx, second.id)) == [(other, 0, b"\x02")]


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("state", ["open", "closed"])
def test_an_audit_that_finds_wrong_figures_has_them_read_anew(
    platform: Platform, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """By the process that took the wrong codes over, and by its successor, which would take them over again."""
    monkeypatch.setattr(monitoring_store, "OVERLAP", 0)
    campaign, later = open_monitored_campaign(platform, replication=30), LATER + OLD
    for answer in ("Yes", "No"):
        rater = enter(platform, campaign.key)
        at = next_step.find_next_step(platform, rater, now=NOW)
        while at.stage == "rate":
            at = submit(platform, rater, at, f"{answer}-{at.progress.n_done}", answer)
    if state == "closed":
        campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=LATER)
    refresh_snapshots(platform, MonitoringCache(), now=later)
    right = load_figures(platform)
    assert audit.audit_campaign(platform, "pilot").compares_summaries
    for is_successor in (False, True):
        spoil_codes(platform, campaign.id)
        cache = MonitoringCache()
        refresh_snapshots(platform, cache, now=later)
        assert load_figures(platform) != right
        report = audit.audit_campaign(platform, "pilot")
        assert any("do not match the answers" in fault for fault in report.faults)
        refresh_snapshots(platform, MonitoringCache() if is_successor else cache, now=later)
        assert load_figures(platform) == right
        report = audit.audit_campaign(platform, "pilot")
        assert (report.faults, report.compares_summaries) == ((), True)


@pytest.mark.usefixtures("short_runs")
@pytest.mark.parametrize("is_successor", [False, True])
def test_codes_of_raters_who_no_longer_agree_are_deleted_by_the_next_refresh(
    platform: Platform, is_successor: bool
) -> None:
    campaign, cache = open_monitored_campaign(platform, replication=30), MonitoringCache()
    rater_ids = [rate_items(platform, campaign, number) for number in range(4)]
    refresh_snapshots(platform, cache, now=NOW)
    with platform.database.writing() as tx:
        tx.execute(update(ConsentTable).where(ConsentTable.rater_id == rater_ids[1]).values(agreed=False))
    refresh_snapshots(platform, MonitoringCache() if is_successor else cache, now=LATER)
    with platform.database.reading() as tx:
        stored = {rater_id for rater_id, _, _ in monitoring_store.iterate_codes(tx, campaign.id)}
    assert stored == {*rater_ids} - {rater_ids[1]}
    with platform.database.writing() as tx:
        tx.execute(update(ConsentTable).where(ConsentTable.rater_id == rater_ids[1]).values(agreed=True))
    refresh_snapshots(platform, cache, now=LATER)
    assert load_figures(platform) == recompute_figures(platform)
    assert load_figures(platform).pool.n_ratings == 80


@pytest.mark.usefixtures("short_runs")
def test_a_run_ends_after_a_window_of_raters(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring_workflow, "RATERS_AT_ONCE", 3)
    campaign, runs = open_monitored_campaign(platform), Runs()
    for number in range(5):
        rate_items(platform, campaign, number)
    assert refresh_snapshots(platform, MonitoringCache(), now=NOW, is_held=runs) == 1
    assert runs.n == 5  # Three raters, two raters, both stored, and the check before figures are stored
    assert load_figures(platform).pool.n_ratings == 100


def correct_last(platform: Platform, rater_id: str, *, revision: int = 50) -> None:
    with platform.database.writing() as tx:
        add_save(tx, last_assignment(platform, rater_id), "Unsure", ms=9_000, at=LATER, revision=revision)


@pytest.mark.usefixtures("short_runs")
def test_corrections_and_raters_between_runs_are_read_by_the_next_refresh(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform, replication=20), MonitoringCache()
    rater_ids = [rate_items(platform, campaign, number, STUBBORN) for number in range(5)]

    def change() -> None:
        """Correct an answer that was read and one that was not, and add a rater."""
        correct_last(platform, rater_ids[0])
        correct_last(platform, rater_ids[4])
        rate_items(platform, campaign, 5, STUBBORN)

    assert refresh_snapshots(platform, cache, now=NOW, is_held=Runs(5, change)) == 1
    assert load_figures(platform).pool.answers == {"Q_safe": (99, 1, 0)}
    assert refresh_snapshots(platform, cache, now=LATER) == 1
    followed, summaries = load_figures(platform), load_summaries(platform)
    assert followed == recompute_figures(platform)
    assert summaries == load_summaries(platform)
    assert followed.pool.answers == {"Q_safe": (118, 2, 0)}


@pytest.mark.usefixtures("short_runs")
def test_a_refresh_repeats_a_run_that_failed_after_some_of_its_batches(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitoring_workflow, "MAX_RATINGS_AT_ONCE", 20)  # A rater a batch, two a run
    campaign, cache = open_monitored_campaign(platform, replication=20), MonitoringCache()
    rater_ids = [rate_items(platform, campaign, number, STUBBORN) for number in range(5)]
    batches: list[str] = []

    def fail_in_second_run(*args: Any) -> None:
        """Fail in the second batch of the second run."""
        if "FROM assignment JOIN item" in args[2].replace("\n", " "):
            batches.append(args[2])
            if len(batches) == 4:
                raise NoDatabase("The database does not answer.")

    event.listen(platform.database.engine, "before_cursor_execute", fail_in_second_run)
    with pytest.raises(NoDatabase):
        refresh_snapshots(platform, cache, now=NOW)
    event.remove(platform.database.engine, "before_cursor_execute", fail_in_second_run)
    assert load_view(platform).snapshot is None
    correct_last(platform, rater_ids[0])
    correct_last(platform, rater_ids[2])  # Read by the run that failed
    withdrawal.withdraw_rater(platform, rater_ids[3], now=LATER)
    runs = Runs()
    assert refresh_snapshots(platform, cache, now=LATER, is_held=runs) == 1
    assert runs.n == 4  # Two raters, stored; the correction of another one; the check before figures are stored
    resumed, summaries = load_figures(platform), load_summaries(platform)
    assert resumed == recompute_figures(platform)
    assert summaries == load_summaries(platform)
    assert resumed.pool.answers == {"Q_safe": (78, 2, 0)}


def test_figures_of_another_process_are_not_overwritten(platform: Platform) -> None:
    """Another process stores figures with a correction after this one has read the answers without it."""
    rater_id = rate_items(platform, open_monitored_campaign(platform), 1, STUBBORN)

    def correct_and_refresh() -> None:
        correct_last(platform, rater_id)
        assert refresh_snapshots(platform, MonitoringCache(), now=LATER) == 1

    act_during(platform, "monitoring_snapshot", correct_and_refresh)
    assert load_figures(platform).pool.answers == {"Q_safe": (19, 1, 0)}


@pytest.mark.usefixtures("short_runs")
def test_answers_that_change_between_runs(platform: Platform) -> None:
    campaign, cache = open_monitored_campaign(platform, replication=20), MonitoringCache()
    rater_ids = [rate_items(platform, campaign, number) for number in range(5)]

    def change() -> None:
        """Withdraw a rater whose answers were read, correct one of another, and add a rater."""
        withdrawal.withdraw_rater(platform, rater_ids[0], now=LATER)
        correct_last(platform, rater_ids[1])
        rate_items(platform, campaign, 5)

    assert refresh_snapshots(platform, cache, now=NOW, is_held=Runs(5, change)) == 0
    assert load_view(platform).snapshot is None
    assert refresh_snapshots(platform, cache, now=LATER) == 1
    followed, summaries = load_figures(platform), load_summaries(platform)
    assert followed == recompute_figures(platform)
    assert summaries == load_summaries(platform)
    assert (followed.pool.n_raters, followed.pool.n_ratings) == (5, 100)


@pytest.mark.usefixtures("short_runs")
def test_a_refresh_whose_lease_is_lost_between_runs_ends(platform: Platform) -> None:
    campaign = open_monitored_campaign(platform)
    for number in range(3):
        rate_items(platform, campaign, number)
    with platform.database.writing() as tx:
        assert leases.acquire_lease(tx, "figures", "first", until=NOW, now=NOW)

    def lose() -> None:
        with platform.database.writing() as tx:
            assert leases.acquire_lease(tx, "figures", "second", until=LATER, now=NOW)

    runs = Runs(3, lose)  # Before the second run

    def is_held(tx: Connection) -> bool:
        return runs(tx) and leases.is_lease_held(tx, "figures", "first")

    with pytest.raises(Conflict, match="Another process holds the lease"):
        refresh_snapshots(platform, MonitoringCache(), now=LATER, is_held=is_held)
    assert runs.n == 3
    assert load_view(platform).snapshot is None


def test_a_refresh_whose_lease_is_lost_before_it_writes_stores_nothing(platform: Platform) -> None:
    campaign = open_monitored_campaign(platform)
    rate_items(platform, campaign, 1)
    held = iter([True, False])
    with pytest.raises(Conflict, match="Another process holds the lease"):
        refresh_snapshots(platform, MonitoringCache(), now=LATER, is_held=lambda tx: next(held))
    assert load_view(platform).snapshot is None
    with platform.database.reading() as tx:
        assert monitoring_store.load_item_summaries(tx, campaign.id) == {}


def test_strangers_cannot_see_the_monitoring(platform: Platform) -> None:
    open_monitored_campaign(platform)
    with pytest.raises(NotFound, match="There is no campaign 'pilot'"):
        load_monitoring(platform, "pilot", staff_id=owner(platform.database, "eve"), now=NOW)


def test_settled_gold_is_compared_with_the_crowd(platform: Platform) -> None:
    owner_id, experts = create_gold_campaign(platform)
    campaign, cache = campaigns.change_state(platform, "pilot", "open", staff_id=owner_id, now=NOW), MonitoringCache()
    rate_items(platform, campaign, 0, Habit(always="Yes"), attributes={})

    def refresh_gold() -> object:
        refresh_snapshots(platform, cache, now=LATER)
        return load_figures(platform).gold

    def decide(answers: dict[str, Any], reason: str, n_seen: int) -> None:
        adjudication.decide_gold(
            platform, "pilot", 0, {**answers, "reason": reason}, revision=n_seen, staff_id=owner_id, now=NOW
        )

    for expert, answers in zip(experts, (YES, YES, {"safety": "No"}), strict=True):
        label_item(platform, expert, answers)
        assert refresh_gold() is None
    decide({"safety": "No"}, "Nobody is hurt.", 0)
    assert refresh_gold() == ((0, 0, 1, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    decide({"safety": "Yes", "reasons": ["Unfair bias"]}, "Somebody is.", 1)
    assert refresh_gold() == ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0))
