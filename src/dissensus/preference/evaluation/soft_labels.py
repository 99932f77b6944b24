"""Distance between predicted and observed soft labels of comparisons with several raters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.pairs import Pair, dialogues, unanimity
from dissensus.preference.fit.logistic import probability
from dissensus.stats.cluster_robust import ClusteredEstimate, Mean, clustered_mean, clustered_share
from dissensus.stats.cohesion import compute_entropies
from dissensus.stats.result import FloatArray, Int64Array


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftLabelDistance:
    """Distance of predicted probabilities from observed shares."""

    distance: Mean  # Mean Manhattan distance of both distributions over the two answers, 2|P - t|: from 0 to 2
    cross_entropy: Mean  # Mean of -t ln P - (1 - t) ln(1 - P); no less than the mean entropy of the shares
    error_rate: ClusteredEstimate  # Mean share of raters whose choice is predicted wrongly; a tie is half an error


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftLabelEvaluation:
    """Soft-label metrics on comparisons with several raters, with the baselines length and one half."""

    n_comparisons: int
    n_raters: int  # Raters with known ids
    entropy: float  # Mean entropy of the shares, a lower bound of cross-entropy
    model: SoftLabelDistance
    length_alone: SoftLabelDistance
    one_half: SoftLabelDistance


def evaluate_soft_labels(
    pairs: Sequence[Pair], margins: npt.ArrayLike, length: npt.ArrayLike, *, confidence: float = 0.95
) -> SoftLabelEvaluation | None:
    """Compare predicted probabilities with the shares of raters who chose each answer.

    The soft-label measures and the error rate are those of the LeWiDi 2025 shared task for nominal labels.

    Notes
    -----
    If the model predicts each rater separately, its prediction for a comparison is the mean over its raters.

    Examples
    --------
    >>> from dataclasses import replace
    >>> pair = Pair((), "yes", "no", rater="ada")
    >>> pairs = [pair, replace(pair, rater="bo").swapped()]
    >>> evaluation = evaluate_soft_labels(pairs, [np.log(3), -np.log(3)], [0.0, 0.0])
    >>> model = evaluation.model
    >>> round(model.distance.estimate, 3), model.error_rate.estimate, round(evaluation.entropy, 3)
    (0.5, 0.5, 0.693)
    """
    several = np.flatnonzero([unanimous is not None for unanimous in unanimity(pairs)])
    if not len(several):
        return None
    votes = [pairs[index] for index in several.tolist()]
    shares = _VoteShares.from_pairs(votes)
    measure = partial(shares.measure_distance, confidence=confidence)
    entropies = compute_entropies(np.stack([shares.share, 1 - shares.share], axis=1))
    return SoftLabelEvaluation(
        n_comparisons=len(shares.weight),
        n_raters=len({pair.rater for pair in votes} - {None}),
        entropy=float(np.average(entropies, weights=shares.weight)),
        model=measure(np.asarray(margins, dtype=np.float64)[several]),
        length_alone=measure(np.asarray(length, dtype=np.float64)[several]),
        one_half=measure(np.zeros(len(votes))),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _VoteShares:
    """Votes on comparisons, and their shares by comparison."""

    comparison: Int64Array  # Index of the comparison of each vote
    vote_weight: FloatArray  # Weight of each vote within its comparison
    vote_share: FloatArray  # Share of each vote for the first answer in alphabetical order
    sign: FloatArray  # 1 if the chosen answer of the vote is that first answer, else -1
    weight: FloatArray  # Weight of each comparison
    share: FloatArray  # Share for the first answer
    dialogue: Int64Array  # Dialogue of each comparison

    @classmethod
    def from_pairs(cls, pairs: Sequence[Pair]) -> "_VoteShares":
        numbers: dict[Any, int] = {}
        comparison = np.array([numbers.setdefault(pair.comparison, len(numbers)) for pair in pairs])
        sign = np.array([1.0 if pair.chosen < pair.rejected else -1.0 for pair in pairs])
        for_chosen = np.array([1.0 if pair.agreement is None else pair.agreement for pair in pairs])
        share = np.where(sign > 0, for_chosen, 1 - for_chosen)
        weight = np.array([pair.weight for pair in pairs])
        total = np.bincount(comparison, weights=weight)
        first = np.unique(comparison, return_index=True)[1]
        return cls(
            comparison=comparison,
            vote_weight=weight / total[comparison],
            vote_share=share,
            sign=sign,
            weight=total / np.bincount(comparison),
            share=np.bincount(comparison, weights=weight * share) / total,
            dialogue=dialogues(pairs)[first],
        )

    def measure_distance(self, margins: FloatArray, *, confidence: float) -> SoftLabelDistance:
        """Return the distance of predictions, given margins of the chosen answers, from the shares."""
        log_odds = self.sign * margins  # Of the first answer
        by_dialogue = partial(clustered_mean, clusters=self.dialogue, weights=self.weight, confidence=confidence)
        distance = 2 * np.abs(self._mean(probability(log_odds)) - self.share)
        cross = -self.share * self._log_mean(log_odds) - (1 - self.share) * self._log_mean(-log_odds)
        wrong = np.where(log_odds == 0, 0.5, np.where(log_odds > 0, 1 - self.vote_share, self.vote_share))
        errors = clustered_share(self._mean(wrong), self.dialogue, weights=self.weight, confidence=confidence)
        return SoftLabelDistance(distance=by_dialogue(distance), cross_entropy=by_dialogue(cross), error_rate=errors)

    def _mean(self, values: FloatArray) -> FloatArray:
        """Return the mean over the votes of each comparison."""
        return np.asarray(np.bincount(self.comparison, weights=self.vote_weight * values), dtype=np.float64)

    def _log_mean(self, log_odds: FloatArray) -> FloatArray:
        """Return the log of the mean probability of each comparison, without underflow."""
        log_means = np.full(len(self.weight), -np.inf)
        np.logaddexp.at(log_means, self.comparison, np.log(self.vote_weight) - np.logaddexp(0, -log_odds))
        return log_means
