"""Items that raters see twice."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.support.campaigns import ABOUT_YOU, NOW, open_campaign
from tests.support.raters import enter, rate_all, submit

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings, validate
from dissensus.files.raw.table_reader import read_frame
from dissensus.pipeline.model import fit_model
from dissensus.pipeline.monitor import CampaignFigures
from dissensus.store import payments
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterRow
from dissensus.web.core.restrictions import restrict_monitoring
from dissensus.workflows.campaign import audit, monitoring
from dissensus.workflows.campaign.monitoring import MonitoringCache
from dissensus.workflows.export.ratings import export_ratings
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import next_step, rating, withdrawal

REPEAT = {"share": 0.5, "distance": 3}


def rate_in_turn(platform: Platform, rater: RaterRow, answers: list[str]) -> list[str]:
    """Rate all items, with the next of some answers each time, and return the items."""
    at, order = next_step.find_next_step(platform, rater, now=NOW), []
    while at.stage == "rate" and at.assignment is not None:
        order.append(at.assignment.item.item_id)
        at = submit(platform, rater, at, f"{rater.id[-12:]}-{len(order)}", answers[len(order) % len(answers)])
    return order


def test_a_share_of_items_is_shown_twice_at_the_distance(platform: Platform, tmp_path: Path) -> None:
    pay = {"currency": "EUR", "hourly_rate": 1200}
    campaign = open_campaign(platform, 12, repeat=REPEAT, pay=pay)
    rater, other = enter(platform, campaign.key), enter(platform, campaign.key)
    order = rate_all(platform, rater)
    twice = {name for name in order if order.count(name) == 2}
    assert (len(set(order)), len(order)) == (12, 12 + len(twice))
    assert 0 < len(twice) < 12
    assert all(len(order) - 1 - order[::-1].index(name) - order.index(name) > 3 for name in twice)
    rate_all(platform, other)
    with platform.database.reading() as tx:
        # An item that a rater saw twice has one rating of them, and was paid as two.
        assert set(tx.scalars(select(ItemTable.load))) == {2}
        work = {one.rater_id: one.n_rated for one in payments.load_work(tx, campaign.id)}
    assert work[rater.id] == len(order)
    export_ratings(platform, "pilot", tmp_path / "all.csv", now=NOW)
    frame = read_frame(tmp_path / "all.csv")
    assert set(frame["repeat"]) == {"1", "2"}
    ratings = read_ratings(tmp_path / "all.csv")
    assert (ratings.n_ratings, ratings.n_items) == (24, 12)
    assert any("second ratings of repeated items (repeat = 2) are left out" in note for note in ratings.notes)
    assert not validate(tmp_path / "all.csv").findings
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    with platform.database.reading() as tx:
        assert set(tx.scalars(select(ItemTable.load))) == {1}
        owned = select(func.count()).select_from(AssignmentTable).where(AssignmentTable.rater_id == rater.id)
        assert tx.scalar(owned) == 0
        n_done = select(func.count()).select_from(AssignmentTable).where(AssignmentTable.state == "done")
        assert tx.scalar(select(func.count()).select_from(SaveTable)) == tx.scalar(n_done)
    assert audit.audit_campaign(platform, "pilot").holds


def test_repeats_count_as_items_of_a_rater_and_not_of_the_replication(platform: Platform) -> None:
    campaign = open_campaign(platform, 30, repeat=REPEAT, replication=1, max_items=25)
    orders = [rate_all(platform, enter(platform, campaign.key)) for _ in range(2)]
    assert len(orders[0]) == 25
    assert len(set(orders[0])) < 25
    assert len(set(orders[0]) | set(orders[1])) == len(set(orders[0])) + len(set(orders[1])) == 30
    assert audit.audit_campaign(platform, "pilot").holds


def test_a_skipped_item_is_not_shown_again(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 12, repeat=REPEAT).key)
    at, skipped, rated = next_step.find_next_step(platform, rater, now=NOW), set[str](), list[str]()
    while at.stage == "rate" and at.assignment is not None:
        name = at.assignment.item.item_id
        assert name not in skipped
        if len(skipped) < 6:
            skipped.add(name)
            at = rating.skip_item(platform, rater, at.assignment.id, now=NOW)
        else:
            rated.append(name)
            at = submit(platform, rater, at, f"k{len(rated)}")
    assert len(set(rated)) == 6
    assert audit.audit_campaign(platform, "pilot").holds


def test_an_item_that_was_reported_after_its_submission_is_not_shown_again(platform: Platform) -> None:
    # Items are planned in batches of 20, so that second showings are planned after the reports too.
    key = open_campaign(platform, 30, repeat={"share": 0.5, "distance": 9}, replication=9, reports_to_withhold=9).key
    rater = enter(platform, key)
    at, reported, order = next_step.find_next_step(platform, rater, now=NOW), set[str](), list[str]()
    while at.stage == "rate" and at.assignment is not None:
        assert at.assignment.item.item_id not in reported
        order.append(at.assignment.item.item_id)
        assignment_id = at.assignment.id
        at = submit(platform, rater, at, f"k{len(order)}")
        if len(reported) < 8:
            reported.add(order[-1])
            rating.report_item(platform, rater, "illegal", "bad", assignment_id=assignment_id, now=NOW)
            at = next_step.find_next_step(platform, rater, now=NOW)
    assert len(set(order)) == 30 < len(order)
    assert audit.audit_campaign(platform, "pilot").holds


def test_a_campaign_without_repeats_has_no_column(platform: Platform, tmp_path: Path) -> None:
    rate_all(platform, enter(platform, open_campaign(platform, 3).key))
    export_ratings(platform, "pilot", tmp_path / "all.csv", now=NOW)
    assert "repeat" not in read_frame(tmp_path / "all.csv").columns


def load_figures(platform: Platform, campaign: CampaignRow) -> CampaignFigures:
    monitoring.refresh_snapshots(platform, MonitoringCache(), now=NOW)
    view = monitoring.load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    assert view.snapshot is not None
    return view.snapshot.figures


def test_consistency_is_that_of_both_answers_with_derivable_groups_left_out(platform: Platform, tmp_path: Path) -> None:
    campaign = open_campaign(platform, 10, repeat=REPEAT, demographics=ABOUT_YOU)
    equal = twice = 0
    for n in range(10):
        rater = enter(platform, campaign.key)
        order, answers = rate_in_turn(platform, rater, ["No", "No", "Yes"]), ["No", "No", "Yes"]
        rating.declare_attributes(platform, rater, {"rater_age": "old" if n % 2 else "young"}, now=NOW)
        pairs = [(name, answers[at % 3]) for at, name in enumerate(order, 1)]
        for name in {name for name in order if order.count(name) == 2}:
            first, second = (answer for item_id, answer in pairs if item_id == name)
            twice, equal = twice + 1, equal + (first == second)
    figures = load_figures(platform, campaign)
    assert figures.pool.n_ratings == 100  # first ratings alone
    assert figures.consistency is not None
    pool, groups = figures.consistency.pool, {one.group: one for one in figures.consistency.groups}
    assert (pool.n_raters, pool.n_repeats) == (10, twice)
    assert pool.share == pytest.approx(equal / twice)
    assert 0 < equal < twice
    assert None not in {groups["old"].share, groups["young"].share}
    assert sum(one.n_equal for one in figures.consistency.raters) == equal
    # Models of the export have the same repeated answers.
    export_ratings(platform, "pilot", tmp_path / "all.csv", now=NOW)
    formula = "Q_safe ~ (1 | rater_id) + (1 | item_id)"
    details = fit_model(read_ratings(tmp_path / "all.csv"), formula, details=True, draws=26).details
    assert details is not None
    assert details.belief.n_repeats == twice
    assert details.belief.consistency is not None
    # Four are too few, and their share would follow from that of the others.
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    left = load_figures(platform, campaign)
    assert left.consistency is not None
    assert [(one.n_raters, one.share) for one in left.consistency.groups] == [(5, None), (4, None)]
    view = monitoring.load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=NOW)
    restricted = restrict_monitoring(view, frozenset({"small-numbers"})).snapshot
    assert restricted is not None
    assert restricted.figures.consistency == replace(left.consistency, raters=())


def test_other_values_of_the_column_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item_id,rater_id,repeat,Q_overall\n1,a,1,No\n1,b,often,Yes\n")
    with pytest.raises(InvalidInput, match=r"Row 2: repeat is 'often'\. Write 1 for the first rating"):
        read_ratings(tmp_path / "a.csv")
