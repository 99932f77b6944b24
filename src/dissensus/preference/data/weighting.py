"""Choices of pairs, and their weights in training: strength, margins and soft labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.stats.result import FloatArray, Int64Array

Strength = Literal["ignored", "weight", "margin"]
STRENGTHS: Final[tuple[str, ...]] = get_args(Strength)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairChoices:
    """Choices and weights of pairs."""

    weight: FloatArray  # Weight of each pair, shape (pairs,)
    share: FloatArray  # Share of the raters who chose the first answer
    margin: FloatArray  # Difference of scores that is required, in log odds

    @classmethod
    def unanimous(cls, weight: FloatArray) -> "PairChoices":
        """Return choices of the first answer of each pair by all its raters."""
        return cls(weight=weight, share=np.ones(len(weight)), margin=np.zeros(len(weight)))

    @property
    def plain(self) -> "PairChoices":
        """The choices without margins."""
        return PairChoices(weight=self.weight, share=self.share, margin=np.zeros_like(self.margin))

    def take(self, pairs: Int64Array) -> "PairChoices":
        """Return the choices of these pair indices."""
        return PairChoices(weight=self.weight[pairs], share=self.share[pairs], margin=self.margin[pairs])

    def loss(self, log_odds: FloatArray) -> FloatArray:
        """Return the weighted cross-entropy of each pair, given the log odds of its first answer."""
        return np.asarray(self.weight * (np.logaddexp(0, -log_odds) + (1 - self.share) * log_odds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """Weighting of votes in training.

    Parameters
    ----------
    strength
        ``ignored``: all choices count the same. ``weight``: a choice counts by its strength, scaled to a mean of 1.
        ``margin``: the strength is the margin by which the chosen answer should score higher, scaled to a maximum of 1
        in log odds. Choices of unknown strength have weight 1 and no margin.
    soft
        True to count each comparison once, with the share of its raters who chose each answer; False to count each
        rater once.

    Raises
    ------
    InvalidInput
        Unknown use of strengths, or margins with soft labels.

    Examples
    --------
    >>> pairs = [Pair((), "yes", "no", strength=3.0, agreement=0.75), Pair((), "a", "b", strength=1.0)]
    >>> Weighting(strength="weight", soft=True).choices(pairs)
    PairChoices(weight=array([1.5, 0.5]), share=array([0.75, 1.  ]), margin=array([0., 0.]))
    """

    strength: Strength = "ignored"
    soft: bool = False

    def __post_init__(self) -> None:
        if self.strength not in STRENGTHS:
            near = suggest(str(self.strength), STRENGTHS)
            raise InvalidInput(
                f"strength is {format_value(self.strength)}; it is one of {format_list(STRENGTHS)}.{near}"
            )
        if self.strength == "margin" and self.soft:
            raise InvalidInput(
                "Strength is used as a margin together with soft labels: a margin applies to one rater's choice, not "
                "to a share of raters. Use strength as weight, or leave soft labels out."
            )

    def choices(self, pairs: Sequence[Pair]) -> PairChoices:
        """Return weight, share and margin of each pair.

        Raises
        ------
        InvalidInput
            Strengths are used, and no pair has one, or one is not above 0.
        """
        weight = np.array([pair.weight for pair in pairs])
        share, margin = np.ones(len(pairs)), np.zeros(len(pairs))
        if self.strength != "ignored":
            strength = _strengths(pairs)
            finite = np.isfinite(strength)
            if self.strength == "margin":
                margin = np.where(finite, strength / strength[finite].max(), 0.0)
            else:
                weight *= np.where(finite, strength / strength[finite].mean(), 1.0)
        if self.soft:
            n_votes = Counter(pair.comparison for pair in pairs)
            weight /= np.array([n_votes[pair.comparison] for pair in pairs])
            share = np.array([1.0 if pair.agreement is None else pair.agreement for pair in pairs])
        return PairChoices(weight=weight, share=share, margin=margin)


def _strengths(pairs: Sequence[Pair]) -> FloatArray:
    """Return the strength of each pair; NaN if unknown."""
    strength = np.array([np.nan if pair.strength is None else pair.strength for pair in pairs])
    if np.isnan(strength).all():
        raise InvalidInput(
            "No pair has a strength, so it cannot be used. Leave --strength out, or give a column strength."
        )
    invalid = np.flatnonzero(strength <= 0)
    if len(invalid):
        index = invalid[0]
        raise InvalidInput(
            f"Strengths are used, and that of pair {index + 1:,} is {strength[index]:g}; a strength is above 0. "
            "Correct it, leave the pair out, or ignore strengths."
        )
    return strength
