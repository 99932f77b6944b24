"""Size of the tests of groups and coverage of the intervals of `analyse` in many designs, by simulation."""

import numpy as np
import pytest
from tests.support.null_simulations import NullSimulations, simulate_looks
from tests.support.sequential_bounds import MISSES, REJECTIONS

pytestmark = pytest.mark.slow
# Each differs from the others by its mechanism; `make calibration` takes all of `ASSIGNMENTS`. With a statistic whose
# intervals have no warning.
DESIGNS = {
    "complete": "xrr",
    "random sparse": "xrr",
    "quota, 4 of each group": "answer_share",
    "loads 55 and 15 %": "irr",
    "nested locales": "xrr",
    "8 against 80, sparse": "answer_share",
    "3 % Yes, sparse": "mean_difference",
    "a fifth careless": "gai",
    "five answers": "corrected_gai",
}
# Least share of rejections of the published test of negentropy, less three standard errors of 80 simulations.
WITHHELD = {"quota, 4 of each group": 0.12, "loads 55 and 15 %": 0.55}


@pytest.mark.parametrize("name", DESIGNS)
def test_a_true_null_is_rejected_and_an_interval_misses_as_rarely_as_stated(name: str) -> None:
    """80 to 200 simulations, 99 permutations and 99 bootstrap replicates; `make calibration` takes 2,000.

    Goals: 6 % rejections at a nominal 5 %, and a coverage of 93 % at 95 %, or a warning in the row of the interval.
    In quotas and loads the published test of negentropy rejects more often, and is withheld.
    """
    for simulations in simulate_looks(name, REJECTIONS, permutations=99, bootstrap=99):
        n = len(simulations.p)
        rejections, misses = (simulations.p <= 0.05).sum(axis=0), count_misses(simulations)
        if (rejections <= REJECTIONS[n]).all() and (misses <= MISSES[n]).all():
            break
    assert (rejections <= REJECTIONS[n]).all(), (n, rejections)
    assert DESIGNS[name] in {simulations.metrics[row] for row in np.flatnonzero(have_no_warning(simulations))}
    assert (misses <= MISSES[n]).all(), (n, misses)
    if name in WITHHELD:
        row = simulations.metrics.index("negentropy")
        assert (simulations.naive_p[:, row] <= 0.05).mean() > WITHHELD[name]
        assert not (simulations.p[:, row] <= 0.05).any()


def count_misses(simulations: NullSimulations) -> np.ndarray:
    """Count the intervals without the mean estimate in rows without a warning, per simulation with an interval."""
    known = np.isfinite(simulations.estimates)
    truth = np.where(known, simulations.estimates, 0).sum(axis=0) / np.maximum(1, known.sum(axis=0))
    covered = (simulations.low <= truth) & (truth <= simulations.high)
    defined = np.isfinite(simulations.low)
    missed = (defined & ~covered).sum(axis=0) / np.maximum(defined.mean(axis=0), 0.5)
    return np.where(have_no_warning(simulations), missed, 0)


def have_no_warning(simulations: NullSimulations) -> np.ndarray:
    """Return whether rows have an interval without a warning in most simulations."""
    has_interval = np.isfinite(simulations.low).mean(axis=0) > 0.5
    return np.asarray(has_interval & (simulations.warned.mean(axis=0) < 0.5))
