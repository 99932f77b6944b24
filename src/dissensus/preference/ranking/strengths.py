"""Bradley–Terry strengths, and Elo ratings."""

from typing import Final

import numpy as np

from dissensus.stats.result import FloatArray, Int64Array

ELO: Final = 400 / np.log(10)
"""Elo points per unit of log odds: about 174."""

MEAN: Final = 1000.0
"""Mean rating of all chatbots; only differences of ratings are meaningful."""

K: Final = 4.0
"""Largest change of an Elo rating by one comparison of weight 1."""

STEP_TOLERANCE: Final = 1e-8
"""Newton step of the log strengths below which the maximum is reached; the error after it is about its square."""

LONGEST_STEP: Final = 1.0
"""Largest change of a log odds in one step: shorter Newton steps always lead upwards."""

MAX_STEPS: Final = 1000
"""Limit on the number of steps."""


def bradley_terry(wins: FloatArray) -> FloatArray:
    """Return maximum-likelihood strengths on the Elo scale; the wins connect all chatbots strongly.

    By Newton's method: steps by the wins of one chatbot at a time hardly move pools that few comparisons connect.

    Examples
    --------
    >>> bradley_terry(np.array([[0.0, 2.0], [1.0, 0.0]])).round(1).tolist()
    [1060.2, 939.8]
    """
    compared, won = wins + wins.T, wins.sum(axis=1)
    n_compared = np.where(compared > 0, compared, 1)
    # The likelihood does not depend on the mean of all strengths: information about it keeps it at zero.
    mean_information = np.full(wins.shape, compared.mean())
    logs = np.zeros(len(wins))
    for _ in range(MAX_STEPS):
        expected = compared * np.exp(-np.logaddexp(0, logs[None, :] - logs[:, None]))
        weight = expected * expected.T / n_compared
        information = np.diag(weight.sum(axis=1)) - weight
        step = np.linalg.solve(information + mean_information, won - expected.sum(axis=1))
        largest = float(np.ptp(step))
        logs += step / max(1.0, largest / LONGEST_STEP)
        if largest < STEP_TOLERANCE:
            break
    return np.asarray(MEAN + ELO * (logs - logs.mean()))


def elo(a: Int64Array, b: Int64Array, outcome: FloatArray, weight: FloatArray) -> FloatArray:
    """Return Elo ratings after all comparisons in order, each changing two of them by at most its weight times `K`.

    Examples
    --------
    >>> elo(np.array([0]), np.array([1]), np.ones(1), np.full(1, 10.0)).tolist()
    [1020.0, 980.0]
    """
    ratings = [MEAN] * (1 + int(max(a.max(), b.max())))
    for i, j, won, factor in zip(a.tolist(), b.tolist(), outcome.tolist(), weight.tolist(), strict=True):
        change = factor * K * (won - 1 / (1 + 10 ** ((ratings[j] - ratings[i]) / 400)))
        ratings[i] += change
        ratings[j] -= change
    return np.array(ratings)
