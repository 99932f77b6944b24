"""Corrections of submitted answers."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.support.campaigns import NOW, open_campaign
from tests.support.raters import enter, make_save, rate_all, submit

from dissensus.errors import Conflict, NotAllowed, NotFound
from dissensus.files.raw.table_reader import read_frame
from dissensus.store import payments
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.audit_log import EventTable
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign import audit, campaigns, monitoring
from dissensus.workflows.campaign.monitoring import MonitoringCache
from dissensus.workflows.export.ratings import export_ratings
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import corrections, next_step, rating, withdrawal

LATER = NOW + timedelta(hours=2)


def newest(platform: Platform, rater: RaterRow) -> str:
    return corrections.list_submitted_items(platform, rater, now=LATER).items[0].assignment.id


def correct(platform: Platform, rater: RaterRow, assignment_id: str, answer: str = "Yes", *, key: str = "new") -> None:
    save = replace(make_save(answer, revision=2, visible_ms=700), visit="correction")
    rating.submit_answers(platform, rater, assignment_id, key, save, now=LATER)


def draft(platform: Platform, rater: RaterRow, assignment_id: str, *, key: str = "draft") -> None:
    save = replace(make_save("Yes", revision=2), visit="correction")
    rating.save_answers(platform, rater, assignment_id, key, save, now=LATER)


def test_a_correction_supersedes_and_keeps_the_first_times(platform: Platform, tmp_path: Path) -> None:
    campaign = open_campaign(platform, 2)
    rater = enter(platform, campaign.key)
    rate_all(platform, rater)
    export_ratings(platform, "pilot", tmp_path / "before.csv", now=NOW)
    assert "corrected_at" not in read_frame(tmp_path / "before.csv").columns
    assignment_id = newest(platform, rater)
    state = corrections.load_correction(platform, rater, assignment_id, now=LATER)
    assert (state.answers["Q_safe"].value, state.revision) == ("No", 1)
    for _ in range(2):
        correct(platform, rater, assignment_id)  # sent twice, it is stored once
    corrected = corrections.list_submitted_items(platform, rater, now=LATER).items[0]
    assert (corrected.submitted_at, corrected.corrected_at, corrected.has_draft) == (NOW, LATER, False)
    export_ratings(platform, "pilot", tmp_path / "after.csv", now=LATER)
    item_id = corrected.assignment.item.item_id
    rows = {row["item_id"]: row for row in read_frame(tmp_path / "after.csv").iter_rows(named=True)}
    row, other = rows.pop(item_id), next(iter(rows.values()))
    assert (row["Q_safe"], row["answer_time_ms"], row["correction_time_ms"]) == ("Yes", "1000", "700")
    assert (row["answer_timestamp"], row["corrected_at"]) == ("2026-03-01T12:00:00.000Z", "2026-03-01T14:00:00.000Z")
    assert (other["Q_safe"], other["corrected_at"]) == ("No", None)
    with platform.database.reading() as tx:
        assert len(tx.scalars(select(SaveTable.number).where(SaveTable.assignment_id == assignment_id)).all()) == 2
        assert list(tx.scalars(select(EventTable.kind))).count("item_corrected") == 1
    assert audit.audit_campaign(platform, "pilot").holds


def test_figures_have_the_correction_and_the_first_time(platform: Platform) -> None:
    rater = enter(platform, (campaign := open_campaign(platform, 1)).key)
    rate_all(platform, rater)
    cache = MonitoringCache()
    monitoring.refresh_snapshots(platform, cache, now=NOW)
    correct(platform, rater, newest(platform, rater))
    monitoring.refresh_snapshots(platform, cache, now=LATER)
    view = monitoring.load_monitoring(platform, "pilot", staff_id=campaign.staff_id, now=LATER)
    assert view.snapshot is not None
    pool = view.snapshot.figures.pool
    assert (pool.answers["Q_safe"], pool.n_ratings) == ((0, 0, 1), 1)
    assert pool.times is not None
    assert pool.times.median == 1000


def test_a_draft_of_a_correction_counts_once_it_is_submitted(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 1).key)
    rate_all(platform, rater)
    assignment_id = newest(platform, rater)
    draft(platform, rater, assignment_id)
    (item,) = corrections.list_submitted_items(platform, rater, now=LATER).items
    assert (item.has_draft, item.corrected_at) == (True, None)
    assert corrections.load_correction(platform, rater, assignment_id, now=LATER).answers["Q_safe"].value == "Yes"


def test_the_list_is_paged_from_the_newest(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 25).key)
    order = rate_all(platform, rater)
    first = corrections.list_submitted_items(platform, rater, now=NOW)
    second = corrections.list_submitted_items(platform, rater, before=first.older, now=NOW)
    listed = [item.assignment.item.item_id for item in (*first.items, *second.items)]
    assert (listed, len(first.items), second.older) == (order[::-1], 20, None)


def test_a_payment_that_was_reversed_permits_corrections(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, pay={"currency": "EUR", "hourly_rate": 1200})
    rater = enter(platform, campaign.key)
    rate_all(platform, rater)
    with platform.database.writing() as tx:
        payments.add_payment(tx, rater.id, 100, staff_id=campaign.staff_id, now=NOW)
        payments.add_payment(tx, rater.id, -100, staff_id=campaign.staff_id, now=NOW)
    correct(platform, rater, newest(platform, rater))


def test_nothing_is_corrected_after_close_payment_or_withdrawal(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, pay={"currency": "EUR", "hourly_rate": 1200})
    paid, rater = enter(platform, campaign.key), enter(platform, campaign.key)
    for one in (paid, rater):
        rate_all(platform, one)
    with platform.database.writing() as tx:
        payments.add_payment(tx, paid.id, 100, staff_id=campaign.staff_id, now=NOW)
    with pytest.raises(Conflict, match="paid or decided on"):
        correct(platform, paid, newest(platform, paid))
    with pytest.raises(Conflict, match="paid or decided on"):
        draft(platform, paid, newest(platform, paid))
    assignment_id = newest(platform, rater)
    correct(platform, rater, assignment_id)
    draft(platform, rater, assignment_id, key="draft")
    campaigns.change_state(platform, "pilot", "closed", staff_id=campaign.staff_id, now=NOW)
    correct(platform, rater, assignment_id)  # sent again, since the reply was lost
    draft(platform, rater, assignment_id, key="draft")
    with pytest.raises(Conflict, match="closed"):
        draft(platform, rater, assignment_id, key="late")
    with pytest.raises(Conflict, match=r"The campaign is closed\. Submitted answers can be corrected while it is open"):
        correct(platform, rater, assignment_id, "No", key="late")
    assert "closed" in str(corrections.list_submitted_items(platform, rater, now=LATER).refusal)
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    with pytest.raises(NotAllowed, match="You have withdrawn"):
        correct(platform, rater, assignment_id, "No", key="last")
    with pytest.raises(NotAllowed, match="You have withdrawn"):
        corrections.list_submitted_items(platform, rater, now=LATER)


def test_reported_items_and_those_of_others_are_not_shown(platform: Platform) -> None:
    campaign = open_campaign(platform, 2)
    rater, other = enter(platform, campaign.key), enter(platform, campaign.key)
    state = next_step.find_next_step(platform, rater, now=NOW)
    assert state.assignment is not None
    with pytest.raises(NotFound, match="You have submitted no such item"):
        corrections.load_correction(platform, rater, state.assignment.id, now=NOW)
    submit(platform, rater, state, "one")
    with pytest.raises(NotFound, match="You have submitted no such item"):
        corrections.load_correction(platform, other, state.assignment.id, now=NOW)
    rating.report_item(platform, rater, "illegal", "bad", assignment_id=state.assignment.id, now=NOW)
    with pytest.raises(Conflict, match="not shown any more"):
        corrections.load_correction(platform, rater, state.assignment.id, now=NOW)
    for change in (draft, correct):
        with pytest.raises(Conflict, match="not shown any more"):
            change(platform, rater, state.assignment.id)
