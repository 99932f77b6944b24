"""Pay: time counts once and never less for being fast, and sums add up."""

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

PAY = Pay(currency="GBP", hour=1200, finished=600, screened_out=50)


def save(visit: str, visible_ms: int, idle_ms: int = 0) -> AnswerSave:
    return AnswerSave(revision=1, visit=visit, visible_ms=visible_ms, idle_ms=idle_ms, answers={})


SAVES = st.lists(
    st.builds(save, st.sampled_from("abc"), st.integers(0, 3 * MAX_VISIT_MS), st.integers(0, 3 * MAX_VISIT_MS)),
    max_size=6,
)
PAYS = st.builds(
    Pay,
    currency=st.just("GBP"),
    hour=st.integers(0, 10**5),
    finished=st.integers(0, 10**5),
    screened_out=st.integers(0, 10**4),
)
TIMES, AMOUNTS, HOW = st.integers(0, 10**9), st.integers(0, 10**7), st.sampled_from(RATING_ENDS)


def test_a_visit_counts_once_with_the_longest_time_worked() -> None:
    assert worked_ms([[save("a", 10_000), save("a", 90_000, 30_000), save("a", 50_000)]]) == 60_000


def test_visits_of_several_items_add_up_even_under_one_name() -> None:
    assert worked_ms([[save("a", 10_000)], [save("a", 10_000), save("b", 5_000)]]) == 25_000


def test_a_clock_that_went_wrong_counts_up_to_the_ceiling() -> None:
    assert worked_ms([[save("a", 7 * 24 * HOUR_MS)]]) == MAX_VISIT_MS
    assert worked_ms([[save("a", 100), save("b", 7)]], ceiling_ms=10) == 17


def test_more_idle_than_visible_is_no_time() -> None:
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
def test_a_further_save_never_takes_time_away(sent: list[AnswerSave], more: list[AnswerSave]) -> None:
    assert worked_ms([sent]) <= worked_ms([[*sent, *more]]) <= worked_ms([sent]) + worked_ms([more])


@quick
@given(PAYS, TIMES, HOW)
def test_it_is_the_exact_amount_rounded_up_or_the_minimum(pay: Pay, time_ms: int, end: RatingEnd) -> None:
    exact = ceil(Fraction(time_ms * pay.hour, HOUR_MS))
    least = {"finished": pay.finished, "screened_out": pay.screened_out, "left": 0}[end]
    assert compute_owed(pay, time_ms, end) == max(exact, least)


@quick
@given(PAYS, TIMES, TIMES, HOW)
def test_more_time_is_never_paid_less(pay: Pay, time_ms: int, more: int, end: RatingEnd) -> None:
    assert compute_owed(pay, time_ms, end) <= compute_owed(pay, time_ms + more, end)


@quick
@given(PAYS, TIMES)
def test_who_finishes_fast_is_owed_the_minimum(pay: Pay, time_ms: int) -> None:
    assert compute_owed(pay, time_ms, "finished") >= pay.finished


@quick
@given(PAYS, TIMES, HOW)
def test_partial_work_counts(pay: Pay, time_ms: int, end: RatingEnd) -> None:
    assert compute_owed(pay, time_ms) <= compute_owed(pay, time_ms, end)
    assert compute_owed(pay, time_ms) > 0 or time_ms == 0 or pay.hour == 0


def test_a_second_is_rounded_up_to_a_whole_penny() -> None:
    assert compute_owed(PAY, 1) == 1
    assert compute_owed(PAY, 3_000) == 1
    assert compute_owed(PAY, 3_001) == 2


ACCOUNTS = st.builds(settle_account, st.just(PAY), AMOUNTS, AMOUNTS)


@quick
@given(st.lists(ACCOUNTS, min_size=1, max_size=8))
def test_a_sum_adds_up_to_the_penny(accounts: list[PayAccount]) -> None:
    for one in [*accounts, sum_accounts(accounts)]:
        assert one.owed + one.overpaid == one.paid + one.due
        assert min(one.due, one.overpaid) >= 0
    assert sum_accounts(accounts).due == sum(max(0, one.owed - one.paid) for one in accounts)
    assert sum_accounts([sum_accounts(accounts[:1]), *accounts[1:]]) == sum_accounts(accounts)


def test_nobody_is_asked_to_give_back() -> None:
    found = settle_account(PAY, 400, 600)
    assert (found.due, found.overpaid) == (0, 200)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"currency": "pounds"}, "'pounds' is no currency"),
        ({"hour": 12.5}, "hour (in minor units of GBP) is 12.5; give a whole number, 0 or more"),
        ({"hour": -1}, "hour (in minor units of GBP) is -1"),
        ({"finished": True}, "finished (in minor units of GBP) is True"),
    ],
)
def test_a_rate_that_nobody_could_pay_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Pay(**{"currency": "GBP", "hour": 1200, **changes})
    assert words in str(error.value)


def test_amounts_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidInput, match="'done' is no end"):
        compute_owed(PAY, 1, "done")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="time_ms is -1"):
        compute_owed(PAY, -1)
    with pytest.raises(InvalidInput, match="paid is -1"):
        settle_account(PAY, 1, -1)


def test_a_sum_is_in_one_currency() -> None:
    other = Pay(currency="USD", hour=1500)
    with pytest.raises(InvalidInput, match="They are in 'GBP', 'USD'"):
        sum_accounts([settle_account(PAY, 1, 0), settle_account(other, 1, 0)])
    with pytest.raises(InvalidInput, match="There is no account"):
        sum_accounts([])
