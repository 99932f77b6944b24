"""Bradley–Terry strengths by evalica, and Elo ratings."""

from typing import Any, Final

import numpy as np

from dissensus.extras import require_extra
from dissensus.stats.result import FloatArray, Int64Array

ELO: Final = 400 / np.log(10)
"""Elo points per unit of log odds: about 174."""

MEAN: Final = 1000.0
"""Mean rating of all chatbots; only differences of ratings are meaningful."""

K: Final = 4.0
"""Largest change of an Elo rating by one comparison of weight 1."""

TOLERANCE: Final = 1e-9
"""Change of all strengths below which the iteration of evalica ends."""

MAX_STEPS: Final = 100_000
"""Limit on the steps of that iteration."""


def bradley_terry(wins: FloatArray) -> FloatArray:
    """Return maximum-likelihood strengths on the Elo scale; the wins connect all chatbots strongly."""
    evalica = _import_evalica()
    a, b = np.nonzero(wins)
    result = evalica.bradley_terry(
        a.tolist(),
        b.tolist(),
        [evalica.Winner.X] * len(a),
        weights=wins[a, b].tolist(),
        tolerance=TOLERANCE,
        limit=MAX_STEPS,
    )
    logs = np.log(result.scores.sort_index().to_numpy())
    return np.asarray(MEAN + ELO * (logs - logs.mean()))


def elo(a: Int64Array, b: Int64Array, outcome: FloatArray, weight: FloatArray) -> FloatArray:
    """Return Elo ratings after all comparisons in order, each changing two of them by at most its weight times `K`.

    Not by evalica, which multiplies the outcome by the weight, so that the winner gains more than the loser loses.

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


def _import_evalica() -> Any:
    with require_extra("Ranking", "rank"):
        import evalica
    return evalica
