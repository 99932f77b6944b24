"""Promotion of a new model version: a test of non-inferiority on held-out pairs."""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.preference.data.pairs import Pair, dialogues
from dissensus.preference.evaluation.accuracy import score_hits
from dissensus.preference.evaluation.paired import compare_models
from dissensus.stats.cluster_robust import ClusteredEstimate, clustered_share

HELD_OUT: Final = 5
"""One of so many dialogues is never trained on."""

LEAST: Final = 30
"""Dialogues held out with which a version can take the place of another: of fewer, intervals are often too short."""

POWER: Final = 0.8
"""How often as many pairs as are said to be needed would show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionRule:
    """Rule of promotion: margin and level of the non-inferiority test.

    Parameters
    ----------
    margin
        By how much its accuracy may be lower at most: from 0 to less than one half.
    level
        Confidence level of the two-sided interval whose lower bound must lie above that.

    Raises
    ------
    InvalidInput
        A value that cannot be.
    """

    margin: float = 0.02
    level: float = 0.95

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 0.5:
            raise InvalidInput(f"The margin is {self.margin:g}; give a share from 0 to less than 0.5, such as 0.02.")
        if not 0.5 <= self.level < 1:
            raise InvalidInput(f"The level is {self.level:g}; give one from 0.5 to less than 1, such as 0.95.")


class HoldoutSplit(NamedTuple):
    """Pairs that are trained on, and those that never are."""

    known: tuple[Pair, ...]
    apart: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class PromotionDecision:
    """Decision on the promotion of a new version.

    Parameters
    ----------
    promoted
        Whether it becomes the current one.
    why
        In a sentence.
    accuracy
        Of the new version, on dialogues held out.
    difference
        That less the accuracy of the current one, on the same pairs; None where there is no current one.
    over_reference
        The same for the reference; None where none was given.
    """

    promoted: bool
    why: str
    accuracy: ClusteredEstimate
    difference: ClusteredEstimate | None
    over_reference: ClusteredEstimate | None = None


def split_holdout(pairs: Sequence[Pair]) -> HoldoutSplit:
    """Return pairs to train on, and those of every fifth dialogue, told by a hash of its first human turn.

    A dialogue is on the same side for ever, whatever else there is: what was held out once is never trained on later.
    Neither case nor spaces tell dialogues apart.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> pairs = [Pair((Turn("human", f"Hello {number}"),), "yes", "no") for number in range(1000)]
    >>> len(split_holdout(pairs).apart), set(split_holdout(pairs[:500]).apart) <= set(split_holdout(pairs).apart)
    (201, True)
    """
    sides = [_number(pair.dialogue) % HELD_OUT == 0 for pair in pairs]
    known = tuple(pair for pair, out in zip(pairs, sides, strict=True) if not out)
    return HoldoutSplit(known, tuple(pair for pair, out in zip(pairs, sides, strict=True) if out))


def decide_promotion(
    pairs: Sequence[Pair],
    margins: npt.ArrayLike,
    current: npt.ArrayLike | None = None,
    *,
    reference: npt.ArrayLike | None = None,
    rule: PromotionRule | None = None,
) -> PromotionDecision:
    r"""Tell whether a new version takes the place of the current one: only if it is shown to be no worse by a margin.

    It is promoted where the interval of the difference of accuracies, new less current, lies above :math:`-\delta` for
    the margin :math:`\delta`: a test of non-inferiority, at half of what the level leaves (2.5 % for .95). Its variance
    is taken to be no less than :math:`\delta (1 - \delta) / G` for G dialogues, the least that a version has which is
    worse by the margin: two versions that chance to agree on all of few pairs show nothing. With fewer than `LEAST`
    dialogues none takes the place of another. Where there is no current one, the interval of its own accuracy must lie
    above one half.

    Versions that are each a little worse could follow each other without end. So one that is compared with a reference
    too, such as the last one that was shown to be better, must be shown to be no worse than both.

    Parameters
    ----------
    pairs
        Of dialogues that none of them was trained on.
    margins, current, reference
        Score of the chosen less that of the rejected answer by each of the versions, log odds.
    rule
        Margin and level.

    Raises
    ------
    InvalidInput
        There is not a number for each pair.
    UndefinedEstimate
        All pairs are of one dialogue.

    Notes
    -----
    Intervals count dialogues, see `dissensus.preference.evaluation.paired.compare_models`. Pairs count by their weight;
    a tie is half a hit.

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
        raise UndefinedEstimate(
            f"{n:,} of the dialogues are held out (every fifth, told by a hash), which is too few to measure anything "
            "on. Collect more comparisons."
        )
    new = np.asarray(margins, dtype=np.float64)
    weights = np.array([pair.weight for pair in pairs])
    accuracy = clustered_share(score_hits(new), dialogues(pairs), weights=weights, level=rule.level)
    if current is None:
        return PromotionDecision(accuracy.ci_low > 0.5, _of_the_first(accuracy), accuracy, None)

    def over(other: npt.ArrayLike) -> ClusteredEstimate:
        return _widened(compare_models(pairs, new, other, level=rule.level).accuracy, rule)

    over_current, over_reference = over(current), None if reference is None else over(reference)
    found = {"the one in use": over_current} | ({"the reference": over_reference} if over_reference else {})
    worse = {name: one for name, one in found.items() if one.ci_low <= -rule.margin}
    why = " ".join(_of_another(name, one, rule) for name, one in (worse or found).items())
    if n < LEAST:
        why = f"{n:,} dialogues are held out, and with fewer than {LEAST} no version takes the place of another."
    return PromotionDecision(n >= LEAST and not worse, why, accuracy, over_current, over_reference)


def _widened(found: ClusteredEstimate, rule: PromotionRule) -> ClusteredEstimate:
    """Return a difference whose interval is no narrower than that of a version which is worse by the margin."""
    half = max(found.ci_high - found.estimate, _z(rule) * sqrt(rule.margin * (1 - rule.margin) / found.clusters))
    return replace(found, ci_low=found.estimate - half, ci_high=found.estimate + half)


def _z(rule: PromotionRule) -> float:
    return NormalDist().inv_cdf((1 + rule.level) / 2)


def _of_the_first(accuracy: ClusteredEstimate) -> str:
    found = f"it is right on {accuracy.estimate:.3f} [{accuracy.ci_low:.3f}, {accuracy.ci_high:.3f}]"
    if accuracy.ci_low > 0.5:
        return f"It is shown to be better than a coin: {found}."
    return f"It is not shown to be better than a coin: {found} of {accuracy.n:,} pairs held out. Collect more."


def _of_another(name: str, found: ClusteredEstimate, rule: PromotionRule) -> str:
    told = f"its accuracy less that is {found.estimate:+.3f} [{found.ci_low:+.3f}, {found.ci_high:+.3f}]"
    if found.ci_low > -rule.margin:
        return f"It is shown to be no worse than {name} by more than {rule.margin:g}: {told}."
    return f"It is not shown to be no worse than {name} by more than {rule.margin:g}: {told}.{_needed(found, rule)}"


def _needed(found: ClusteredEstimate, rule: PromotionRule) -> str:
    """Say how many pairs would show it, were the difference what it seems to be; nothing where it is too large."""
    room = rule.margin + found.estimate
    if room <= 0:
        return ""
    needed = (found.estimate - found.ci_low) * (1 + NormalDist().inv_cdf(POWER) / _z(rule)) / room
    n = ceil(found.n * needed**2)
    return (
        f" Were that the truth, about {n:,} pairs held out would show it in four of five cases; there are {found.n:,}."
    )


def _number(dialogue: str) -> int:
    plain = " ".join(unicodedata.normalize("NFKC", dialogue).casefold().split())
    return int.from_bytes(hashlib.sha256(f"held out {plain}".encode("utf-8", "surrogatepass")).digest()[:8])
