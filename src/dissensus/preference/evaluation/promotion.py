"""Promotion of a new model version: a test of non-inferiority on held-out pairs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.pairs import Pair, pair_clusters
from dissensus.preference.evaluation.accuracy import check_margins, score_hits
from dissensus.preference.evaluation.paired import compare_models
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share

MIN_DIALOGUES: Final = 30
"""Held-out dialogues required to replace a version; with fewer, intervals are often too short."""

POWER: Final = 0.8
"""Power of the test for the reported number of pairs needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionRule:
    """Rule of promotion: margin and confidence of the non-inferiority test.

    Parameters
    ----------
    margin
        Non-inferiority margin of accuracy, from 0 to less than one half.
    confidence
        Confidence level of the two-sided interval of the difference.

    Raises
    ------
    InvalidInput
        Margin or confidence is out of range.
    """

    margin: float = 0.02
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 0.5:
            raise InvalidInput(f"The margin is {self.margin:g}; give a share from 0 to less than 0.5, such as 0.02.")
        if not 0.5 <= self.confidence < 1:
            raise InvalidInput(
                f"The confidence is {self.confidence:g}; give one from 0.5 to less than 1, such as 0.95."
            )


@dataclass(frozen=True, slots=True)
class PromotionDecision:
    """Decision on the promotion of a new version.

    Parameters
    ----------
    promoted
        True if the new version becomes the current one.
    reason
        Reason in a sentence.
    accuracy
        Accuracy of the new version on held-out dialogues.
    difference
        Accuracy of the new minus that of the current version on the same pairs; None without a current version.
    over_reference
        Accuracy of the new minus that of the reference version; None without a current version or a reference.
    """

    promoted: bool
    reason: str
    accuracy: ClusteredEstimate
    difference: ClusteredEstimate | None
    over_reference: ClusteredEstimate | None = None


def decide_promotion(
    pairs: Sequence[Pair],
    margins: npt.ArrayLike,
    current: npt.ArrayLike | None = None,
    *,
    reference: npt.ArrayLike | None = None,
    rule: PromotionRule | None = None,
) -> PromotionDecision:
    r"""Decide on the promotion of a new version by a test of non-inferiority to the current one.

    The new version is promoted if the interval of the difference of accuracies, new minus current, lies above
    :math:`-\delta` for the margin :math:`\delta`. The one-sided size of this test is half the complement of the
    confidence level (2.5 % for 0.95). The variance is bounded below by :math:`\delta (1 - \delta) / G` for G dialogues
    or raters, whichever are fewer: the least variance of a version that is worse by the margin. Two versions that agree
    on a few pairs by chance would otherwise have an interval of length 0. With fewer than `MIN_DIALOGUES` dialogues no
    version replaces another. Without a current version, the interval of the new version's accuracy must lie above
    one half.

    A chain of slightly worse versions could degrade the model indefinitely. With a reference, such as the last version
    that was shown to be better, the new version must therefore be non-inferior to both.

    Parameters
    ----------
    pairs
        Pairs of dialogues that no version was trained on.
    margins, current, reference
        Score of the chosen minus score of the rejected answer by each version, in log odds.
    rule
        Margin and confidence.

    Raises
    ------
    InvalidInput
        A margin is missing or not finite.
    UndefinedEstimate
        There are fewer than two dialogues.

    Notes
    -----
    Intervals are clustered by dialogue, and by rater if raters are known, see
    `dissensus.preference.evaluation.paired.compare_models`. Pairs are weighted by their weight; a tie is half a hit.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", str(number)),), "yes", "no") for number in range(100)]
    >>> rule = PromotionRule(margin=0.05)
    >>> same = decide_promotion(pairs, [1.0] * 80 + [-1.0] * 20, [2.0] * 80 + [-2.0] * 20, rule=rule)
    >>> same.promoted, same.difference.estimate
    (True, 0.0)
    >>> worse = decide_promotion(pairs, [1.0] * 80 + [-1.0] * 20, [2.0] * 90 + [-2.0] * 10)
    >>> worse.promoted
    False
    """
    rule = rule or PromotionRule()
    n = len({pair.dialogue for pair in pairs})
    if n < 2:
        held_out = "Only 1 dialogue is" if n else "No dialogue is"
        raise UndefinedEstimate(
            f"{held_out} held out (every fifth, by a hash), which is too few for an evaluation. Collect more "
            "comparisons."
        )
    new = check_margins(pairs, margins)
    weights = np.array([pair.weight for pair in pairs])
    accuracy = clustered_share(score_hits(new), pair_clusters(pairs), weights=weights, confidence=rule.confidence)
    if current is None:
        return PromotionDecision(accuracy.ci_low > 0.5, _describe_first(accuracy), accuracy, None)

    def compare(other: npt.ArrayLike) -> ClusteredEstimate:
        return _widen(compare_models(pairs, new, other, confidence=rule.confidence).accuracy, rule)

    over_current, over_reference = compare(current), None if reference is None else compare(reference)
    differences = {"the one in use": over_current} | ({"the reference": over_reference} if over_reference else {})
    worse = {name: difference for name, difference in differences.items() if difference.ci_low <= -rule.margin}
    reason = " ".join(_describe_difference(name, estimate, rule) for name, estimate in (worse or differences).items())
    if n < MIN_DIALOGUES:
        reason = f"{n:,} dialogues are held out, and with fewer than {MIN_DIALOGUES} no version replaces another."
    return PromotionDecision(n >= MIN_DIALOGUES and not worse, reason, accuracy, over_current, over_reference)


def _widen(difference: ClusteredEstimate, rule: PromotionRule) -> ClusteredEstimate:
    """Widen the interval of a difference to at least that of a version that is worse by the margin."""
    estimate = difference.estimate
    clusters = min(difference.clusters, difference.crossed_clusters or difference.clusters)
    least = _normal_quantile(rule) * sqrt(rule.margin * (1 - rule.margin) / clusters)
    half_width = max(difference.ci_high - estimate, least)
    return replace(difference, ci_low=estimate - half_width, ci_high=estimate + half_width)


def _normal_quantile(rule: PromotionRule) -> float:
    """Return the standard normal quantile of the two-sided interval."""
    return NormalDist().inv_cdf((1 + rule.confidence) / 2)


def _describe_first(accuracy: ClusteredEstimate) -> str:
    """Return a sentence on the accuracy of a first version."""
    share = f"it is right on {accuracy.estimate:.3f} [{accuracy.ci_low:.3f}, {accuracy.ci_high:.3f}]"
    if accuracy.ci_low > 0.5:
        return f"It is shown to be better than chance: {share}."
    return f"It is not shown to be better than chance: {share} of {accuracy.n:,} held-out pairs. Collect more."


def _describe_difference(name: str, difference: ClusteredEstimate, rule: PromotionRule) -> str:
    """Return a sentence on the non-inferiority of a version to another."""
    interval = f"{difference.estimate:+.3f} [{difference.ci_low:+.3f}, {difference.ci_high:+.3f}]"
    verdict = f"no worse than {name} by more than {rule.margin:g}: the difference of accuracies is {interval}."
    if difference.ci_low > -rule.margin:
        return f"It is shown to be {verdict}"
    return f"It is not shown to be {verdict}{_describe_sample_size(difference, rule)}"


def _describe_sample_size(difference: ClusteredEstimate, rule: PromotionRule) -> str:
    """Return a sentence on the number of pairs needed if the estimate were true; empty if it is below the margin."""
    distance = rule.margin + difference.estimate
    if distance <= 0:
        return ""
    factor = (
        (difference.estimate - difference.ci_low)
        * (1 + NormalDist().inv_cdf(POWER) / _normal_quantile(rule))
        / distance
    )
    n = ceil(difference.n * factor**2)
    return (
        f" If this is the true difference, about {n:,} held-out pairs would show it in four of five cases; there are "
        f"{difference.n:,}."
    )
