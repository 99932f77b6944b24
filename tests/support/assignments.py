"""Assignments of items to raters in groups, with answers that do not depend on the group."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.simulate import CUTS, draw_answers
from dissensus.stats.design import Design

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
N_ITEMS: Final = 120


@dataclass(frozen=True, kw_only=True, eq=False)
class NullDesign:
    """Groups of raters that do not differ, the items that they rate, and the model of their answers.

    Parameters
    ----------
    sizes
        Number of raters in each group.
    assign
        Draws who rates which items, shape (R, I), from the groups of the raters.
    n_items
        Number of items.
    cuts
        Cuts between the answers, in standard deviations of the latent values.
    careless
        Share of raters who answer at random.
    strata
        Shares of each group in each stratum of raters, shape (G, S); raters rate the items of their stratum and are
        exchanged within it. None for no strata.
    parts
        Names of groups that differ in size or load, with their codes; empty if all groups are alike.
    """

    sizes: tuple[int, ...]
    assign: Callable[[np.random.Generator, Codes, int], Mask]
    n_items: int = N_ITEMS
    cuts: tuple[float, ...] = tuple(CUTS)
    careless: float = 0.0
    strata: tuple[tuple[float, ...], ...] | None = None
    parts: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def sides(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Groups that are alike, with their name; one without a name if all are."""
        return self.parts or (("", tuple(range(len(self.sizes)))),)


def _random(*shares: float) -> Callable[[np.random.Generator, Codes, int], Mask]:
    def draw(rng: np.random.Generator, group: Codes, n_items: int) -> Mask:
        return np.asarray(rng.random((group.size, n_items)) < np.array(shares)[group][:, None])

    return draw


def _quota(n_each: int, n_shared: int = N_ITEMS) -> Callable[[np.random.Generator, Codes, int], Mask]:
    """Give items so many raters of each group; items beyond the shared ones have raters of one group alone."""

    def draw(rng: np.random.Generator, group: Codes, n_items: int) -> Mask:
        mask = np.zeros((group.size, n_items), dtype=bool)
        n_groups = int(group.max()) + 1
        for i in range(n_items):
            for g in range(n_groups) if i < n_shared else [i % n_groups]:
                n = n_each if i < n_shared else 2 * n_each
                mask[rng.choice(np.flatnonzero(group == g), n, replace=False), i] = True
        return mask

    return draw


_EVEN: Final = (30, 30, 30)
_HEAVY: Final = (("the heavier", (0,)), ("the others", (1, 2)))
_RARE: Final = (1.881,)
_TENTH: Final = (1.282,)
_FIVE: Final = (-0.842, -0.253, 0.253, 0.842)

ASSIGNMENTS: Final[dict[str, NullDesign]] = {
    "complete": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1)),
    "random sparse": NullDesign(sizes=_EVEN, assign=_random(0.2, 0.2, 0.2)),
    "quota, 4 of each group": NullDesign(sizes=_EVEN, assign=_quota(4)),
    "quota, 2 of each group": NullDesign(sizes=_EVEN, assign=_quota(2)),
    "loads 55 and 15 %": NullDesign(sizes=_EVEN, assign=_random(0.55, 0.15, 0.15), parts=_HEAVY),
    "loads 30 and 20 %": NullDesign(sizes=_EVEN, assign=_random(0.3, 0.2, 0.2), parts=_HEAVY),
    "nested": NullDesign(sizes=_EVEN, assign=_quota(4, 0)),
    "nested locales": NullDesign(sizes=(45, 45), assign=_random(0.6, 0.6), strata=((0.6, 0.3, 0.1), (0.2, 0.3, 0.5))),
    "a third of items shared": NullDesign(sizes=_EVEN, assign=_quota(4, N_ITEMS // 3)),
    "8 against 80": NullDesign(sizes=(8, 80), assign=_random(1, 1), parts=(("the 8", (0,)), ("the 80", (1,)))),
    "8 against 80, sparse": NullDesign(
        sizes=(8, 80), assign=_random(0.4, 0.4), parts=(("the 8", (0,)), ("the 80", (1,)))
    ),
    "30 items": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1), n_items=30),
    "3 % Yes": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1), cuts=_RARE),
    "3 % Yes, sparse": NullDesign(sizes=_EVEN, assign=_random(0.2, 0.2, 0.2), cuts=_RARE),
    "a fifth careless": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1), careless=0.2),
    "five answers": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1), cuts=_FIVE),
    "five answers, sparse": NullDesign(sizes=_EVEN, assign=_random(0.2, 0.2, 0.2), cuts=_FIVE),
    "10 % Yes": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1), cuts=_TENTH),
    "60 items": NullDesign(sizes=(20, 20, 20), assign=_random(1, 1, 1), n_items=60),
    "4 against 80": NullDesign(sizes=(4, 80), assign=_random(1, 1), parts=(("the 4", (0,)), ("the 80", (1,)))),
    "13 against 80": NullDesign(sizes=(13, 80), assign=_random(1, 1), parts=(("the 13", (0,)), ("the 80", (1,)))),
    "25 against 80": NullDesign(sizes=(25, 80), assign=_random(1, 1), parts=(("the 25", (0,)), ("the 80", (1,)))),
}


def draw_null(rng: np.random.Generator, name: str) -> tuple[Design, Codes]:
    """Draw the ratings of a design, and the group of each rater."""
    design, group, _ = draw_stratified_null(rng, name)
    return design, group


def draw_stratified_null(rng: np.random.Generator, name: str) -> tuple[Design, Codes, Codes]:
    """Draw the ratings of a design, and the group and the stratum of each rater."""
    null = ASSIGNMENTS[name]
    group = np.repeat(np.arange(len(null.sizes)), null.sizes).astype(np.int32)
    mask, strata = null.assign(rng, group, null.n_items), np.zeros_like(group)
    if null.strata is not None:
        shares = np.repeat(np.array(null.strata), null.sizes, axis=0)
        strata = (rng.random((group.size, 1)) > shares.cumsum(axis=1)[:, :-1]).sum(axis=1).astype(np.int32)
        mask &= strata[:, None] == np.arange(null.n_items) % shares.shape[1]
    raters, items = np.nonzero(mask)
    n_answers = len(null.cuts) + 1
    answers = draw_answers(rng, np.zeros_like(group), null.n_items, cuts=np.array(null.cuts))
    if null.careless:
        careless = rng.random(group.size) < null.careless
        answers[careless] = rng.integers(n_answers, size=(int(careless.sum()), null.n_items))
    design = Design(
        items.astype(np.int32), raters.astype(np.int32), answers[raters, items], null.n_items, group.size, n_answers
    )
    return design, group, strata
