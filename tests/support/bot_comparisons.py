"""Comparisons of chatbots of known strength."""

import numpy as np

from dissensus.preference.ranking.ranking import Comparisons

BOTS = ("best", "good", "fair", "worst")
STRENGTHS = np.array([1.0, 0.3, -0.3, -1.0])


def draw_comparisons(n: int, *, seed: int = 0, raters: int = 40, ties: float = 0.0, spread: float = 0.0) -> Comparisons:
    """Return comparisons by raters under a Bradley–Terry model, with a random effect for each rater."""
    rng = np.random.default_rng(seed)
    a, step = rng.integers(4, size=n), rng.integers(1, 4, size=n)
    b, rater = (a + step) % 4, rng.integers(raters, size=n)
    tastes = STRENGTHS + rng.normal(scale=spread, size=(raters, 4))
    odds = tastes[rater, a] - tastes[rater, b]
    outcome = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
    outcome[rng.random(n) < ties] = 0.5
    return Comparisons(bots=BOTS, a=a, b=b, outcome=outcome, weight=np.ones(n), rater=rater)
