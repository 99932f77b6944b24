"""Concentration of attempts and successes among red-teamers."""

from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.pipeline.analyse.attempts.columns import AttemptColumns
from dissensus.pipeline.analyse.attempts.result import Concentration, TopRedTeamers

TOP: Final = (1, 5, 10, 20, 50, 100)
"""Numbers of the most active red-teamers whose share is reported; the red-team paper reports 50."""

Counts = npt.NDArray[np.intp]


def measure_concentration(columns: AttemptColumns) -> Concentration:
    """Return the distributions of attempts and of successes, each in descending order."""
    n = columns.n_red_teamers
    attempts = _sort_descending(np.bincount(columns.red_teamer, minlength=n))
    successes = _sort_descending(np.bincount(columns.red_teamer[columns.succeeded == 1], minlength=n))
    return Concentration(
        attempts=tuple(attempts.tolist()),
        successes=tuple(successes.tolist()),
        top=tuple(
            TopRedTeamers(k, float(attempts[:k].sum() / attempts.sum()), _share(successes, k))
            for k in TOP
            if k < n or k == 1
        ),
        gini_attempts=compute_gini(attempts),
        gini_successes=compute_gini(successes) if successes.any() else None,
    )


def compute_gini(counts: npt.ArrayLike) -> float:
    r"""Return the Gini coefficient, half the mean absolute difference of all pairs over the mean.

    .. math:: G = \frac{\sum_i (2 i - n - 1) x_{(i)}}{n \sum_i x_i}

    Examples
    --------
    >>> compute_gini([5, 5, 5]), compute_gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    ascending = np.sort(np.asarray(counts, np.float64))
    n = len(ascending)
    return float((2 * np.arange(1, n + 1) - n - 1) @ ascending / (n * ascending.sum()))


def _sort_descending(counts: Counts) -> Counts:
    return np.sort(counts)[::-1]


def _share(successes: Counts, k: int) -> float | None:
    return float(successes[:k].sum() / successes.sum()) if successes.any() else None
