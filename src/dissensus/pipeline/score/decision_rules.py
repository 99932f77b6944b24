"""Decision rules: which items to block, by the answers of raters and groups, and by the costs of both errors."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dissensus.stats.jury.juries import share_of_juries
from dissensus.stats.result import BoolArray, FloatArray, Int64Array, divide_or_nan, nan_mean
from dissensus.stats.score.pseudo_values import GroupRatings

RULES: Final[Mapping[str, str]] = {
    "plurality": "the most frequent answer is unsafe; a tie with a safe answer is let through",
    "share": "the share of raters who call it unsafe reaches the threshold of the costs",
    "dices": "the share of raters whose worst answer to the questions is unsafe reaches it",
    "any-question": "the share of unsafe answers to one of the questions reaches it",
    "group-balanced": "the mean of the shares of groups reaches it, all groups with the same weight",
    "any-group": "the share of one group reaches the option at_least",
    "worst-group": "the largest cost that a group would bear is smaller than if the item were let through",
    "poststratified": "the share of a population reaches it",
    "expert": "experts call it unsafe",
    "score": "the score of a model reaches it",
    "jury": "half or more of the juries that could be drawn from its raters block it: in a jury, the share of unsafe "
    "votes reaches the threshold",
}
"""Rules, and the condition on which each blocks an item."""
OVER_GROUPS: Final = ("group-balanced", "any-group", "worst-group")
"""Rules that decide by the shares of the groups of an axis."""
WITHOUT_COSTS: Final = ("plurality", "any-group", "expert")
"""Rules that block the same items at all costs."""
WITHOUT_GAP: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (*OVER_GROUPS, "jury"),
        "rules over groups and juries have no gap: without a rater, they hear fewer of the rater's own group, and "
        "groups of other sizes are not judged alike",
    ),
    "poststratified": "poststratified has no gap: shares of populations may rest on the same ratings, which cannot be "
    "left out",
}
"""Rules whose shares of overruled ratings do not compare groups fairly, and the reason."""
_ROUNDING: Final = 1e-12
"""Tolerance for rounding where a share is compared with a threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Costs of blocking an item that is safe, and of letting one through that is not."""

    block: float
    miss: float

    @property
    def threshold(self) -> float:
        """Least share of unsafe answers at which blocking costs less."""
        return self.block / (self.block + self.miss)

    def __str__(self) -> str:
        return f"{self.block:g}:{self.miss:g}"


class UnsafeCounts(NamedTuple):
    """Number of answers to each item, and of unsafe ones."""

    n: FloatArray
    unsafe: FloatArray

    @property
    def share(self) -> FloatArray:
        """Share of unsafe answers; NaN without an answer."""
        return divide_or_nan(self.unsafe, self.n)


class JuryPool(NamedTuple):
    """Raters of each seated group who answered an item, from whom juries are drawn, and those who call it unsafe."""

    seats: tuple[int, ...]  # Number of seats of each group
    n_raters: Int64Array  # Shape (G, I)
    n_unsafe: Int64Array

    @property
    def has_juries(self) -> BoolArray:
        """True where each group has a rater for each of its seats, shape (I,)."""
        return np.asarray((self.n_raters >= np.array(self.seats)[:, None]).all(axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleInput:
    """Shares of unsafe answers from which rules decide: of each item, or of each rating by others of its item.

    NaN where nobody answered.
    """

    share: FloatArray  # Of all raters, shape (I,)
    plurality: FloatArray  # 1 where the most frequent answer is unsafe, and no safe answer is as frequent
    questions: Mapping[str, FloatArray]  # Share of each further question, shape (I,)
    worst: FloatArray | None  # Share of raters whose worst answer to these questions is unsafe
    groups: Mapping[str, FloatArray]  # Shares of the groups of each axis, shape (G, I)
    populations: Mapping[str, FloatArray]
    experts: FloatArray | None  # 1 for unsafe, 0 for safe
    scores: Mapping[str, FloatArray]
    jury: JuryPool | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundRule:
    """A rule with its input."""

    rule: str
    name: str  # Of the rule, with its axis, population or model
    decides: BoolArray  # True for items with answers to decide on
    block: Callable[[Costs], BoolArray]  # Returns True for items that it blocks at these costs


def count_unsafe(ratings: GroupRatings, n_items: int) -> UnsafeCounts:
    """Count the answers to each item, and the unsafe ones."""
    n = np.bincount(ratings.items, minlength=n_items).astype(np.float64)
    unsafe = np.bincount(ratings.items, weights=ratings.unsafe, minlength=n_items)
    return UnsafeCounts(n, unsafe.astype(np.float64))


def count_unsafe_of_others(ratings: GroupRatings, judged: GroupRatings) -> UnsafeCounts:
    """Count the answers to the item of each judged rating by all but its rater, and the unsafe ones.

    Examples
    --------
    >>> ratings = GroupRatings(items=np.array([0, 0, 0]), raters=np.arange(3), unsafe=np.array([1.0, 0.0, 0.0]))
    >>> count_unsafe_of_others(ratings, ratings).share.tolist()
    [0.0, 0.5, 0.5]
    """
    n_raters = int(max(ratings.raters.max(initial=-1), judged.raters.max(initial=-1))) + 1
    n_items = int(max(ratings.items.max(initial=-1), judged.items.max(initial=-1))) + 1
    pairs = np.concatenate([part.items * n_raters + part.raters for part in (ratings, judged)])
    row = np.unique(pairs, return_inverse=True)[1]
    pair, judged_pair = row[: len(ratings.items)], row[len(ratings.items) :]
    n, unsafe = (
        np.bincount(ratings.items, weights=weights, minlength=n_items)[judged.items].astype(np.float64)
        - np.bincount(pair, weights=weights, minlength=int(row.max(initial=-1)) + 1)[judged_pair]
        for weights in (np.ones(len(ratings.items)), ratings.unsafe)
    )
    return UnsafeCounts(n, unsafe)


def bind_rules(rule_input: RuleInput, rules: Sequence[str], at_least: float) -> Iterator[BoundRule]:
    """Yield each rule that the input supports: once for each axis, population or model by which it decides."""
    columns = {"poststratified": rule_input.populations, "score": rule_input.scores}
    for rule in rules:
        if rule == "plurality":
            yield _bind_blocks(rule, rule, rule_input.plurality > 0, rule_input.share)
        elif rule == "share":
            yield _bind_share(rule, rule, rule_input.share)
        elif rule == "dices" and rule_input.worst is not None:
            yield _bind_share(rule, rule, rule_input.worst)
        elif rule == "any-question" and rule_input.questions:
            yield _bind_share(rule, rule, _largest(list(rule_input.questions.values())))
        elif rule == "expert" and rule_input.experts is not None:
            yield _bind_blocks(rule, rule, rule_input.experts > 0, rule_input.experts)
        elif rule == "jury" and rule_input.jury is not None:
            yield _bind_jury(rule, rule_input.jury)
        elif rule in columns:
            yield from (_bind_share(rule, f"{rule}: {name}", column) for name, column in columns[rule].items())
        elif rule in OVER_GROUPS:
            yield from (_bind_group_rule(rule, axis, shares, at_least) for axis, shares in rule_input.groups.items())


def _bind_group_rule(rule: str, axis: str, shares: FloatArray, at_least: float) -> BoundRule:
    """Return a rule over the groups of an axis; groups that did not rate an item do not count for it."""
    name = f"{rule}: {axis}"
    if rule == "group-balanced":
        return _bind_share(rule, name, nan_mean(shares, axis=0))
    highest, lowest = _largest(shares), 1 - _largest(1 - shares)
    if rule == "any-group":
        return _bind_blocks(rule, f"{name} ≥ {at_least:g}", _reaches(highest, at_least), highest)
    return BoundRule(
        rule=rule,
        name=name,
        decides=np.isfinite(highest),
        block=lambda costs: costs.miss * highest > costs.block * (1 - lowest) + _ROUNDING,
    )


def _bind_jury(rule: str, pool: JuryPool) -> BoundRule:
    """Return the rule of the juries that could be drawn, in which costs set the threshold of votes."""

    def block(costs: Costs) -> BoolArray:
        shares = share_of_juries(pool.n_raters, pool.n_unsafe, pool.seats, at_least=costs.threshold)
        return np.asarray(shares >= 1 / 2)

    return BoundRule(rule=rule, name=rule, decides=pool.has_juries, block=block)


def _bind_blocks(rule: str, name: str, blocks: BoolArray, share: FloatArray) -> BoundRule:
    """Return a rule to which costs do not matter."""
    return BoundRule(rule=rule, name=name, decides=np.isfinite(share), block=lambda _: blocks)


def _bind_share(rule: str, name: str, share: FloatArray) -> BoundRule:
    return BoundRule(
        rule=rule, name=name, decides=np.isfinite(share), block=lambda costs: _reaches(share, costs.threshold)
    )


def _reaches(share: FloatArray, threshold: float) -> BoolArray:
    """Return where a share reaches a threshold, but for rounding; unknown shares do not."""
    return np.asarray(np.nan_to_num(share, nan=-1.0) >= threshold - _ROUNDING)


def _largest(shares: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """Return the largest known value of each item; NaN without one."""
    stacked = np.stack(list(shares))
    known = np.isfinite(stacked)
    return np.asarray(np.where(known.any(axis=0), np.where(known, stacked, -np.inf).max(axis=0), np.nan))
