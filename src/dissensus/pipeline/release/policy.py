"""Policy that merges the picks of several raters into one pair."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_list, format_value, suggest
from dissensus.schema.numbers import check_share, check_whole

Disagreement: TypeAlias = Literal["strength", "unanimous"]
Ties: TypeAlias = Literal["drop", "random"]

_WORDS: Final = {
    "strength": "The answer with the larger sum of strengths is chosen, and the strength of the pair is their mean.",
    "unanimous": "A pair is kept where all picks that count are of one answer; its strength is their mean.",
    "drop": "Ties are left out.",
    "random": "Of ties one answer is chosen at random, with strength 0.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPolicy:
    """Policy that merges the picks of several raters into one pair.

    Parameters
    ----------
    disagreement
        ``strength``: the side with the larger sum of strengths is chosen. ``unanimous``: pairs on which raters disagree
        are dropped.
    ties
        ``drop`` them, or ``random``: choose one side at random, with strength 0.
    keep_weakest
        Count picks of the weakest strength, and those of neither answer; the HH paper does not. A single strength
        always counts.
    edits
        Make pairs of an edited answer and its original.
    test_share
        Share of conversations in the test split.
    seed
        Seed of the split and of random ties.

    Examples
    --------
    >>> for sentence in PairPolicy(keep_weakest=True).sentences():
    ...     print(sentence)
    The answer with the larger sum of strengths is chosen, and the strength of the pair is their mean.
    Ties are left out.
    Picks of every strength count, and of neither answer as 0.
    An edited answer is chosen over what it was before, with no strength.
    5 % of the conversations are for testing, by seed 0.
    """

    disagreement: Disagreement = "strength"
    ties: Ties = "drop"
    keep_weakest: bool = False
    edits: bool = True
    test_share: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        _check_among("disagreement", self.disagreement, get_args(Disagreement))
        _check_among("ties", self.ties, get_args(Ties))
        check_share("test_share", self.test_share)
        check_whole("seed", self.seed)

    def least(self, levels: int) -> int:
        """Return the least strength that counts, given the number of strengths."""
        return 0 if self.keep_weakest else min(2, levels)

    def sentences(self) -> tuple[str, ...]:
        """Return the policy in words, for readers of the data."""
        weakest = (
            "Picks of every strength count, and of neither answer as 0."
            if self.keep_weakest
            else "Picks of the weakest strength, and of neither answer, do not count where there are several strengths."
        )
        edits = (
            "An edited answer is chosen over what it was before, with no strength."
            if self.edits
            else "Edited answers are left out."
        )
        split = f"{100 * self.test_share:g} % of the conversations are for testing, by seed {self.seed}."
        return (_WORDS[self.disagreement], _WORDS[self.ties], weakest, edits, split)


def _check_among(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidInput(
            f"{name} is {format_value(value)}; give one of {format_list(allowed)}.{suggest(str(value), allowed)}"
        )
