"""Coverage of the intervals of gold against crowd, by simulation."""

import pytest
from tests.support.gold_simulations import simulate_gold_misses
from tests.support.sequential_bounds import RARE_MISSES

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("n_raters", "n_items", "rated"), [(8, 120, 1.0), (20, 30, 1.0), (60, 120, 1.0), (40, 120, 0.2)]
)
def test_intervals_of_gold_against_crowd_cover(n_raters: int, n_items: int, rated: float) -> None:
    """120 to 300 simulations, nominal 95 %, goal 93 %; without the interaction .89 to .93."""
    for simulations, misses in enumerate(simulate_gold_misses(n_raters, n_items, rated=rated), 1):
        if simulations in RARE_MISSES and (misses.max() <= RARE_MISSES[simulations] or simulations == max(RARE_MISSES)):
            break
    assert misses.max() <= RARE_MISSES[simulations], (simulations, misses)
