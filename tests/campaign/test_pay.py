"""Pay: working time, amounts owed and accounts."""

from fractions import Fraction
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.campaign.answer_drafts import AnswerSave
from dissensus.campaign.pay import (
    HOUR_MS,
    MAX_VISIT_MS,
    RATING_ENDS,
    Pay,
    PayAccount,
    RatingEnd,
    compute_owed,
    settle_account,
    sum_accounts,
    worked_ms,
)
from dissensus.errors import InvalidInput

PAY = Pay(currency="GBP", hourly_rate=1200, finished=600, screened_out=50)


def save(visit: str, visible_ms: int, idle_ms: int = 0) -> AnswerSave:
    return AnswerSave(revision=1, visit=visit, visible_ms=visible_ms, idle_ms=idle_ms, answers={})


SAVES = st.lists(
    st.builds(save, st.sampled_from("abc"), st.integers(0, 3 * MAX_VISIT_MS), st.integers(0, 3 * MAX_VISIT_MS)),
    max_size=6,
)
PAYS = st.builds(
    Pay,
    currency=st.just("GBP"),
    hourly_rate=st.integers(0, 10**5),
    finished=st.integers(0, 10**5),
    screened_out=st.integers(0, 10**4),
)
TIMES, AMOUNTS, ENDS = st.integers(0, 10**9), st.integers(0, 10**7), st.sampled_from(RATING_ENDS)


def test_a_visit_counts_once_with_the_longest_time_worked() -> None:
    assert worked_ms([[save("a", 10_000), save("a", 90_000, 30_000), save("a", 50_000)]]) == 60_000


def test_visits_of_several_items_add_up_even_with_one_id() -> None:
    assert worked_ms([[save("a", 10_000)], [save("a", 10_000), save("b", 5_000)]]) == 25_000


def test_the_time_of_a_visit_is_limited() -> None:
    assert worked_ms([[save("a", 7 * 24 * HOUR_MS)]]) == MAX_VISIT_MS
    assert worked_ms([[save("a", 100), save("b", 7)]], ceiling_ms=10) == 17


def test_more_idle_than_visible_time_counts_as_zero() -> None:
    assert worked_ms([[save("a", 10, 20)]]) == 0
    assert worked_ms([]) == worked_ms([[]]) == 0


@quick
@given(SAVES, SAVES, st.randoms(use_true_random=False))
def test_order_and_repetition_of_saves_do_not_matter(
    first: list[AnswerSave], second: list[AnswerSave], random: Any
) -> None:
    mixed = [*first, *first]
    random.shuffle(mixed)
    assert worked_ms([mixed, second]) == worked_ms([first, second]) == worked_ms([first]) + worked_ms([second])


@quick
@given(SAVES, SAVES)
def test_a_further_save_never_reduces_the_time(saves: list[AnswerSave], more: list[AnswerSave]) -> None:
    assert worked_ms([saves]) <= worked_ms([[*saves, *more]]) <= worked_ms([saves]) + worked_ms([more])


@quick
@given(PAYS, TIMES, ENDS)
def test_the_amount_is_rounded_up_and_at_least_the_minimum(pay: Pay, time_ms: int, end: RatingEnd) -> None:
    steps = ceil(Fraction(time_ms, 5 * 60_000))
    exact = ceil(Fraction(steps * pay.hourly_rate, 12))
    least = {"finished": pay.finished, "screened_out": pay.screened_out, "left": 0}[end]
    assert compute_owed(pay, time_ms, end) == max(exact, least)


@quick
@given(PAYS, TIMES, TIMES, ENDS)
def test_more_time_is_never_paid_less(pay: Pay, time_ms: int, more: int, end: RatingEnd) -> None:
    assert compute_owed(pay, time_ms, end) <= compute_owed(pay, time_ms + more, end)


@quick
@given(PAYS, TIMES)
def test_raters_who_finish_fast_are_owed_the_minimum(pay: Pay, time_ms: int) -> None:
    assert compute_owed(pay, time_ms, "finished") >= pay.finished


@quick
@given(PAYS, TIMES, ENDS)
def test_partial_work_counts(pay: Pay, time_ms: int, end: RatingEnd) -> None:
    assert compute_owed(pay, time_ms) <= compute_owed(pay, time_ms, end)
    assert compute_owed(pay, time_ms) > 0 or time_ms == 0 or pay.hourly_rate == 0


def test_time_is_paid_in_steps_of_five_minutes() -> None:
    assert compute_owed(PAY, 1) == compute_owed(PAY, 300_000) == 100
    assert compute_owed(PAY, 300_001) == 200


def test_a_part_of_a_penny_is_rounded_up() -> None:
    assert compute_owed(Pay(currency="GBP", hourly_rate=1201), 1) == 101


ACCOUNTS = st.builds(settle_account, st.just(PAY), AMOUNTS, AMOUNTS)


@quick
@given(st.lists(ACCOUNTS, min_size=1, max_size=8))
def test_a_sum_adds_up_to_the_penny(accounts: list[PayAccount]) -> None:
    for account in [*accounts, sum_accounts(accounts)]:
        assert account.owed + account.overpaid == account.paid + account.due
        assert min(account.due, account.overpaid) >= 0
    assert sum_accounts(accounts).due == sum(max(0, account.owed - account.paid) for account in accounts)
    assert sum_accounts([sum_accounts(accounts[:1]), *accounts[1:]]) == sum_accounts(accounts)


def test_an_overpaid_amount_is_not_due() -> None:
    account = settle_account(PAY, 400, 600)
    assert (account.due, account.overpaid) == (0, 200)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"currency": "pounds"}, "'pounds' is not a currency code"),
        ({"hourly_rate": 12.5}, "hourly_rate (in minor units of GBP) is 12.5; give a whole number, 0 or more"),
        ({"hourly_rate": -1}, "hourly_rate (in minor units of GBP) is -1"),
        ({"finished": True}, "finished (in minor units of GBP) is True"),
    ],
)
def test_an_invalid_rate_is_rejected(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Pay(**{"currency": "GBP", "hourly_rate": 1200, **changes})
    assert message in str(error.value)


def test_invalid_amounts_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="'done' is not an end"):
        compute_owed(PAY, 1, "done")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="time_ms is -1"):
        compute_owed(PAY, -1)
    with pytest.raises(InvalidInput, match="paid is -1"):
        settle_account(PAY, 1, -1)


def test_a_sum_needs_one_currency() -> None:
    other = Pay(currency="USD", hourly_rate=1500)
    with pytest.raises(InvalidInput, match="Accounts are in 'GBP', 'USD'"):
        sum_accounts([settle_account(PAY, 1, 0), settle_account(other, 1, 0)])
    with pytest.raises(InvalidInput, match=r"There is no account to sum. Give at least one."):
        sum_accounts([])
