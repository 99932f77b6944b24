"""Size of the tests of groups and coverage of the intervals of `analyse` in many designs, by simulation."""

import numpy as np
import pytest
from tests.support.null_simulations import simulate_null

pytestmark = pytest.mark.slow
# Each differs from the others by its mechanism; `make calibration` takes all of `ASSIGNMENTS`.
DESIGNS = (
    *("complete", "random sparse", "quota, 4 of each group", "loads 55 and 15 %", "nested locales"),
    *("8 against 80, sparse", "3 % Yes, sparse", "a fifth careless", "five answers"),
)
# Least share of rejections of the published test of negentropy, without the measure of assignments.
WITHHELD = {"quota, 4 of each group": 0.12, "loads 55 and 15 %": 0.7}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_true_null_is_rejected_at_most_as_often_as_stated(name: str) -> None:
    """200 simulations, nominal 5 %; `make calibration` takes 2,000.

    Goal: 6 %. A share of .05 has a standard error of .0154; the bound is .06 and three of them. Seeds are fixed.
    In quotas and loads the published test of negentropy rejects more often, and is withheld.
    """
    simulations = simulate_null(name, 200, permutations=99)
    assert ((simulations.p <= 0.05).mean(axis=0) <= 0.06 + 0.046).all()
    if name in WITHHELD:
        row = simulations.metrics.index("negentropy")
        assert (simulations.naive_p[:, row] <= 0.05).mean() > WITHHELD[name]
        assert not (simulations.p[:, row] <= 0.05).any()


@pytest.mark.parametrize("name", DESIGNS)
def test_an_interval_covers_or_its_row_has_a_warning(name: str) -> None:
    """120 simulations with 99 replicates, nominal 95 %; `make calibration` takes 2,000 with 199.

    Goal: 93 %. A share of .93 has a standard error of .0233; the bound is .93 less three of them. Seeds are fixed.
    """
    simulations = simulate_null(name, 120, bootstrap=99)
    known = np.isfinite(simulations.estimates)
    truth = np.where(known, simulations.estimates, 0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
    covered = (simulations.low <= truth) & (truth <= simulations.high)
    defined = np.isfinite(simulations.low)
    share = covered.sum(axis=0) / np.maximum(1, defined.sum(axis=0))
    silent = (defined.mean(axis=0) > 0.5) & (simulations.warned.mean(axis=0) < 0.5)
    assert (share[silent] >= 0.93 - 0.07).all()
