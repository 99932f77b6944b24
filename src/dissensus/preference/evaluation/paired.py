"""Paired comparison of two models on the same pairs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dissensus.preference.data.pairs import Pair, dialogues
from dissensus.preference.evaluation.accuracy import Evaluation, check_probabilities, score_hits
from dissensus.stats.cluster_robust import ClusteredEstimate, paired_difference


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """Paired difference in accuracy of two models.

    Parameters
    ----------
    accuracy
        Accuracy of the first less that of the second; above 0 the first is right more often.
    log_loss
        Log-loss of the first less that of the second; below 0 the first knows better.
    """

    accuracy: ClusteredEstimate
    log_loss: ClusteredEstimate

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalModel:
    """Another model on the same pairs."""

    name: str  # What it is called
    found: Evaluation  # What was found of it
    difference: ModelComparison  # How much better the first one is


def compare_models(
    pairs: Sequence[Pair], margins: npt.ArrayLike, others: npt.ArrayLike, *, level: float = 0.95
) -> ModelComparison:
    """Compare two models by the pairs on which they differ.

    Parameters
    ----------
    pairs
        Of two dialogues or more.
    margins, others
        Score of the chosen less that of the rejected answer by the first and by the second model, log odds.
    level
        Confidence level of the intervals, which are for other dialogues.

    Returns
    -------
    Comparison
        Pairs count by their weight; a tie is half a hit.

    Raises
    ------
    InvalidInput
        There is no pair, or not a number for each.
    UndefinedEstimate
        All pairs are of one dialogue.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", str(number)),), "yes", "no") for number in range(4)]
    >>> compare_models(pairs, [2.0, 1.0, 1.0, 1.0], [2.0, 1.0, 1.0, -1.0]).accuracy.estimate
    0.25
    """
    one, other = check_probabilities(pairs, margins), check_probabilities(pairs, others)
    difference = partial(
        paired_difference, clusters=dialogues(pairs), weights=np.array([pair.weight for pair in pairs]), level=level
    )
    return ModelComparison(
        accuracy=difference(score_hits(one), score_hits(other)),
        log_loss=difference(np.logaddexp(0, -one), np.logaddexp(0, -other)),
    )


def describe_comparison(first: str, second: str, difference: ModelComparison) -> str:
    """Say whether one of two models is shown to be right more often than the other."""
    one = difference.accuracy
    if one.ci_low <= 0 <= one.ci_high:
        return f"On these pairs neither {first} nor {second} is shown to be right more often."
    better, worse = (first, second) if one.estimate > 0 else (second, first)
    return f"{better} is right more often than {worse}, on {100 * abs(one.estimate):.1f} % of the pairs."
