"""Small random inputs for the statistics, and how many of them the quick suite tries."""

from typing import TypeAlias

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Counts: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

#: the same examples on every run, few enough for slow oracles
quick = settings(max_examples=60, deadline=None, derandomize=True)


def _table(n_items: int, n_categories: int, max_count: int) -> st.SearchStrategy[Counts]:
    row = st.lists(st.integers(0, max_count), min_size=n_categories, max_size=n_categories)
    rows = st.lists(row, min_size=n_items, max_size=n_items)
    return rows.map(lambda table: np.array(table, dtype=np.int64).reshape(n_items, n_categories))


@st.composite
def tables(draw: st.DrawFn, *, max_items: int = 5, max_categories: int = 4, max_count: int = 3) -> Counts:
    """Items × categories, with empty, single and unanimous items among them."""
    return draw(_table(draw(st.integers(1, max_items)), draw(st.integers(2, max_categories)), max_count))


@st.composite
def stacks(
    draw: st.DrawFn,
    n_groups: int = 2,
    *,
    max_items: int = 4,
    max_categories: int = 3,
    max_count: int = 3,
) -> Counts:
    """Groups × items × categories."""
    n_items, n_categories = draw(st.integers(1, max_items)), draw(st.integers(2, max_categories))
    return np.stack([draw(_table(n_items, n_categories, max_count)) for _ in range(n_groups)])


@st.composite
def complete_tables(draw: st.DrawFn, *, n_raters: int | None = None, max_items: int = 5) -> Counts:
    """Items × categories where every item has the same number of raters, two or more."""
    n_items, n_categories = draw(st.integers(1, max_items)), draw(st.integers(2, 4))
    raters = draw(st.integers(2, 4)) if n_raters is None else n_raters
    answer = st.integers(0, n_categories - 1)
    counts = np.zeros((n_items, n_categories), dtype=np.int64)
    for item in range(n_items):
        for code in draw(st.lists(answer, min_size=raters, max_size=raters)):
            counts[item, code] += 1
    return counts


@st.composite
def values_for(draw: st.DrawFn, n_categories: int) -> Floats:
    """Distinct increasing positive values, exact in binary, so that oracles can take them as fractions."""
    quarters = st.lists(st.integers(1, 40), min_size=n_categories, max_size=n_categories, unique=True)
    return np.array(sorted(draw(quarters)), dtype=np.float64) / 4


@st.composite
def distributions(draw: st.DrawFn, n: int = 2, *, max_categories: int = 5) -> Floats:
    """`n` distributions over the same categories, some of them with zeros."""
    n_categories = draw(st.integers(2, max_categories))
    weights = st.lists(st.integers(0, 9), min_size=n_categories, max_size=n_categories).filter(any)
    raw = np.array([draw(weights) for _ in range(n)], dtype=np.float64)
    shares: Floats = raw / raw.sum(axis=1, keepdims=True)
    return shares


@st.composite
def matrices(draw: st.DrawFn, *, missing: bool = True) -> NDArray[np.int64]:
    """Raters × items, codes 0 to 3, -1 missing."""
    n_raters, n_items = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    answer = st.integers(-1 if missing else 0, 3)
    rows = [draw(st.lists(answer, min_size=n_items, max_size=n_items)) for _ in range(n_raters)]
    return np.array(rows, dtype=np.int64)
