"""Pay of raters: an hourly rate for the time worked, in whole minor units of a currency.

Working fast does not reduce pay: raters who finish are owed at least the minimum. Time is paid in steps of five
minutes, rounded up: exact times or amounts would reveal which exported ratings belong to an account.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from dissensus.campaign.answer_drafts import AnswerSave
from dissensus.errors import InvalidInput
from dissensus.schema.campaign.definition import Pay as Pay
from dissensus.schema.hints import format_list, format_value
from dissensus.schema.numbers import check_whole

RatingEnd: TypeAlias = Literal["finished", "screened_out", "left"]
RATING_ENDS: Final[tuple[RatingEnd, ...]] = get_args(RatingEnd)

MAX_VISIT_MS: Final = 60 * 60_000
"""Maximum working time of one visit that counts, since clocks may be wrong."""
HOUR_MS: Final = 3_600_000
PAID_STEP_MS: Final = 5 * 60_000
"""Unit of the paid time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayAccount:
    """Owed and paid amounts in minor units, with ``owed + overpaid == paid + due``."""

    currency: str
    owed: int
    paid: int
    due: int  # still to be paid
    overpaid: int  # not reclaimed


def worked_ms(saves: Iterable[Iterable[AnswerSave]], *, ceiling_ms: int = MAX_VISIT_MS) -> int:
    """Return the working time of a rater: the visible time less the idle time, at most `ceiling_ms` for each visit.

    `saves` are those of each item.

    Examples
    --------
    >>> def save(visit, visible_ms, idle_ms):
    ...     return AnswerSave(revision=1, visit=visit, visible_ms=visible_ms, idle_ms=idle_ms, answers={})
    >>> worked_ms([[save("a", 20_000, 0), save("a", 90_000, 30_000)], [save("b", 10_000, 0)]])
    70000
    """
    check_whole("ceiling_ms", ceiling_ms)
    return sum(_sum_visits(item_saves, ceiling_ms) for item_saves in saves)


def _sum_visits(saves: Iterable[AnswerSave], ceiling_ms: int) -> int:
    longest: dict[str, int] = {}
    for save in saves:
        longest[save.visit] = max(longest.get(save.visit, 0), save.visible_ms - save.idle_ms)
    return sum(min(ms, ceiling_ms) for ms in longest.values())


def round_to_paid_time(time_ms: int) -> int:
    """Return the paid time: the time worked, rounded up to whole steps.

    Examples
    --------
    >>> round_to_paid_time(0), round_to_paid_time(1), round_to_paid_time(300_001)
    (0, 300000, 600000)
    """
    check_whole("time_ms", time_ms)
    return _divide_up(time_ms, PAID_STEP_MS) * PAID_STEP_MS


def _divide_up(dividend: int, divisor: int) -> int:
    """Return a quotient rounded up, exact for any size."""
    return -(-dividend // divisor)


def compute_owed(pay: Pay, time_ms: int, end: RatingEnd = "left") -> int:
    """Return the amount owed for the time worked and the end of the rating, rounded up to a whole minor unit.

    Examples
    --------
    Twenty minutes at 12 pounds an hour, with a minimum of 6 for finishing:

    >>> pay = Pay(currency="GBP", hourly_rate=1200, finished=600, screened_out=50)
    >>> compute_owed(pay, 20 * 60_000), compute_owed(pay, 20 * 60_000, "finished")
    (400, 600)
    >>> compute_owed(pay, 0, "screened_out")
    50
    """
    if end not in RATING_ENDS:
        raise InvalidInput(f"{format_value(end)} is not an end. Ends are {format_list(RATING_ENDS)}.")
    least = {"finished": pay.finished, "screened_out": pay.screened_out, "left": 0}[end]
    return max(least, _divide_up(round_to_paid_time(time_ms) * pay.hourly_rate, HOUR_MS))


def settle_account(pay: Pay, owed: int, paid: int) -> PayAccount:
    """Return the account for an amount owed and an amount paid.

    Examples
    --------
    >>> settle_account(Pay(currency="GBP", hourly_rate=1200), 650, 600).due
    50
    """
    check_whole("owed", owed)
    check_whole("paid", paid)
    due, overpaid = max(0, owed - paid), max(0, paid - owed)
    return PayAccount(currency=pay.currency, owed=owed, paid=paid, due=due, overpaid=overpaid)


def sum_accounts(accounts: Iterable[PayAccount]) -> PayAccount:
    """Return the sum over raters; an overpaid amount does not reduce the amount due to others.

    Examples
    --------
    >>> pay = Pay(currency="GBP", hourly_rate=1200)
    >>> sums = sum_accounts([settle_account(pay, 650, 600), settle_account(pay, 400, 600)])
    >>> sums.owed, sums.paid, sums.due, sums.overpaid
    (1050, 1200, 50, 200)
    """
    accounts = list(accounts)
    currencies = sorted({account.currency for account in accounts})
    if not accounts:
        raise InvalidInput("There is no account to sum. Give at least one.")
    if len(currencies) > 1:
        raise InvalidInput(f"Accounts are in {format_list(currencies)}. Sum each currency separately.")
    return PayAccount(
        currency=currencies[0],
        owed=sum(account.owed for account in accounts),
        paid=sum(account.paid for account in accounts),
        due=sum(account.due for account in accounts),
        overpaid=sum(account.overpaid for account in accounts),
    )
