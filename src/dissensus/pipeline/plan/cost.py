"""Cost of a design: time of the raters, and money."""

from dataclasses import dataclass
from math import ceil
from typing import Final

from dissensus.schema.money import check_currency
from dissensus.schema.numbers import check_number

STEP_MINUTES: Final = 5
"""The time of a rater is rounded up to a multiple of this, as the site pays it."""
MOST_MINUTES: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRates:
    """Pay of raters and the time that they need.

    Examples
    --------
    >>> rates = CostRates(currency="GBP", hourly_rate=12, minutes_per_item=1.5, minutes_per_rater=5, fee_percent=25)
    >>> rates.minutes(20), rates.money(20, n_raters=10)
    (35, 87.5)
    """

    currency: str
    hourly_rate: float  # in whole units of the currency
    minutes_per_item: float
    minutes_per_rater: float = 5.0  # consent, guidelines and questions about the rater
    fee_percent: float = 0.0  # of the recruiter, on top of the pay
    finished: float = 0.0  # least pay of a rater who finishes

    def __post_init__(self) -> None:
        check_currency(self.currency)
        check_number("hourly_rate", self.hourly_rate, 0)
        check_number("minutes_per_item", self.minutes_per_item, 0.01, MOST_MINUTES)
        check_number("minutes_per_rater", self.minutes_per_rater, 0, MOST_MINUTES)
        check_number("fee_percent", self.fee_percent, 0, 500)
        check_number("finished", self.finished, 0)

    def minutes(self, n_items: float) -> int:
        """Return the paid minutes of a rater with a number of items."""
        worked = self.minutes_per_rater + n_items * self.minutes_per_item
        # Rounded first, so that an error in the last digit does not add a step.
        return ceil(round(worked / STEP_MINUTES, 9)) * STEP_MINUTES

    def money(self, n_items: float, n_raters: float) -> float:
        """Return the cost of raters who finish a number of items each, with the recruiter's fee."""
        return round(n_raters * self._cost_of_rater(n_items), 2)

    def count_affordable(self, n_items: float, budget: float) -> int:
        """Return the largest number of raters with a number of items each whose cost is within a budget.

        Examples
        --------
        >>> rates = CostRates(currency="GBP", hourly_rate=12, minutes_per_item=1.5)
        >>> rates.money(20, 7), rates.count_affordable(20, 49), rates.count_affordable(20, 48.99)
        (49.0, 7, 6)
        """
        n = int(budget / self._cost_of_rater(n_items))
        # The cost of all is rounded to cents, so that a rater more may fit, or one less.
        return max(k for k in range(n - 1, n + 3) if self.money(n_items, k) <= budget)

    def _cost_of_rater(self, n_items: float) -> float:
        pay = max(self.finished, self.minutes(n_items) / 60 * self.hourly_rate)
        return pay * (1 + self.fee_percent / 100)
