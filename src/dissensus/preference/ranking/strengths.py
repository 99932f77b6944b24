"""Bradley–Terry and Elo strengths by evalica."""

from typing import Any, Final

import numpy as np

from dissensus.errors import Unavailable
from dissensus.preference.data.sparse import Floats, Integers

ELO: Final = 400 / np.log(10)
"""Points of Elo for a difference of 1 in log odds: about 174."""

MEAN: Final = 1000.0
"""Mean of all chatbots: ratings say who is better than whom, and their zero is nobody's."""

K: Final = 4.0
"""By how much one comparison moves Elo at most."""

TOLERANCE, MOST_STEPS = 1e-9, 100_000


def bradley_terry(every: Floats) -> Floats:
    """Return the most likely strengths on the scale of Elo."""
    evalica = _evalica()
    a, b = np.nonzero(every)
    found = evalica.bradley_terry(
        a.tolist(),
        b.tolist(),
        [evalica.Winner.X] * len(a),
        weights=every[a, b].tolist(),
        tolerance=TOLERANCE,
        limit=MOST_STEPS,
    )
    logs = np.log(found.scores.loc[range(len(every))].to_numpy())
    return np.asarray(MEAN + ELO * (logs - logs.mean()))


def elo(a: Integers, b: Integers, outcome: Floats, weight: Floats) -> Floats:
    """Return Elo after comparisons in their order, each moving it by `K` at most."""
    evalica = _evalica()
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    found = evalica.elo(
        a.tolist(),
        b.tolist(),
        [winner[one] for one in outcome.tolist()],
        initial=MEAN,
        k=K,
        weights=weight.tolist(),
    )
    return np.asarray(found.scores.loc[range(1 + int(max(a.max(), b.max())))].to_numpy())


def _evalica() -> Any:
    try:
        import evalica
    except ImportError:
        raise Unavailable(
            "Rankings need evalica, which is not installed. Install it: pip install 'dissensus[rank]'"
        ) from None
    return evalica
