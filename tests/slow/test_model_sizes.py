"""Size of the audit of a filter, of the mixed model of attempts and of the gate of group effects, by simulation."""

import pytest
from tests.support.model_sizes import FILTERS, attempt_sizes, audit_sizes, draw_minority

from dissensus.preference.data.examples import Examples
from dissensus.preference.fit.groups import choose_groups

pytestmark = pytest.mark.slow

SIMULATIONS, MOST = 120, 0.075
"""9 of 120: a procedure that rejects 15 % passes with a probability of .011 (with one of .041 by 21 of 200)."""


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_that_ignores_answers_is_rejected_at_most_as_often_as_stated(name: str) -> None:
    naive, audited, withheld = audit_sizes(name, SIMULATIONS, 99)
    assert (audited <= MOST).all()
    if name == "six times the ratings":
        assert (naive[:2] > 0.5).all()
    assert (withheld > 0.7) == (name == FILTERS[-1])


@pytest.mark.parametrize(
    ("people", "slope_sd", "simulations"),
    [(10, 0.5, 200), (15, 0.5, SIMULATIONS), (100, 0.0, SIMULATIONS), (100, 0.5, SIMULATIONS)],
)
def test_effects_that_differ_between_people_keep_the_size(people: int, slope_sd: float, simulations: int) -> None:
    """Wald's test rejects more often than 5 % by three standard errors; of 10 people, a third of tests is withheld."""
    wald, robust, _ = attempt_sizes(people, slope_sd, simulations)
    assert robust <= MOST
    assert wald < 0.12 if slope_sd == 0 else wald > 0.11


@pytest.mark.parametrize(("size", "effect"), [(4, 2.5), (13, 1.0)])
def test_a_minority_is_found(size: int, effect: float) -> None:
    """A tenth and a third of 40 raters; of a third, 8 of 8 simulations were found with either effect."""
    drawn = (draw_minority(seed, size=size, effect=effect) for seed in range(4))
    penalties = [choose_groups(Examples.from_pairs(pairs), features=(("words",),), seed=0).penalties for pairs in drawn]
    assert ["rater_view" in each for each in penalties] == [True] * 4


def test_groups_that_do_not_differ_have_effects_in_one_of_twenty_searches() -> None:
    """At most 6 of 90: effects of an axis in 15 % of the searches pass with a probability of .01."""
    drawn = (draw_minority(seed, effect=0.0, n_comparisons=100) for seed in range(30))
    axes = [set(choose_groups(Examples.from_pairs(pairs), features=(("words",),), seed=0).penalties) for pairs in drawn]
    assert sum(len(each & {"rater_view", "rater_gender", "rater_age"}) for each in axes) <= 6
