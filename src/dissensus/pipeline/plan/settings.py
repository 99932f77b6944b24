"""Settings that the questions of a plan share."""

from dataclasses import dataclass

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.cost import CostRates
from dissensus.schema.hints import count_noun
from dissensus.schema.numbers import check_number, check_whole
from dissensus.stats.planning.simulated_power import UNSTUDENTISED, PlannedStatistic, check_simulations

MOST_RATERS = 100_000
MOST_ITEMS = 1_000_000
MOST_SIMULATIONS = 100_000
MIN_UNSTUDENTISED_LEVEL = 0.001
"""Smallest level for statistics whose permutation test has no pooled null distribution."""


def format_size(n_items: int, per_item: int | None) -> str:
    """Format the size of a campaign.

    Examples
    --------
    >>> format_size(350, 20), format_size(1, None)
    ('350 items with 20 ratings each', '1 item')
    """
    items = count_noun(n_items, "item")
    return items if per_item is None else f"{items} with {count_noun(per_item, 'rating')} each"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlanSettings:
    """Question and design of a comparison of groups."""

    difference: float  # of shares, alpha or agreement, of GAI from 1, or the share of disagreement between groups
    statistic: PlannedStatistic = "share"
    n_items: int = 350
    per_item: int | None = None  # ratings of an item by all groups; None if every rater rates every item
    raters: tuple[int, ...] = ()  # per group, one design each; empty for those around the smallest
    others: int | None = None  # raters of the group compared with; None for as many as in the first
    share: float | None = None  # of the answer in the group compared with; None for that of the pilot
    power: float = 0.8  # to reach
    level: float = 0.05
    simulations: int = 500  # campaigns per design; 0 for the closed form alone
    seed: int = 0
    rates: CostRates | None = None

    def __post_init__(self) -> None:
        check_whole("n_items", self.n_items, 1, MOST_ITEMS)
        check_number("difference", self.difference, -1, 1)
        check_number("power", self.power, 0.01, 0.999)
        check_number("level", self.level, 0.0001, 0.5)
        check_whole("simulations", self.simulations, 0, MOST_SIMULATIONS)
        check_whole("seed", self.seed)
        for n in (*self.raters, *([self.others] if self.others is not None else [])):
            check_whole("raters of a group", n, 2, MOST_RATERS)
        if self.per_item is not None:
            check_whole("per_item", self.per_item, 1, MOST_RATERS)
        if self.others is not None and self.n_cells != 2:
            raise InvalidInput("An interaction has four cells of one size. Leave out the raters of the other group.")
        if not self.difference:
            raise InvalidInput("The difference is 0. Give the smallest difference that matters.")
        if self.statistic in ("share", "interaction"):
            if self.simulations:
                check_simulations(self.simulations, self.level)
        else:
            self._check_simulated()

    def _check_simulated(self) -> None:
        if self.difference < 0:
            raise InvalidInput(f"The difference is {self.difference:g}; for {self.statistic} give its size, above 0.")
        if not self.simulations:
            raise InvalidInput(
                f"The power for {self.statistic} comes from simulations alone. Simulate 100 campaigns or more."
            )
        check_simulations(self.simulations, self.level)
        if self.statistic in UNSTUDENTISED and self.level < MIN_UNSTUDENTISED_LEVEL:
            raise InvalidInput(
                f"A level of {self.level:g} takes too many permutations for {self.statistic}, which has no pooled null "
                f"distribution. Give {MIN_UNSTUDENTISED_LEVEL:g} or more, or plan for agreement."
            )

    @property
    def n_cells(self) -> int:
        """Cells of raters in the comparison."""
        return 4 if self.statistic == "interaction" else 2
