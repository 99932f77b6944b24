"""Bradley–Terry and Elo strengths by evalica."""

from typing import Any, Final

import numpy as np

from dissensus.extras import require_extra
from dissensus.stats.result import FloatArray, Int64Array

ELO: Final = 400 / np.log(10)
"""Elo points per unit of log odds: about 174."""

MEAN: Final = 1000.0
"""Mean of all chatbots; only differences of ratings are meaningful."""

K: Final = 4.0
"""Largest change of an Elo rating by one comparison."""

TOLERANCE, MAX_STEPS = 1e-9, 100_000


def bradley_terry(wins: FloatArray) -> FloatArray:
    """Return maximum-likelihood strengths on the Elo scale."""
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
    """Return Elo ratings after all comparisons in order, each changing them by at most `K`."""
    evalica = _import_evalica()
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    result = evalica.elo(
        a.tolist(),
        b.tolist(),
        [winner[value] for value in outcome.tolist()],
        initial=MEAN,
        k=K,
        weights=weight.tolist(),
    )
    return np.asarray(result.scores.loc[range(1 + int(max(a.max(), b.max())))].to_numpy())


def _import_evalica() -> Any:
    with require_extra("Ranking", "rank"):
        import evalica
    return evalica
