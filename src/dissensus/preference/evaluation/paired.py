"""Paired comparison of two models on the same pairs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.pairs import Pair, pair_clusters
from dissensus.preference.evaluation.accuracy import Evaluation, check_margins, score_hits
from dissensus.stats.cluster_robust import ClusteredEstimate, paired_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """Paired difference in accuracy of two models.

    Parameters
    ----------
    accuracy
        Accuracy of the first minus that of the second model; above 0 if the first is right more often.
    log_loss
        Log-loss of the first minus that of the second model; below 0 if the first is better.
    """

    accuracy: ClusteredEstimate
    log_loss: ClusteredEstimate

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalModel:
    """Another model evaluated on the same pairs."""

    name: str
    evaluation: Evaluation
    difference: ModelComparison  # First model minus this one


def compare_models(
    pairs: Sequence[Pair], margins: npt.ArrayLike, other_margins: npt.ArrayLike, *, confidence: float = 0.95
) -> ModelComparison:
    """Compare two models on the same pairs.

    Parameters
    ----------
    pairs
        Pairs of two or more dialogues.
    margins, other_margins
        Score of the chosen minus score of the rejected answer by the first and by the second model, in log odds.
    confidence
        Confidence level of the intervals, which refer to other dialogues, and to other raters if raters are known.

    Returns
    -------
    ModelComparison
        Paired differences, with pairs weighted by their weight; a tie is half a hit.

    Raises
    ------
    InvalidInput
        There is no pair, or a margin is missing or not finite.
    UndefinedEstimate
        All pairs are of one dialogue and one rater.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", str(number)),), "yes", "no") for number in range(4)]
    >>> compare_models(pairs, [2.0, 1.0, 1.0, 1.0], [2.0, 1.0, 1.0, -1.0]).accuracy.estimate
    0.25
    """
    first, second = check_margins(pairs, margins), check_margins(pairs, other_margins)
    difference = partial(
        paired_difference,
        clusters=pair_clusters(pairs),
        weights=np.array([pair.weight for pair in pairs]),
        confidence=confidence,
    )
    return ModelComparison(
        accuracy=difference(score_hits(first), score_hits(second)),
        log_loss=difference(np.logaddexp(0, -first), np.logaddexp(0, -second)),
    )


def describe_comparison(first: str, second: str, difference: ModelComparison) -> str:
    """Return a sentence on which of two models is more accurate."""
    accuracy = difference.accuracy
    if accuracy.ci_low <= 0 <= accuracy.ci_high:
        return f"On these pairs neither {first} nor {second} is shown to be right more often."
    better, worse = (first, second) if accuracy.estimate > 0 else (second, first)
    return f"{better} is right more often than {worse}, on {100 * abs(accuracy.estimate):.1f} % of the pairs."
