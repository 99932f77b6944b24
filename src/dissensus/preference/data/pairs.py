"""Preference pairs: a chosen and a rejected answer to the same conversation."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

import numpy as np

from dissensus.errors import InvalidInput
from dissensus.schema.hints import format_value
from dissensus.schema.records.conversation import Turn
from dissensus.stats.result import Int64Array

Purpose = Literal["helpful", "harmless"]
PURPOSES: Final[tuple[str, ...]] = get_args(Purpose)
EMPTY: Final = "an answer is empty"
"""Reason why a pair cannot be compared."""
MAX_NAMES: Final = 10
"""Limit on the rows or ids that a reason names."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A chosen and a rejected answer of a chatbot to the same conversation.

    Parameters
    ----------
    context
        Turns before the answers, the same for both.
    chosen, rejected
        The answers: different and not empty.
    strength
        Strength of the preference on the scale of the campaign; None if unknown. Evaluation reports it; training uses
        it if the weighting says so.
    weight
        Weight of the pair, above 0.
    rater, group
        Rater who chose, and the rater's group; None if unknown.
    groups
        Groups of the rater by axis, such as ``(("rater_gender", "Woman"),)``.
    tranche
        Collection phase, such as ``helpful-online``; None if unknown.
    agreement
        Share of the raters who made this choice if several compared the answers; None if unknown.

    Raises
    ------
    InvalidInput
        The answers are the same, one is empty, or the weight, strength or agreement is out of range.
    """

    context: tuple[Turn, ...]
    chosen: str
    rejected: str
    strength: float | None = None
    weight: float = 1.0
    rater: str | None = None
    group: str | None = None
    tranche: str | None = None
    agreement: float | None = None
    groups: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.chosen.strip() or not self.rejected.strip():
            raise InvalidInput("An answer of the pair is empty, so there was nothing to compare. Leave the pair out.")
        if self.chosen == self.rejected:
            raise InvalidInput(
                f"Both answers are {format_value(self.chosen)}, so nothing was chosen. Leave the pair out."
            )
        if not 0 < self.weight < np.inf:
            raise InvalidInput(f"The weight of a pair is {self.weight:g}; give a number above 0, such as 1.")
        if self.strength is not None and not np.isfinite(self.strength):
            raise InvalidInput(f"The strength of a pair is {self.strength:g}; give a number, or none.")
        if self.agreement is not None and not 0 <= self.agreement <= 1:
            raise InvalidInput(f"The agreement on a pair is {self.agreement:g}; give a share from 0 to 1, or none.")

    @property
    def dialogue(self) -> str:
        """First human turn, which identifies the dialogue."""
        return next((turn.text for turn in self.context if turn.speaker == "human"), "")

    @property
    def n_turns(self) -> int:
        """Human turns before the answers."""
        return sum(turn.speaker == "human" for turn in self.context)

    @property
    def comparison(self) -> tuple[tuple[Turn, ...], frozenset[str]]:
        """Context and both answers, regardless of the choice."""
        return self.context, frozenset((self.chosen, self.rejected))

    @property
    def cells(self) -> dict[str, str]:
        """Group of the rater by axis, as far as known."""
        return dict(self.groups) | ({} if self.group is None else {"group": self.group})

    def swapped(self) -> "Pair":
        """Return the pair as if the other answer had been chosen."""
        agreement = None if self.agreement is None else 1 - self.agreement
        return replace(self, chosen=self.rejected, rejected=self.chosen, agreement=agreement)


def unanimity(pairs: Sequence[Pair]) -> list[bool | None]:
    """Return for each pair whether all its raters chose the same answer; None if fewer than two raters are known.

    Derived from the agreement if known, otherwise from the raters of all pairs with the same answers.

    Examples
    --------
    >>> pair = Pair((), "yes", "no", rater="ada")
    >>> unanimity([pair, replace(pair, rater="bob").swapped(), Pair((), "a", "b"), Pair((), "a", "c", agreement=1.0)])
    [False, False, None, True]
    """
    keys = [pair.comparison for pair in pairs]
    raters: defaultdict[Any, set[str]] = defaultdict(set)
    chosen: defaultdict[Any, set[str]] = defaultdict(set)
    for key, pair in zip(keys, pairs, strict=True):
        if pair.rater is not None:
            raters[key].add(pair.rater)
            chosen[key].add(pair.chosen)
    by_votes = [len(chosen[key]) == 1 if len(raters[key]) > 1 else None for key in keys]
    return [
        unanimous if pair.agreement is None else pair.agreement in (0, 1)
        for unanimous, pair in zip(by_votes, pairs, strict=True)
    ]


def answers(pairs: Sequence[Pair]) -> list[str]:
    """Return the chosen and the rejected answer of each pair, alternating."""
    return [answer for pair in pairs for answer in (pair.chosen, pair.rejected)]


def last_human_turns(pairs: Sequence[Pair]) -> list[str]:
    """Return the last human turn of each pair's context, once per answer; empty if there is none."""
    last = (next((turn.text for turn in reversed(pair.context) if turn.speaker == "human"), "") for pair in pairs)
    return [text for text in last for _ in range(2)]


def dialogues(pairs: Sequence[Pair]) -> Int64Array:
    """Return a dialogue number for each pair, independent of the order of the pairs."""
    keys = [hashlib.sha256(pair.dialogue.encode()).hexdigest() for pair in pairs]
    return np.unique(keys, return_inverse=True)[1].astype(np.int64)


def pair_clusters(pairs: Sequence[Pair]) -> Int64Array:
    """Return the dialogue of each pair, and the rater if any is known, as crossed clusterings, shape (1 or 2, pairs).

    A pair of an unknown rater is a cluster by itself.

    Examples
    --------
    >>> from dissensus.schema.records.conversation import Turn
    >>> hello, bye = (Turn("human", "Hello"),), (Turn("human", "Bye"),)
    >>> known = [Pair(hello, "yes", "no", rater="a"), Pair(bye, "yes", "no", rater="a")]
    >>> pair_clusters([*known, Pair(hello, "yes", "no")])
    array([[1, 0, 1],
           [0, 0, 1]])
    """
    dialogue = dialogues(pairs)
    if all(pair.rater is None for pair in pairs):
        return dialogue[None]
    numbers: dict[str | int, int] = {}
    rater = [
        numbers.setdefault(position if pair.rater is None else pair.rater, len(numbers))
        for position, pair in enumerate(pairs)
    ]
    return np.array([dialogue, rater], dtype=np.int64)


def folds(dialogue: Int64Array, count: int, *, seed: int, strata: Int64Array | None = None) -> Int64Array:
    """Return the fold of each pair: dialogues stay together, and folds have nearly equal numbers of dialogues.

    With `strata`, the stratum of each pair, dialogues of each stratum are spread evenly over the folds.

    Examples
    --------
    >>> fold = folds(np.array([0, 0, 1, 2, 3, 3]), 2, seed=0)
    >>> bool(fold[0] == fold[1]), bool(fold[4] == fold[5]), np.bincount(fold[[0, 2, 3, 4]]).tolist()
    (True, True, [2, 2])
    """
    distinct, number = np.unique(dialogue, return_inverse=True)
    if count < 2:
        raise InvalidInput(f"There are {count} folds; give 2 or more, such as 5.")
    if len(distinct) < count:
        raise InvalidInput(
            f"There are {len(distinct):,} dialogues (first human turns that differ) and {count} folds. Pairs of one "
            "dialogue stay together, so give more pairs, or fewer folds."
        )
    order = np.random.default_rng(seed).permutation(len(distinct))
    if strata is not None:
        _, first = np.unique(dialogue, return_index=True)
        order[np.lexsort((order, strata[first]))] = np.arange(len(distinct))
    return np.asarray((order % count)[number])


def digest(pairs: Sequence[Pair]) -> str:
    """Return the SHA-256 of pairs in hexadecimal, independent of their order."""
    lines = sorted(
        json.dumps(
            [
                [(turn.speaker, turn.text) for turn in pair.context],
                pair.chosen,
                pair.rejected,
                pair.strength,
                pair.weight,
                pair.agreement,
                pair.tranche,
                pair.rater,
                sorted(pair.cells.items()),
            ],
            ensure_ascii=False,
        )
        for pair in pairs
    )
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def describe_empty(kind: str, names: Sequence[object]) -> str:
    """Return the reason why pairs with an empty answer are left out, with the rows or ids of the first.

    Examples
    --------
    >>> describe_empty("row", [3]), describe_empty("pair", ["a", "b"])
    ('an answer is empty (row 3)', 'an answer is empty (pairs a, b)')
    """
    more = f" and {len(names) - MAX_NAMES:,} more" if len(names) > MAX_NAMES else ""
    return f"{EMPTY} ({kind}{'s' * (len(names) > 1)} {', '.join(map(str, names[:MAX_NAMES]))}{more})"
