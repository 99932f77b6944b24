"""What raters are owed, and what was paid."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from tests.recruit.fake_prolific import Prolific
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW, definition, items, open_campaign, owner
from tests.support.pay import HOUR, assigned, history, ledger, staff_of, worker
from tests.support.raters import enter, rate_all
from tests.support.recruited_raters import CODES, PAY, PAYING, arrived

from dissensus.campaign.pay import MAX_VISIT_MS, settle_account, sum_accounts, worked_ms
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.campaign.definition import Pay
from dissensus.store import check_answers, payments
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.raters import RaterRow, RaterTable
from dissensus.store.recruits import RecruitTable
from dissensus.workflows.campaign import campaigns, pay, rehearsal
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import attention_checks, enrolment, rating, screening, withdrawal
from dissensus.workflows.rater.enrolment import Arrival
from dissensus.workflows.rater.journey import next_state

RATES = Pay(**PAY)  # type: ignore[arg-type]
MS = st.integers(0, 2 * MAX_VISIT_MS)
SAVES = st.lists(st.tuples(st.sampled_from(["a", "b"]), MS, MS), max_size=5)


def note(platform: Platform, rater: RaterRow, amount: int, payment_id: str) -> None:
    who = {"payment_id": payment_id, "staff_id": staff_of(platform)}
    pay.record_payment(platform, "pilot", rater.id, amount, **who, now=NOW)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.lists(SAVES, max_size=3), second=st.lists(SAVES, max_size=3))
def test_time_worked_in_sql_is_what_the_pure_function_counts(
    platform: Platform, first: list[list[tuple[str, int, int]]], second: list[list[tuple[str, int, int]]]
) -> None:
    name = f"p{uuid4().hex[:10]}"
    staff_id = owner(platform.database, name)
    campaigns.create_campaign(platform, definition(name, pay=PAY), items(3), staff_id=staff_id, now=NOW)
    key = campaigns.change_state(platform, name, "open", staff_id=staff_id, now=NOW).key
    pair = [enrolment.enrol_rater(platform, Arrival(name, str(key), "en"), AGREED, now=NOW)[0] for _ in range(2)]
    expected = [worked_ms(assigned(platform, rater, one)) for rater, one in zip(pair, (first, second), strict=True)]
    with platform.database.reading() as tx:
        assert [one.worked_ms for one in payments.load_work(tx, pair[0].campaign_id)] == expected
        (alone,) = payments.load_work(tx, pair[0].campaign_id, rater_ids=[pair[1].id])
    assert alone.worked_ms == expected[1]


def test_accounts_of_all_kinds_of_raters_and_their_sum(platform: Platform) -> None:
    kept = open_campaign(platform, 3, **PAYING)
    left, done, started = worker(platform, kept.key, HOUR), enter(platform, kept.key), enter(platform, kept.key)
    rate_all(platform, done)
    rehearsal.run_rehearsal(platform, "pilot", 1, staff_id=staff_of(platform), seed=0, now=NOW)
    note(platform, left, 200, str(uuid4()))
    note(platform, done, 650, str(uuid4()))
    found = ledger(platform)
    accounts = {paid.work.rater_id: paid.account for paid in found.raters}
    assert accounts == {
        left.id: settle_account(RATES, 1200, 200),
        done.id: settle_account(RATES, 600, 650),
        started.id: settle_account(RATES, 0, 0),
    }
    assert [paid.work.rater_id for paid in found.raters] == [left.id, done.id, started.id]
    assert found.total == sum_accounts(accounts.values())
    assert [paid.work.rater_id for paid in found.due] == [left.id]
    assert [paid.work.n_rated for paid in found.raters] == [0, 3, 0]


def test_what_prolific_paid_counts_and_who_was_turned_away_is_in_the_sum_alone(platform: Platform) -> None:
    prolific, kept = Prolific(), open_campaign(platform, 1, **PAYING)
    done = enter(platform, kept.key)
    rate_all(platform, done)
    arrived(platform, prolific, kept.id, done.id, "APPROVED")
    for status in ("SCREENED OUT", "RETURNED"):
        arrived(platform, prolific, kept.id, None, status)
    found = ledger(platform)
    assert [paid.account for paid in found.raters] == [settle_account(RATES, 600, 600)]
    assert found.n_away == 2
    assert found.away == sum_accounts([settle_account(RATES, 50, 50), settle_account(RATES, 50, 0)])
    assert found.total == sum_accounts([settle_account(RATES, 600, 600), settle_account(RATES, 100, 50)])
    assert history(platform, done).by_prolific == 600


def test_who_was_sent_away_as_a_rater_is_owed_what_is_promised_for_that(platform: Platform) -> None:
    rules = {"name": "rules", "kind": "comprehension", "text": "A?", "scale": ["A", "B"], "right": ["A"]}
    kept = open_campaign(platform, 1, **PAYING, replication=1, checks=[rules])
    done, late, unfit = (enter(platform, kept.key) for _ in range(3))
    for rater, value in ((done, "A"), (late, "A"), (unfit, "B"), (unfit, "B")):
        attempt = 1 + len(tries_of(platform, rater).get("rules", ()))
        attention_checks.answer_check(platform, rater, "rules", value, attempt=attempt, now=NOW)
    rate_all(platform, done)
    # Nothing was left for them.
    assert next_state(platform, late, now=NOW).stage == "done"
    assert [history(platform, one).paid.account.owed for one in (done, late, unfit)] == [600, 50, 50]
    assert {paid.work.rater_id: paid.account.owed for paid in ledger(platform).raters}[unfit.id] == 50
    note(platform, unfit, 50, str(uuid4()))
    withdrawal.withdraw_rater(platform, late.id, now=NOW)
    assert not history(platform, late).paid.work.had_finished


def tries_of(platform: Platform, rater: RaterRow) -> dict[str, list[str]]:
    with platform.database.reading() as tx:
        return check_answers.load_tries(tx, rater.id)


def test_who_may_still_be_turned_away_is_not_noted_as_paid(platform: Platform) -> None:
    one_old = {"axes": {"rater_age": {"old": ["old"]}}, "seats": 1, "rest": 20}
    kept = open_campaign(platform, 1, **PAYING, demographics=ABOUT_YOU, quota=one_old)
    first, second = enter(platform, kept.key), enter(platform, kept.key)
    rating.stop_rating(platform, second, now=NOW)
    with pytest.raises(Conflict, match="Rater 2 did nothing yet"):
        note(platform, second, 700, str(uuid4()))
    assert screening.screen_rater(platform, first, {"rater_age": "old"}, now=NOW) is not None
    assert screening.screen_rater(platform, second, {"rater_age": "old"}, now=NOW) is None


@pytest.mark.parametrize("finishes", [True, False])
def test_who_withdraws_keeps_their_account_and_nothing_else(platform: Platform, finishes: bool) -> None:
    kept = open_campaign(platform, 2, **PAYING)
    rater = enter(platform, kept.key) if finishes else worker(platform, kept.key, HOUR)
    if finishes:
        rate_all(platform, rater)
    arrived(platform, Prolific(), kept.id, rater.id, "APPROVED" if finishes else "ACTIVE")
    note(platform, rater, 30, str(uuid4()))
    before = history(platform, rater).paid.account
    assert (before.owed, before.paid) == ((600, 630) if finishes else (1200, 30))
    assert withdrawal.preview_withdrawal(platform, rater.id).paid
    for _ in range(2):
        withdrawal.withdraw_rater(platform, rater.id, now=NOW)
        found = history(platform, rater)
        assert found.paid.account == before
        assert (found.paid.work.state, found.paid.work.had_finished) == ("withdrawn", finishes)
    assert {(one.by, one.amount) for one in found.payments} == {("owner", 30), *([(None, 600)] if finishes else [])}
    with platform.database.reading() as tx:
        assert tx.execute(select(RecruitTable.submission)).all() == []
        assert tx.execute(select(SaveTable.number)).all() == []


def test_where_nothing_is_paid_no_time_is_kept_of_who_withdraws(platform: Platform) -> None:
    rater = worker(platform, open_campaign(platform, 1).key, HOUR)
    assert not withdrawal.preview_withdrawal(platform, rater.id).paid
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    with platform.database.reading() as tx:
        assert tx.execute(select(RaterTable.worked_ms, RaterTable.had_finished)).all() == [(None, None)]


def test_a_made_up_time_is_kept_as_far_as_a_column_goes(platform: Platform) -> None:
    rater = enter(platform, open_campaign(platform, 1, pay=PAY).key)
    assigned(platform, rater, [[(f"visit {n}", MAX_VISIT_MS, 0) for n in range(600)]])
    assert history(platform, rater).paid.work.worked_ms == 600 * MAX_VISIT_MS
    withdrawal.withdraw_rater(platform, rater.id, now=NOW)
    assert history(platform, rater).paid.work.worked_ms == 2**31 - 1


def test_a_form_sent_twice_is_one_payment_and_a_mistake_stays_beside_what_takes_it_back(platform: Platform) -> None:
    rater = worker(platform, open_campaign(platform, 1, **PAYING).key, HOUR)
    first, second = str(uuid4()), str(uuid4())
    for payment_id in (first, first, second):
        note(platform, rater, 700, payment_id)
    assert history(platform, rater).paid.account == settle_account(RATES, 1200, 1400)
    for _ in range(2):
        pay.reverse_payment(platform, "pilot", rater.id, second, staff_id=staff_of(platform), now=NOW)
    found = history(platform, rater)
    assert found.paid.account == settle_account(RATES, 1200, 700)
    assert sorted(one.amount for one in found.payments) == [-700, 700, 700]
    assert found.taken_back == {second}
    assert {one.by for one in found.payments} == {"owner"}


def test_a_form_sent_many_times_at_once_is_one_payment(platform: Platform) -> None:
    rater, payment_id = worker(platform, open_campaign(platform, 1, **PAYING).key, HOUR), str(uuid4())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: note(platform, rater, 700, payment_id), range(8)))
    assert [one.amount for one in history(platform, rater).payments] == [700]


def test_payments_that_cannot_be_are_refused(platform: Platform) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    rater, other, idle = worker(platform, kept.key, HOUR), worker(platform, kept.key, HOUR), enter(platform, kept.key)
    payment_id = str(uuid4())
    note(platform, rater, 700, payment_id)
    for to, amount in ((rater, 701), (other, 700)):
        with pytest.raises(Conflict, match="has noted another payment already"):
            note(platform, to, amount, payment_id)
    with pytest.raises(Conflict, match="Rater 3 did nothing yet"):
        note(platform, idle, 700, str(uuid4()))
    with pytest.raises(InvalidInput, match="lost its number"):
        note(platform, rater, 700, "x")
    for wrong in (payment_id, str(uuid4()), "x"):
        with pytest.raises(NotFound, match="no such payment"):
            pay.reverse_payment(platform, "pilot", other.id, wrong, staff_id=staff_of(platform), now=NOW)
    assert [paid.account.paid for paid in ledger(platform).raters if paid.work.rater_id != rater.id] == [0, 0]


def test_a_rater_of_another_campaign_or_of_a_preview_has_no_account_here(platform: Platform) -> None:
    kept = open_campaign(platform, 1, **PAYING)
    staff_id = staff_of(platform)
    campaigns.create_campaign(platform, definition("other", **PAYING), items(1), staff_id=staff_id, now=NOW)
    for rater in (worker(platform, kept.key, HOUR), enter(platform, kept.key, rehearsal=True)):
        name = "pilot" if rater.rehearsal else "other"
        with pytest.raises(NotFound, match=f"{name} has no rater"):
            pay.load_history(platform, name, rater.id, staff_id=staff_id)


def test_a_campaign_that_neither_pays_nor_recruits_says_what_to_write(platform: Platform) -> None:
    open_campaign(platform, 1)
    with pytest.raises(NotFound, match=r"Write \[pay\] into its definition"):
        ledger(platform)


def test_a_campaign_that_recruits_and_says_nothing_of_pay_has_no_accounts(platform: Platform) -> None:
    kept = open_campaign(platform, 1, prolific=CODES)
    rater = worker(platform, kept.key, HOUR)
    arrived(platform, Prolific(), kept.id, None, "SCREENED OUT")
    found = ledger(platform)
    assert (found.pay, found.raters, found.total, found.n_away, found.away) == (None, (), None, 1, None)
    with pytest.raises(NotFound, match=r"has no \[pay\]"):
        history(platform, rater)


def test_pay_can_become_more_after_raters_came_and_never_less(platform: Platform) -> None:
    open_campaign(platform, 1, pay=PAY)
    staff_id = staff_of(platform)
    campaigns.change_state(platform, "pilot", "paused", staff_id=staff_id, now=NOW)
    worse = [{**PAY, "hour": 1199}, {**PAY, "finished": 0}, {**PAY, "currency": "EUR"}]
    changed: list[dict[str, Any]] = [*({"pay": one} for one in worse), {}]
    for changes in changed:
        with pytest.raises(Conflict, match="pay cannot become less"):
            campaigns.revise_campaign(platform, "pilot", definition(**changes), staff_id=staff_id, now=NOW)
    more = definition(pay={**PAY, "hour": 1300})
    campaigns.revise_campaign(platform, "pilot", more, staff_id=staff_id, now=NOW)
    assert ledger(platform).pay == more.pay


def test_the_table_has_all_raters_and_no_id_of_elsewhere(platform: Platform) -> None:
    prolific, kept = Prolific(), open_campaign(platform, 1, **PAYING)
    rater = worker(platform, kept.key, HOUR + 1)
    submission = arrived(platform, prolific, kept.id, rater.id, "APPROVED")
    table = pay.export_ledger_csv(platform, "pilot", staff_id=staff_of(platform))
    assert pl.read_csv(table, infer_schema=False).rows(named=True) == [
        {
            "rater_id": rater.id,
            "worked_ms": "3600000",
            "currency": "GBP",
            "owed": "12.00",
            "paid": "6.00",
            "due": "6.00",
        }
    ]
    assert submission.encode() not in table
    assert prolific.submissions[submission]["participant_id"].encode() not in table
