"""Plan of the demo: seats for men and women, so that enough usable raters of both remain."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from dissensus.demo.simulated import DemoRater
from dissensus.pipeline.plan.pool import PoolPlan, PoolSettings, plan_pool

AXIS: Final = "rater_gender"
REMOVAL: Final = 19 / 123
"""Raters of DICES-350 who were removed for their quality."""


def plan_raters(raters: Sequence[DemoRater]) -> PoolPlan:
    """Plan a quota in which all raters find a seat, as many usable ones of each gender as the most frequent one has.

    Examples
    --------
    >>> from dissensus.demo.simulated import simulate_demo_campaign
    >>> plan = plan_raters(simulate_demo_campaign(4, 24, seed=1).raters)
    >>> [(cell.cell, cell.needed, cell.seats) for cell in plan.cells]
    [('Man', 12, 17), ('Woman', 12, 17)]
    """
    counts = Counter(rater.about[AXIS] for rater in raters)
    shares = {group: n / counts.total() for group, n in sorted(counts.items())}
    return plan_pool(PoolSettings(axes={AXIS: shares}, seats=max(counts.values()), dropout=0.1, removal=REMOVAL))
