"""Assignments of items to raters in groups, with answers that do not depend on the group."""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dissensus.pipeline.simulate import draw_answers
from dissensus.stats.design import Design

Codes = NDArray[np.int32]
Mask = NDArray[np.bool_]
N_ITEMS: Final = 120


def _random(share: tuple[float, ...]) -> Callable[[np.random.Generator, Codes], Mask]:
    def draw(rng: np.random.Generator, group: Codes) -> Mask:
        return np.asarray(rng.random((group.size, N_ITEMS)) < np.array(share)[group][:, None])

    return draw


def _quota(n_each: int, n_shared: int = N_ITEMS) -> Callable[[np.random.Generator, Codes], Mask]:
    """Give items so many raters of each group; items beyond the shared ones have raters of one group alone."""

    def draw(rng: np.random.Generator, group: Codes) -> Mask:
        mask = np.zeros((group.size, N_ITEMS), dtype=bool)
        n_groups = int(group.max()) + 1
        for i in range(N_ITEMS):
            for g in range(n_groups) if i < n_shared else [i % n_groups]:
                n = n_each if i < n_shared else 2 * n_each
                mask[rng.choice(np.flatnonzero(group == g), n, replace=False), i] = True
        return mask

    return draw


ASSIGNMENTS: Final[dict[str, tuple[tuple[int, ...], Callable[[np.random.Generator, Codes], Mask]]]] = {
    "complete": ((20, 20, 20), _random((1.0, 1.0, 1.0))),
    "random sparse": ((30, 30, 30), _random((0.2, 0.2, 0.2))),
    "quota, 4 of each group": ((30, 30, 30), _quota(4)),
    "quota, 2 of each group": ((30, 30, 30), _quota(2)),
    "loads 55 and 15 %": ((30, 30, 30), _random((0.55, 0.15, 0.15))),
    "loads 30 and 20 %": ((30, 30, 30), _random((0.3, 0.2, 0.2))),
    "nested": ((30, 30, 30), _quota(4, 0)),
    "a third of items shared": ((30, 30, 30), _quota(4, N_ITEMS // 3)),
    "8 against 80": ((8, 80), _random((1.0, 1.0))),
    "8 against 80, sparse": ((8, 80), _random((0.4, 0.4))),
}


def draw_null(rng: np.random.Generator, name: str) -> tuple[Design, Codes]:
    """Draw the ratings of an assignment, with raters and items that differ and groups that do not."""
    sizes, assign = ASSIGNMENTS[name]
    group = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    raters, items = np.nonzero(assign(rng, group))
    answers = draw_answers(rng, np.zeros_like(group), N_ITEMS)
    design = Design(items.astype(np.int32), raters.astype(np.int32), answers[raters, items], N_ITEMS, group.size, 3)
    return design, group
