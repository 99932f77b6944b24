"""Size of the tests of ordered answers, by simulation."""

import pytest
from tests.support.null_simulations import simulate_looks
from tests.support.sequential_bounds import REJECTIONS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["five answers", "five answers, sparse", "quota, 4 of each group"])
def test_a_true_null_is_rejected_at_most_as_often_as_stated(name: str) -> None:
    """80 to 200 simulations, goal 6 %, nominal 5 %; `make calibration` takes more."""
    for simulations in simulate_looks(name, REJECTIONS, level="ordinal", permutations=99):
        rejections = (simulations.p <= 0.05).sum(axis=0)
        if (rejections <= REJECTIONS[len(simulations.p)]).all():
            break
    assert (rejections <= REJECTIONS[len(simulations.p)]).all(), rejections
