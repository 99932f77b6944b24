"""Bounds of a number of errors in simulations that are counted several times, so that few simulations may suffice.

A test of size counts at each look, and ends at the first one with at most so many errors. The bounds are such that a
procedure with too many errors passes no more often than with one look at the end, and a correct one hardly ever fails
(`pass_probability`). At nearly the stated size it ends at the first or second look.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
from scipy.stats import binom

REJECTIONS: Final[Mapping[int, int]] = {80: 5, 120: 9, 160: 13, 200: 20}
"""Rejections of a true null at 5 %, by simulations: 12 % pass with a probability of .26 (of .30 by 21 of 200 alone)."""

MISSES: Final[Mapping[int, int]] = {80: 8, 120: 15, 160: 20, 200: 24}
"""Intervals of 95 % without the truth, by simulations: 20 % pass with a probability of .03 (of .04 by 16 of 120)."""

RARE_MISSES: Final[Mapping[int, int]] = {120: 9, 200: 18, 300: 33}
"""As `MISSES`: intervals of which 15 % miss pass with a probability of .036 (of .041 by 34 of 300 alone)."""


def pass_probability(bounds: Mapping[int, int], share: float) -> float:
    """Return the probability that errors with this share are within the bound at one of the looks."""
    undecided, passed, before = np.ones(1), 0.0, 0
    for simulations, most in bounds.items():
        new = simulations - before
        undecided = np.convolve(undecided, binom.pmf(np.arange(new + 1), new, share))
        passed += float(undecided[: most + 1].sum())
        undecided[: most + 1] = 0.0
        before = simulations
    return passed
