"""Bradley–Terry models by logistic regression with an L2 penalty."""

from dataclasses import dataclass

import numpy as np

from dissensus.preference.data.weighting import PairChoices
from dissensus.preference.fit.newton import GRADIENT, HessianProduct, dot, minimise, norm
from dissensus.stats.result import FloatArray
from dissensus.stats.sparse import SparseRows


def probability(margin: FloatArray) -> FloatArray:
    """Return the probability that the first of two answers is chosen, given the difference of their scores.

    Examples
    --------
    >>> probability(np.array([0.0, np.log(3)])).round(2).tolist()
    [0.5, 0.75]
    """
    return np.asarray(np.exp(-np.logaddexp(0, -margin)))


def fit_logistic(
    pairs: SparseRows, choices: PairChoices, penalty: float, *, start: FloatArray | None = None
) -> FloatArray:
    r"""Return the feature weights of maximum penalised likelihood.

    .. math:: \min_\beta -\sum_p w_p \bigl( t_p \ln P_p + (1 - t_p) \ln (1 - P_p) \bigr)
              + \frac{\lambda}{2} \lVert\beta\rVert^2, \qquad P_p = \frac{1}{1 + e^{m_p - \beta \cdot x_p}}

    Newton's method with conjugate gradients and backtracking.
    """
    # Relative to the gradient at zero weights
    tolerance = GRADIENT * norm(pairs.transposed_times(choices.weight / 2))
    return minimise(_Regression(pairs, choices, penalty), np.zeros(pairs.width) if start is None else start, tolerance)


@dataclass(frozen=True, slots=True, eq=False)
class _Regression:
    """Penalised loss of `fit_logistic`."""

    pairs: SparseRows
    choices: PairChoices
    penalty: float

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss and the log odds of each pair."""
        log_odds = self.pairs @ weights - self.choices.margin
        return float(np.sum(self.choices.loss(log_odds))) + self.penalty / 2 * dot(weights, weights), log_odds

    def differentiate(self, weights: FloatArray, log_odds: FloatArray) -> tuple[FloatArray, HessianProduct]:
        """Return the gradient and the Hessian product."""
        p, pair_weight = probability(log_odds), self.choices.weight
        gradient = self.penalty * weights - self.pairs.transposed_times(pair_weight * (self.choices.share - p))
        curvature = pair_weight * p * (1 - p)
        return (
            gradient,
            lambda vector: self.penalty * vector + self.pairs.transposed_times(curvature * (self.pairs @ vector)),
        )
