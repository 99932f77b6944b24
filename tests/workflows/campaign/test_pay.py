"""Amounts owed to raters, and payments."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from tests.support.campaigns import ABOUT_YOU, NOW, definition, items, open_campaign
from tests.support.pay import HOUR, add_work, history, ledger, staff_of, worker
from tests.support.prolific_server import Prolific
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CODES, PAY, PAYING, add_submission

from dissensus.campaign.pay import MAX_VISIT_MS, settle_account, sum_accounts, worked_ms
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.campaign.definition import Pay
from dissensus.store import check_answers, payments
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.campaigns import CampaignTable
from dissensus.store.raters import RaterRow, RaterTable
from dissensus.store.recruits import RecruitTable
from dissensus.workflows.campaign import campaigns, pay, rehearsal
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, quota_screening, rating, withdrawal
from dissensus.workflows.rater.next_step import find_next_step

RATES = Pay(**PAY)  # type: ignore[arg-type]
MS = st.integers(0, 2 * MAX_VISIT_MS)
SAVES = st.lists(st.tuples(st.sampled_from(["a", "b"]), MS, MS), max_size=5)


def record_payment(platform: Platform, rater: RaterRow, amount: int, payment_id: str) -> None:
    by = {"payment_id": payment_id, "staff_id": staff_of(platform)}
    pay.record_payment(platform, "pilot", rater.id, amount, **by, now=NOW)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(SAVES, max_size=3), second=st.lists(SAVES, max_size=3))
def test_time_worked_in_sql_equals_the_pure_function(
    platform: Platform, first: list[list[tuple[str, int, int]]], second: list[list[tuple[str, int, int]]]
) -> None:
    key = find_or_open_campaign(platform)
    pair = [enter(platform, key) for _ in range(2)]
    expected = [worked_ms(add_work(platform, rater, one)) for rater, one in zip(pair, (first, second), strict=True)]
    with platform.database.reading() as tx:
        # Raters of earlier examples come before.
        assert [one.worked_ms for one in payments.load_work(tx, pair[0].campaign_id)][-2:] == expected
        (alone,) = payments.load_work(tx, pair[0].campaign_id, rater_ids=[pair[1].id])
    assert alone.worked_ms == expected[1]


def find_or_open_campaign(platform: Platform) -> str:
    """Return the key of the campaign, which all examples share."""
    with platform.database.reading() as tx:
        key = tx.scalar(select(CampaignTable.key))
    return key or str(open_campaign(platform, 3, pay=PAY).key)


def test_accounts_of_all_kinds_of_raters_and_their_sum(platform: Platform) -> None:
    campaign = open_campaign(platform, 3, **PAYING)
    unfinished, done, started = (
        worker(platform, campaign.key, HOUR),
        enter(platform, campaign.key),
        enter(platform, campaign.key),
    )
    rate_all(platform, done)
    rehearsal.run_rehearsal(platform, "pilot", 1, staff_id=staff_of(platform), seed=0, now=NOW)
    record_payment(platform, unfinished, 200, str(uuid4()))
    record_payment(platform, done, 650, str(uuid4()))
    pay_ledger = ledger(platform)
    accounts = {paid.work.rater_id: paid.account for paid in pay_ledger.raters}
    assert accounts == {
        unfinished.id: settle_account(RATES, 1200, 200),
        done.id: settle_account(RATES, 600, 650),
        started.id: settle_account(RATES, 0, 0),
    }
    assert [paid.work.rater_id for paid in pay_ledger.raters] == [unfinished.id, done.id, started.id]
    assert pay_ledger.total == sum_accounts(accounts.values())
    assert [paid.work.rater_id for paid in pay_ledger.due] == [unfinished.id]
    assert [paid.work.n_rated for paid in pay_ledger.raters] == [0, 3, 0]


def test_rewards_count_as_paid_and_screened_out_people_only_in_the_total(platform: Platform) -> None:
    prolific, campaign = Prolific(), open_campaign(platform, 1, **PAYING)
    done = enter(platform, campaign.key)
    rate_all(platform, done)
    add_submission(platform, prolific, campaign.id, done.id, "APPROVED")
    for status in ("SCREENED OUT", "RETURNED"):
        add_submission(platform, prolific, campaign.id, None, status)
    pay_ledger = ledger(platform)
    assert [paid.account for paid in pay_ledger.raters] == [settle_account(RATES, 600, 600)]
    assert pay_ledger.n_screened_out == 2
    assert pay_ledger.screened_out_account == sum_accounts(
        [settle_account(RATES, 50, 50), settle_account(RATES, 50, 0)]
    )
    assert pay_ledger.total == sum_accounts([settle_account(RATES, 600, 600), settle_account(RATES, 100, 50)])
    assert history(platform, done).paid_by_prolific == 600


def test_raters_without_items_or_failing_checks_are_owed_the_screened_out_pay(platform: Platform) -> None:
    rules = {"name": "rules", "kind": "comprehension", "text": "A?", "scale": ["A", "B"], "correct_answers": ["A"]}
    campaign = open_campaign(platform, 1, **PAYING, replication=1, checks=[rules])
    done, late, unfit = (enter(platform, campaign.key) for _ in range(3))
    for rater, value in ((done, "A"), (late, "A"), (unfit, "B"), (unfit, "B")):
        attempt = 1 + len(tries_of(platform, rater).get("rules", ()))
        attention_checks.answer_check(platform, rater, "rules", value, attempt=attempt, now=NOW)
    rate_all(platform, done)
    # No items were left for this rater.
    assert find_next_step(platform, late, now=NOW).stage == "done"
    assert [history(platform, one).rater.account.owed for one in (done, late, unfit)] == [600, 50, 50]
    assert {paid.work.rater_id: paid.account.owed for paid in ledger(platform).raters}[unfit.id] == 50
    record_payment(platform, unfit, 50, str(uuid4()))
    total = ledger(platform).total
    for _ in range(2):
        for rater in (done, late, unfit):
            withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    # Whoever withdraws is still paid.
    accounts = [history(platform, rater).rater for rater in (done, late, unfit)]
    assert [rater.account.owed for rater in accounts] == [600, 50, 50]
    assert [rater.work.rating_end for rater in accounts] == ["finished", "screened_out", "screened_out"]
    assert ledger(platform).total == total


def tries_of(platform: Platform, rater: RaterRow) -> dict[str, list[str]]:
    with platform.database.reading() as tx:
        return check_answers.load_attempts(tx, rater.id)


def test_raters_who_can_still_be_screened_out_cannot_be_paid(platform: Platform) -> None:
    one_old = {"axes": {"rater_age": {"old": ["old"]}}, "seats": 1, "rest": 20}
    campaign = open_campaign(platform, 1, **PAYING, demographics=ABOUT_YOU, quota=one_old)
    first, second = enter(platform, campaign.key), enter(platform, campaign.key)
    rating.stop_rating(platform, second, now=NOW)
    with pytest.raises(Conflict, match="Rater 2 has not started yet"):
        record_payment(platform, second, 700, str(uuid4()))
    assert quota_screening.screen_rater(platform, first, {"rater_age": "old"}, now=NOW) is not None
    assert quota_screening.screen_rater(platform, second, {"rater_age": "old"}, now=NOW) is None


@pytest.mark.parametrize("finishes", [True, False])
def test_a_withdrawal_keeps_the_account_and_nothing_else(platform: Platform, finishes: bool) -> None:
    campaign = open_campaign(platform, 2, **PAYING)
    rater = enter(platform, campaign.key) if finishes else worker(platform, campaign.key, HOUR)
    if finishes:
        rate_all(platform, rater)
    add_submission(platform, Prolific(), campaign.id, rater.id, "APPROVED" if finishes else "ACTIVE")
    record_payment(platform, rater, 30, str(uuid4()))
    before = history(platform, rater).rater.account
    assert (before.owed, before.paid) == ((600, 630) if finishes else (1200, 30))
    assert withdrawal.preview_withdrawal(platform, rater.id).paid
    for _ in range(2):
        withdrawal.withdraw_rater(platform, rater.id, now=NOW)
        pay_history = history(platform, rater)
        assert pay_history.rater.account == before
        assert pay_history.rater.work.state == "withdrawn"
        assert pay_history.rater.work.rating_end == ("finished" if finishes else "left")
    assert {(one.by, one.amount) for one in pay_history.payments} == {
        ("owner", 30),
        *([(None, 600)] if finishes else []),
    }
    with platform.database.reading() as tx:
        assert tx.execute(select(RecruitTable.submission)).all() == []
        assert tx.execute(select(SaveTable.number)).all() == []


def test_without_pay_a_withdrawal_erases_the_time_worked(platform: Platform) -> None:
    rater = worker(platform, open_campaign(platform, 1).key, HOUR)
    assert not withdrawal.preview_withdrawal(platform, rater.id).paid
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    with platform.database.reading() as tx:
        assert tx.execute(select(RaterTable.worked_ms, RaterTable.rating_end)).all() == [(None, None)]


def test_an_implausible_time_is_capped_at_the_column_maximum(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 1, pay=PAY).key)
    add_work(platform, rater, [[(f"visit {n}", MAX_VISIT_MS, 0) for n in range(600)]])
    assert history(platform, rater).rater.work.worked_ms == 600 * MAX_VISIT_MS
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert history(platform, rater).rater.work.worked_ms == 2**31 - 1


def test_a_repeated_form_is_one_payment_and_a_reversal_is_a_second_entry(platform: Platform) -> None:
    rater = worker(platform, open_campaign(platform, 1, **PAYING).key, HOUR)
    first, second = str(uuid4()), str(uuid4())
    for payment_id in (first, first, second):
        record_payment(platform, rater, 700, payment_id)
    assert history(platform, rater).rater.account == settle_account(RATES, 1200, 1400)
    for _ in range(2):
        pay.reverse_payment(platform, "pilot", rater.id, second, staff_id=staff_of(platform), now=NOW)
    pay_history = history(platform, rater)
    assert pay_history.rater.account == settle_account(RATES, 1200, 700)
    assert sorted(one.amount for one in pay_history.payments) == [-700, 700, 700]
    assert pay_history.reversed_ids == {second}
    assert {one.by for one in pay_history.payments} == {"owner"}


def test_concurrent_submissions_of_a_form_are_one_payment(platform: Platform) -> None:
    rater, payment_id = worker(platform, open_campaign(platform, 1, **PAYING).key, HOUR), str(uuid4())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: record_payment(platform, rater, 700, payment_id), range(8)))
    assert [one.amount for one in history(platform, rater).payments] == [700]


def test_invalid_payments_are_refused(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    rater, other, idle = (
        worker(platform, campaign.key, HOUR),
        worker(platform, campaign.key, HOUR),
        enter(platform, campaign.key),
    )
    payment_id = str(uuid4())
    record_payment(platform, rater, 700, payment_id)
    for recipient, amount in ((rater, 701), (other, 700)):
        with pytest.raises(Conflict, match="was already used for another payment"):
            record_payment(platform, recipient, amount, payment_id)
    with pytest.raises(Conflict, match="Rater 3 has not started yet"):
        record_payment(platform, idle, 700, str(uuid4()))
    with pytest.raises(InvalidInput, match="no valid id"):
        record_payment(platform, rater, 700, "x")
    for payment in (payment_id, str(uuid4()), "x"):
        with pytest.raises(NotFound, match="no such payment"):
            pay.reverse_payment(platform, "pilot", other.id, payment, staff_id=staff_of(platform), now=NOW)
    assert [paid.account.paid for paid in ledger(platform).raters if paid.work.rater_id != rater.id] == [0, 0]


def test_raters_of_other_campaigns_and_previews_have_no_account(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, **PAYING)
    staff_id = staff_of(platform)
    campaigns.create_campaign(platform, definition("other", **PAYING), items(1), staff_id=staff_id, now=NOW)
    for rater in (worker(platform, campaign.key, HOUR), enter(platform, campaign.key, rehearsal=True)):
        name = "pilot" if rater.rehearsal else "other"
        with pytest.raises(NotFound, match=f"{name} has no rater"):
            pay.load_history(platform, name, rater.id, staff_id=staff_id)


def test_the_ledger_without_pay_names_the_missing_section(platform: Platform) -> None:
    open_campaign(platform, 1)
    with pytest.raises(NotFound, match=r"Add to its definition \[pay\], with currency and hourly_rate"):
        ledger(platform)


def test_a_recruiting_campaign_without_pay_has_no_accounts(platform: Platform) -> None:
    campaign = open_campaign(platform, 1, recruit=CODES)
    rater = worker(platform, campaign.key, HOUR)
    add_submission(platform, Prolific(), campaign.id, None, "SCREENED OUT")
    pay_ledger = ledger(platform)
    assert (
        pay_ledger.pay,
        pay_ledger.raters,
        pay_ledger.total,
        pay_ledger.n_screened_out,
        pay_ledger.screened_out_account,
    ) == (
        None,
        (),
        None,
        1,
        None,
    )
    with pytest.raises(NotFound, match=r"has no \[pay\]"):
        history(platform, rater)


def test_pay_can_increase_and_never_decrease_after_raters_came(platform: Platform) -> None:
    open_campaign(platform, 1, pay=PAY)
    staff_id = staff_of(platform)
    campaigns.change_state(platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    worse = [{**PAY, "hourly_rate": 1199}, {**PAY, "finished": 0}, {**PAY, "currency": "EUR"}]
    refused_changes: list[dict[str, Any]] = [*({"pay": one} for one in worse), {}]
    for changes in refused_changes:
        with pytest.raises(Conflict, match="pay cannot be reduced"):
            campaigns.revise_campaign(platform, "pilot", definition(**changes), staff_id=staff_id, now=NOW)
    more = definition(pay={**PAY, "hourly_rate": 1300})
    campaigns.revise_campaign(platform, "pilot", more, staff_id=staff_id, now=NOW)
    assert ledger(platform).pay == more.pay


def test_the_exported_ledger_has_all_raters_and_no_external_ids(platform: Platform) -> None:
    prolific, campaign = Prolific(), open_campaign(platform, 1, **PAYING)
    rater = worker(platform, campaign.key, HOUR + 1)
    submission = add_submission(platform, prolific, campaign.id, rater.id, "APPROVED")
    table = pay.export_ledger_csv(platform, "pilot", staff_id=staff_of(platform))
    assert pl.read_csv(table, infer_schema=False).rows(named=True) == [
        {
            "rater_id": rater.id,
            "paid_minutes": "60",
            "currency": "GBP",
            "owed": "12.00",
            "paid": "6.00",
            "due": "6.00",
        }
    ]
    assert submission.encode() not in table
    assert prolific.submissions[submission]["participant_id"].encode() not in table
