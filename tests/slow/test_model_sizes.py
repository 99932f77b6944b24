"""Size of the audit of a filter, of the mixed model of attempts and of the gate of group effects, by simulation."""

import numpy as np
import pytest
from tests.support.model_sizes import FILTERS, attempt_sizes, audit_sizes, draw_minority

from dissensus.preference.data.examples import Examples
from dissensus.preference.fit.groups import choose_groups

pytestmark = pytest.mark.slow

SIMULATIONS = 200
# Three standard errors of a share of .05.
MARGIN = 0.046


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_that_ignores_answers_is_rejected_at_most_as_often_as_stated(name: str) -> None:
    naive, audited, withheld = audit_sizes(name, SIMULATIONS, 99)
    assert (audited <= 0.06 + MARGIN).all()
    if name == "six times the ratings":
        assert (naive[:2] > 0.5).all()
    assert (withheld > 0.7) == (name == FILTERS[-1])


@pytest.mark.parametrize(("people", "slope_sd"), [(10, 0.5), (15, 0.5), (100, 0.0), (100, 0.5)])
def test_effects_that_differ_between_people_keep_the_size(people: int, slope_sd: float) -> None:
    wald, robust, _ = attempt_sizes(people, slope_sd, SIMULATIONS)
    assert robust <= 0.06 + MARGIN
    assert wald < 0.12 if slope_sd == 0 else wald > 0.14


@pytest.mark.parametrize(("size", "effect"), [(4, 2.5), (13, 1.0)])
def test_a_minority_is_found(size: int, effect: float) -> None:
    """A tenth and a third of 40 raters; of a third, 8 of 8 simulations were found with either effect."""
    drawn = (draw_minority(seed, size=size, effect=effect) for seed in range(4))
    penalties = [choose_groups(Examples.from_pairs(pairs)).penalties for pairs in drawn]
    assert ["rater_view" in each for each in penalties] == [True] * 4


def test_groups_that_do_not_differ_have_effects_in_one_of_twenty_searches() -> None:
    drawn = (draw_minority(seed, effect=0.0, n_comparisons=100) for seed in range(60))
    axes = [set(choose_groups(Examples.from_pairs(pairs), features=(("words",),)).penalties) for pairs in drawn]
    share = np.mean([[axis in each for axis in ("rater_view", "rater_gender", "rater_age")] for each in axes])
    assert share <= 0.06 + 0.049
