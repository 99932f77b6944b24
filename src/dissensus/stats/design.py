"""Coded ratings of one question, and statistics of groups of raters over many replicates."""

import itertools
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from dissensus.errors import InvalidInput
from dissensus.stats import kernels
from dissensus.stats.groups.scale import OrderedScale
from dissensus.stats.result import FloatArray, Int32Array, Int64Array, IntArray

METRICS = kernels.METRICS

# Cost of counting one rating from a list, relative to one word of packed raters.
_WORDS_PER_RATING = 8
# Marks for each rating, at most, that are faster to walk than a list of ratings; a mark takes a byte.
_MARKS_PER_RATING = 8
# Memory limits of packed raters and of marks, and of the sums of one chunk of replicates.
_PACKED_BYTES = 1 << 30
_CHUNK_BYTES = 1 << 26


@dataclass(frozen=True, eq=False)
class Design:
    """The ratings of one question as codes.

    Parameters
    ----------
    items, raters, answers
        Item, rater and answer of each rating, shape (N,): codes 0 … I-1, 0 … R-1, 0 … K-1; each pair of item and rater
        at most once.
    n_items, n_raters, n_categories
        I, R and K.
    scale
        Numbers of ordered answers; None at the nominal level.
    """

    items: IntArray
    raters: IntArray
    answers: IntArray
    n_items: int
    n_raters: int
    n_categories: int
    scale: OrderedScale | None = None
    chunk_bytes: ClassVar = _CHUNK_BYTES

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return int(self.items.size)

    @cached_property
    def n_rated(self) -> int:
        """Number of items with a rating."""
        return int(np.count_nonzero(np.bincount(self.items, minlength=1)))

    @cached_property
    def loads(self) -> Int64Array:
        """Number of ratings of each rater, shape (R,)."""
        return np.bincount(self.raters, minlength=self.n_raters)

    @cached_property
    def answer_counts(self) -> Int64Array:
        """Number of times that each answer was given, shape (K,)."""
        return np.bincount(self.answers, minlength=self.n_categories)

    @cached_property
    def by_item(self) -> tuple[Int64Array, Int32Array, npt.NDArray[np.int16]]:
        """Ratings sorted by item: start of each item, rater and answer of each rating."""
        return kernels.by_item(self.items, self.raters, self.answers, self.n_items)

    @cached_property
    def packed(self) -> npt.NDArray[np.uint64]:
        """Sets of raters by answer and item, packed into words."""
        shape = (self.n_items, self.n_raters, self.n_categories)
        return kernels.pack(self.items, self.raters, self.answers, shape)

    @cached_property
    def marks(self) -> npt.NDArray[np.int8]:
        """1 for each answer that a rater gave to an item, in the last row for any answer, else 0, shape (R, K + 1, I).

        Empty for a sparse design, of which lists of ratings are shorter.
        """
        shape = (self.n_raters, self.n_categories + 1, self.n_items)
        if math.prod(shape) > min(_PACKED_BYTES, _MARKS_PER_RATING * self.items.size):
            return np.zeros((0, 0, 0), np.int8)
        marks = np.zeros(shape, np.int8)
        marks[self.raters, self.answers, self.items] = 1
        marks[self.raters, -1, self.items] = 1
        return marks

    @cached_property
    def most_ratings(self) -> int:
        """The largest number of ratings of an item."""
        return int(np.bincount(self.items, minlength=1).max()) if self.items.size else 0

    @cached_property
    def same_answers(self) -> FloatArray:
        """Number of items on which two raters gave the same answer, or sum of the likeness of ordered ones, (R, R)."""
        matrix = np.full((self.n_raters, self.n_items), -1, np.int16)
        matrix[self.raters, self.items] = self.answers
        if self.scale is not None:
            marks = [(k, (matrix == k).astype(np.float64)) for k in range(self.n_categories)]
            alike = [np.where(matrix >= 0, row[matrix], 0.0) for row in self.scale.likeness]
            return np.asarray(sum(mark @ alike[k].T for k, mark in marks))
        same = np.zeros((self.n_raters, self.n_raters), np.float32)
        for k in range(self.n_categories):
            mark = (matrix == k).astype(np.float32)
            same += mark @ mark.T
        return same.astype(np.float64)

    def counts(self, group: IntArray | None = None) -> Int32Array:
        """Count answers by item: (I, K) for all raters, (G, I, K) for group codes (R,), which are negative for none."""
        if group is None:
            return np.asarray(kernels.count(self.items, self.answers, self.n_items, self.n_categories))
        n_groups = int(group.max()) + 1
        row = group[self.raters].astype(np.int64) * self.n_items + self.items
        grouped = row >= 0
        flat = kernels.count(row[grouped], self.answers[grouped], n_groups * self.n_items, self.n_categories)
        return np.asarray(flat.reshape(n_groups, self.n_items, self.n_categories))

    def row_bytes(self, n_comparisons: int) -> int:
        """Return the memory that one replicate needs for its sums and statistics, in bytes."""
        return 24 * n_comparisons * kernels.width(self.n_categories)

    def prefers_packing(self, n_groups: int) -> bool:
        """Return whether counting bits of packed rater sets is faster than walking lists of ratings."""
        words = self.n_categories * kernels.words(self.n_raters)
        if words * self.n_items * 8 > _PACKED_BYTES:
            return False
        return (n_groups + 1) * words * self.n_items <= _WORDS_PER_RATING * self.items.size


@dataclass(frozen=True, eq=False)
class Block:
    """The ratings of a range of items, whose codes count from its first item, by raters with their own codes."""

    design: Design
    number: int  # Position among the blocks
    first_item: int

    @property
    def items(self) -> slice:
        """Range of the items among all."""
        return slice(self.first_item, self.first_item + self.design.n_items)

    def select_items(self, weights: IntArray) -> IntArray:
        """Return the weights of its items, from weights of all items, shape (…, I)."""
        # A view is contiguous for one replicate alone, and kernels are compiled, and round, for each layout.
        return np.ascontiguousarray(weights[..., self.items])


class Engine(Protocol):
    """Interface to ratings in blocks of items, wherever they are stored, by passes over all blocks."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    @property
    def chunk_bytes(self) -> int:
        """Memory limit of the totals of one pass."""

    def add(self, fill: Callable[..., None], *totals: npt.NDArray[Any]) -> None:
        """Call ``fill(block, *totals)`` for each block, in any thread or process; it adds what the items contribute.

        `fill` writes to nothing but its totals. Totals of runs of blocks begin at zero and are added in the order of
        the blocks, on every engine the same.
        """


@dataclass(frozen=True, eq=False)
class BlockedDesign:
    """The ratings of one question in blocks of items, with the totals that are known without them.

    Parameters
    ----------
    engine
        The engine that passes over the blocks.
    n_items, n_raters, n_categories, n_ratings, most_ratings
        As for `Design`; each item has a rating.
    loads, answer_counts
        Number of ratings of each rater, shape (R,), and of each answer, shape (K,).
    """

    engine: Engine
    n_items: int
    n_raters: int
    n_categories: int
    n_ratings: int
    most_ratings: int
    loads: Int64Array
    answer_counts: Int64Array
    scale: ClassVar = None  # Ordered answers need further passes

    @property
    def chunk_bytes(self) -> int:
        """Memory limit of the sums of one chunk of replicates, each of which passes over all blocks once."""
        return self.engine.chunk_bytes

    @property
    def n_rated(self) -> int:
        """Number of items with a rating."""
        return self.n_items

    def row_bytes(self, n_comparisons: int) -> int:
        """Return the memory that one replicate needs for its sums, also by rater, and those of a run, in bytes."""
        return 16 * self.n_raters * (7 * n_comparisons + 2 * self.n_categories)


def pass_over(design: Design | BlockedDesign, fill: Callable[..., None], *totals: npt.NDArray[Any]) -> None:
    """Call ``fill(block, *totals)`` for each block, in any thread; a design in memory is one block."""
    if isinstance(design, BlockedDesign):
        design.engine.add(fill, *totals)
    else:
        fill(Block(design, 0, 0), *totals)


def statistics(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    rater_weight: IntArray | None = None,
    item_weight: IntArray | None = None,
) -> FloatArray:
    """Return the statistics of each comparison in each replicate.

    Parameters
    ----------
    design
        The ratings.
    group
        Group of each rater in each replicate, shape (B, R), or (1, R) if the weights define the replicates; negative
        for raters without a group.
    inside, outside
        Group of each comparison, and the group it is compared with, shape (C,); a negative one means all other raters
        who have a group.
    rater_weight, item_weight
        Bootstrap weights of raters, shape (B, R), and of items, shape (B, I), whole numbers; ones by default. Two
        copies of one rater do not form a pair.

    Returns
    -------
    ndarray, shape (B, C, 7)
        In the order of `METRICS`; NaN where undefined. The result does not depend on the number of threads.

    Raises
    ------
    InvalidInput
        A comparison uses a code beyond the largest group code.
    """
    weights = {"rater_weight": rater_weight, "item_weight": item_weight}
    return kernels.metrics(sum_ratings(design, group, inside, outside, **weights), design.n_categories)


def sum_ratings(
    design: Design | BlockedDesign,
    group: IntArray,
    inside: IntArray,
    outside: IntArray,
    *,
    rater_weight: IntArray | None = None,
    item_weight: IntArray | None = None,
) -> FloatArray:
    """Return the sums of `dissensus.stats.kernels` of each comparison in each replicate; arguments as `statistics`."""
    if max(inside.max(initial=-1), outside.max(initial=-1)) > group.max(initial=-1):
        # The kernels would read beyond their arrays.
        raise InvalidInput("A comparison uses a group without raters. Leave it out.")
    weights = [w for w in (rater_weight, item_weight) if w is not None]
    n_replicates = len(weights[0]) if weights else len(group)
    sums = np.zeros((n_replicates, len(inside), kernels.width(design.n_categories)))
    if isinstance(design, BlockedDesign):
        pass_over(design, partial(_add_block, (group, inside, outside), rater_weight, item_weight), sums)
        return sums
    group, inside, outside = to_int32(group), inside.astype(np.int64), outside.astype(np.int64)
    if not weights and design.prefers_packing(int(group.max()) + 1):
        packed, logs = design.packed, kernels.tables(design.most_ratings)

        def fill(part: slice) -> None:
            kernels.fill_bits(sums[part], packed, group[part], inside, outside, *logs)

    else:
        rater_weight, item_weight = to_weight(rater_weight, design.n_raters), to_weight(item_weight, design.n_items)
        lists, logs = design.by_item, kernels.tables(design.most_ratings * int(rater_weight.max()))
        arrays = (group, rater_weight, item_weight)

        def fill(part: slice) -> None:
            parts = [a if len(a) == 1 else a[part] for a in arrays]
            kernels.fill_lists(sums[part], *lists, *parts, inside, outside, *logs)

    run_in_threads(fill, n_replicates)
    return sums


def to_int32(codes: IntArray) -> Int32Array:
    """Return codes or weights in the one type that kernels are compiled for: each other type takes a compilation."""
    return np.ascontiguousarray(codes, np.int32)


def to_weight(weight: IntArray | None, n: int) -> Int32Array:
    """Return bootstrap weights for kernels, by default of one replicate, in which each of `n` enters once."""
    return np.ones((1, n), np.int32) if weight is None else to_int32(weight)


def _add_block(
    compared: tuple[IntArray, IntArray, IntArray],
    rater_weight: IntArray | None,
    item_weight: IntArray | None,
    block: Block,
    sums: FloatArray,
) -> None:
    of_block = None if item_weight is None else block.select_items(item_weight)
    sums += sum_ratings(block.design, *compared, rater_weight=rater_weight, item_weight=of_block)


def chunks(n_replicates: int, row_bytes: int, memory: int = _CHUNK_BYTES) -> Iterator[range]:
    """Split replicates into ranges whose rows fit in bounded memory."""
    step = max(1, memory // max(1, row_bytes))
    for low in range(0, n_replicates, step):
        yield range(low, min(n_replicates, low + step))


_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def share_threads(n_parts: int) -> Iterator[None]:
    """Limit computations of this thread to one of `n_parts` equal parts of the threads, until the end of the block."""
    token = _threads.set(max(1, count_threads() // n_parts))
    try:
        yield
    finally:
        _threads.reset(token)


def count_threads() -> int:
    """Return the number of threads of a computation: OMP_NUM_THREADS, or the processors that this process may use.

    Within `share_threads` it is the part of those.
    """
    if (shared := _threads.get()) is not None:
        return shared
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if first.isdecimal() and int(first):
        return int(first)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_threads(fill: Callable[[slice], None], n_replicates: int) -> None:
    """Fill replicates in parallel, one range per thread."""
    n_threads = max(1, min(count_threads(), n_replicates))
    if n_threads == 1:
        fill(slice(0, n_replicates))
        return
    edges = np.linspace(0, n_replicates, n_threads + 1).astype(int)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(fill, itertools.starmap(slice, itertools.pairwise(edges))))
