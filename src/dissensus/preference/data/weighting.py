"""Training weights of votes: strength, margins and soft labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.preference.data.pairs import Pair
from dissensus.preference.data.sparse import Floats
from dissensus.preference.fit.logistic import PairChoices
from dissensus.schema.hints import format_list, format_value, suggest

Strength = Literal["ignored", "weight", "margin"]
STRENGTHS: Final[tuple[str, ...]] = get_args(Strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighting:
    """Weighting of votes in training.

    Parameters
    ----------
    strength
        ``ignored``: a choice is a choice. ``weight``: it counts by its strength, the mean strength as 1. ``margin``:
        the chosen answer is to score higher by its strength, the greatest strength as a log odds of 1.
    soft
        Whether a comparison counts once, with the share of its raters who chose each answer. Otherwise each of its
        raters counts once.

    Raises
    ------
    InvalidInput
        There is no such use of strengths, or margins are asked for of soft labels.

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
                "Strength is asked for as a margin, and labels are to be soft: a margin is for who chose one answer, "
                "not for a share of people. Use strength as weight, or leave soft labels out."
            )

    def choices(self, pairs: Sequence[Pair]) -> PairChoices:
        """Return what pairs count for.

        Raises
        ------
        InvalidInput
            Strength is asked for, and no pair has one, or one is not above 0.
        """
        weight = np.array([pair.weight for pair in pairs])
        share, margin = np.ones(len(pairs)), np.zeros(len(pairs))
        if self.strength != "ignored":
            strength = _strengths(pairs)
            known = np.isfinite(strength)
            if self.strength == "margin":
                margin = np.where(known, strength / strength[known].max(), 0.0)
            else:
                weight *= np.where(known, strength / strength[known].mean(), 1.0)
        if self.soft:
            asked = Counter(pair.comparison for pair in pairs)
            weight /= np.array([asked[pair.comparison] for pair in pairs])
            share = np.array([1.0 if pair.agreement is None else pair.agreement for pair in pairs])
        return PairChoices(weight=weight, share=share, margin=margin)


def _strengths(pairs: Sequence[Pair]) -> Floats:
    """Return the strength of each pair; not a number where nobody said."""
    strength = np.array([np.nan if pair.strength is None else pair.strength for pair in pairs])
    if np.isnan(strength).all():
        raise InvalidInput(
            "No pair has a strength, so it cannot count. Leave --strength out, or give a column strength."
        )
    wrong = np.flatnonzero(strength <= 0)
    if len(wrong):
        raise InvalidInput(
            f"Strength is to count, and that of pair {wrong[0] + 1:,} is {strength[wrong[0]]:g}: who chose an answer "
            "found it better by more than 0. Correct it, leave the pair out, or ignore strengths."
        )
    return strength
