"""Random designs: who rated what, in which group, and how often each was drawn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from dissensus.stats.design import Design

Codes = NDArray[np.int32]
Kernel = Literal["bits", "lists"]


@dataclass(frozen=True, eq=False)
class Case:
    """A design, groups of its raters, and every comparison of them: with the rest and with each other group."""

    design: Design
    group: Codes
    inside: Codes
    outside: Codes

    @property
    def rated_by_hand(self) -> list[tuple[int, int, int]]:
        design = self.design
        return [(int(i), int(r), int(k)) for i, r, k in zip(design.items, design.raters, design.answers, strict=True)]


def case(
    seed: int,
    *,
    n_items: int,
    n_raters: int,
    n_categories: int,
    n_groups: int,
    share_rated: float = 1.0,
    grouped: float = 1.0,
) -> Case:
    """Draw each rating with probability `share_rated`, each group with `grouped`; answers follow their item in part."""
    rng = np.random.default_rng(seed)
    raters, items = np.nonzero(rng.random((n_raters, n_items)) < share_rated)
    leaning = 0.5 ** np.arange(n_categories)
    answers = rng.choice(n_categories, size=items.size, p=leaning / leaning.sum())
    answers = np.where(rng.random(items.size) < 0.4, rng.integers(n_categories, size=n_items)[items], answers)
    group = np.where(rng.random(n_raters) < grouped, rng.integers(n_groups, size=n_raters), -1)
    group[:n_groups] = np.arange(n_groups)
    pairs = [(g, h) for g in range(n_groups) for h in range(-1, n_groups) if g != h]
    inside, outside = np.array(pairs, dtype=np.int32).T
    order = rng.permutation(items.size)
    design = Design(
        items[order].astype(np.int32),
        raters[order].astype(np.int32),
        answers[order].astype(np.int16),
        n_items,
        n_raters,
        n_categories,
    )
    return Case(design, group.astype(np.int32), inside, outside)


@st.composite
def cases(draw: st.DrawFn, *, max_raters: int = 9, max_items: int = 6) -> Case:
    """Small designs, complete or with few ratings, some raters without a group."""
    n_groups = draw(st.integers(1, 3))
    return case(
        draw(st.integers(0, 2**32 - 1)),
        n_items=draw(st.integers(1, max_items)),
        n_raters=draw(st.integers(max(2, n_groups), max_raters)),
        n_categories=draw(st.integers(2, 6)),
        n_groups=n_groups,
        share_rated=draw(st.sampled_from([1.0, 0.8, 0.4, 0.15])),
        grouped=draw(st.sampled_from([1.0, 0.7])),
    )


#: one word of raters full and overfull, two words, more items than a block of the kernels, and both at once
LARGE: dict[str, dict[str, Any]] = {
    "64 raters": {"n_items": 30, "n_raters": 64, "n_categories": 3, "n_groups": 3},
    "65 raters": {"n_items": 30, "n_raters": 65, "n_categories": 2, "n_groups": 4},
    "129 raters, some without a group": {
        "n_items": 20,
        "n_raters": 129,
        "n_categories": 6,
        "n_groups": 3,
        "grouped": 0.8,
    },
    "one block of items": {"n_items": 512, "n_raters": 7, "n_categories": 3, "n_groups": 2},
    "one item more than a block": {"n_items": 513, "n_raters": 7, "n_categories": 4, "n_groups": 2},
    "three blocks, sparse": {
        "n_items": 1100,
        "n_raters": 150,
        "n_categories": 3,
        "n_groups": 5,
        "share_rated": 0.05,
        "grouped": 0.9,
    },
}


@contextmanager
def kernel(name: Kernel) -> Iterator[None]:
    """Count by this kernel, whichever would be cheaper."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Design, "prefers_packing", lambda design, n_groups: name == "bits")
        yield
