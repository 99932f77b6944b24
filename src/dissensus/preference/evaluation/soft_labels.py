"""Distance between predicted and observed soft labels of comparisons with several raters."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.pairs import Pair, dialogues, unanimity
from dissensus.preference.data.sparse import Floats, Integers
from dissensus.preference.fit.logistic import probability
from dissensus.stats.cluster_robust import ClusteredEstimate, Mean, clustered_mean, clustered_share


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftLabelDistance:
    """Distance of predicted probabilities from observed shares."""

    distance: Mean  # Mean Manhattan distance of both distributions over the two answers, 2|P - t|: from 0 to 2
    cross_entropy: Mean  # Mean of -t ln P - (1 - t) ln(1 - P); no less than the mean entropy of the shares
    # Mean share of the raters of a comparison whose choice is foretold wrongly; a tie is half an error
    error_rate: ClusteredEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftLabelEvaluation:
    """Soft-label metrics on comparisons with several raters."""

    n_comparisons: int  # Comparisons, and raters that are known by their ids
    n_raters: int
    entropy: float  # Mean entropy of the shares, which is the least that cross-entropy can be
    model: SoftLabelDistance  # How near they come: the model, the length of answers alone, and who always says one half
    length_alone: SoftLabelDistance
    one_half: SoftLabelDistance


def evaluate_soft_labels(
    pairs: Sequence[Pair], margins: npt.ArrayLike, length: npt.ArrayLike, *, level: float = 0.95
) -> SoftLabelEvaluation | None:
    """Compare what a model says with the shares of raters who chose each answer.

    The two soft-label and perspectivist measures are those of the LeWiDi 2025 shared task for nominal labels.

    Notes
    -----
    Where the model sees raters differently, what it says of a comparison is the mean over those who made it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> pair = Pair((), "yes", "no", rater="ada")
    >>> found = evaluate_soft_labels([pair, replace(pair, rater="bo").swapped()], [np.log(3), -np.log(3)], [0.0, 0.0])
    >>> round(found.model.distance.estimate, 3), found.model.error_rate.estimate, round(found.entropy, 3)
    (0.5, 0.5, 0.693)
    """
    several = np.flatnonzero([one is not None for one in unanimity(pairs)])
    if not len(several):
        return None
    some = [pairs[place] for place in several.tolist()]
    asked = _Asked.of(some)
    near = partial(asked.nearness, level=level)
    return SoftLabelEvaluation(
        n_comparisons=len(asked.weight),
        n_raters=len({pair.rater for pair in some} - {None}),
        entropy=float(np.average(_entropy(asked.share), weights=asked.weight)),
        model=near(np.asarray(margins, dtype=np.float64)[several]),
        length_alone=near(np.asarray(length, dtype=np.float64)[several]),
        one_half=near(np.zeros(len(some))),
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Asked:
    """Comparisons: of which each vote is, its weight and how far it is for the first answer; and what these come to."""

    comparison: Integers
    vote_weight: Floats
    vote_share: Floats
    sign: Floats
    weight: Floats
    share: Floats
    dialogue: Integers

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "_Asked":
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

    def nearness(self, margins: Floats, *, level: float) -> SoftLabelDistance:
        """Return how near margins of the chosen answers come."""
        first = self.sign * margins
        by_dialogue = partial(clustered_mean, clusters=self.dialogue, weights=self.weight, level=level)
        distance = 2 * np.abs(self._mean(probability(first)) - self.share)
        cross = -self.share * self._log_mean(first) - (1 - self.share) * self._log_mean(-first)
        wrong = np.where(first == 0, 0.5, np.where(first > 0, 1 - self.vote_share, self.vote_share))
        errors = clustered_share(self._mean(wrong), self.dialogue, weights=self.weight, level=level)
        return SoftLabelDistance(distance=by_dialogue(distance), cross_entropy=by_dialogue(cross), error_rate=errors)

    def _mean(self, of_votes: Floats) -> Floats:
        return np.asarray(np.bincount(self.comparison, weights=self.vote_weight * of_votes), dtype=np.float64)

    def _log_mean(self, odds: Floats) -> Floats:
        """Return the logarithm of the mean probability of each comparison, however small that is."""
        found = np.full(len(self.weight), -np.inf)
        np.logaddexp.at(found, self.comparison, np.log(self.vote_weight) - np.logaddexp(0, -odds))
        return found


def _entropy(share: Floats) -> Floats:
    split = (share > 0) & (share < 1)
    t = np.where(split, share, 0.5)
    return np.where(split, -t * np.log(t) - (1 - t) * np.log(1 - t), 0.0)
