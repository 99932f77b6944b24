"""Local engine: threads of one process pass over runs of blocks of items."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Final, TypeVar

import numpy as np
import numpy.typing as npt

from dissensus.stats.design import Block, count_threads, share_threads

P = TypeVar("P")
T = TypeVar("T")
MapParts = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Mapping of a function over parts in their order, such as `map`, wherever it runs."""
MOST_RUNS: Final = 128
"""Most runs of blocks, whose totals are added one after the other."""
MOST_THREADS: Final = 8
"""Most threads that work ahead."""

Shape = tuple[tuple[int, ...], np.dtype[Any]]


def map_ahead(function: Callable[[P], T], parts: Iterable[P], n_ahead: int | None = None) -> Iterator[T]:
    """Yield what a function returns for each part, in order, while threads work on the parts that follow.

    At most `n_ahead` results are in memory besides the one that is yielded, and never more than threads or
    `MOST_THREADS`, which are the default. With a single one the function runs in this thread.
    """
    n_threads = min(count_threads(), MOST_THREADS, n_ahead or MOST_THREADS)
    if n_threads < 2:
        yield from map(function, parts)
        return
    pending: deque[Future[T]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for part in parts:
                if len(pending) == n_threads:
                    yield pending.popleft().result()
                pending.append(pool.submit(function, part))
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def number_runs(n_blocks: int) -> npt.NDArray[np.int64]:
    """Return the run of consecutive blocks that each block belongs to."""
    return np.arange(n_blocks) * min(n_blocks, MOST_RUNS) // max(1, n_blocks)


def add_run(blocks: Iterable[Block], fill: Callable[..., None], shapes: Sequence[Shape]) -> list[npt.NDArray[Any]]:
    """Return the totals of one run of blocks, arrays of some shapes."""
    totals = [np.zeros(*shape) for shape in shapes]
    for block in blocks:
        fill(block, *totals)
    return totals


@dataclass(frozen=True, slots=True, eq=False)
class StreamingEngine:
    """Blocks that are read again for each pass, several runs of them at once if their totals fit in memory."""

    n_blocks: int
    read: Callable[[int, int], Iterator[Block]]  # Yields the blocks of a range of numbers, in the order of their items
    chunk_bytes: ClassVar = 1 << 30

    def add(self, fill: Callable[..., None], *totals: npt.NDArray[Any]) -> None:
        """Call ``fill(block, *totals)`` for each block, and add the totals of each run of blocks in order."""
        shapes = [(total.shape, total.dtype) for total in totals]
        runs = number_runs(self.n_blocks)
        edges = np.append(np.flatnonzero(np.diff(runs, prepend=-1)), self.n_blocks).tolist()

        # Less two: the totals themselves, and those of the run that is added.
        n_fitting = self.chunk_bytes // max(1, sum(total.nbytes for total in totals)) - 2
        n_ahead = max(1, min(n_fitting, count_threads(), MOST_THREADS))

        def add_blocks(run: tuple[int, int]) -> list[npt.NDArray[Any]]:
            with share_threads(n_ahead):
                return add_run(self.read(*run), fill, shapes)

        for parts in map_ahead(add_blocks, pairwise(edges), n_ahead):
            for total, part in zip(totals, parts, strict=True):
                total += part
