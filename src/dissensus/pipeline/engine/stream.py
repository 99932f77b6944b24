"""Local engine: one process passes over blocks of items one after the other."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from dissensus.stats.design import Block

MapParts = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""Mapping of a function over parts in their order, such as `map`, wherever it runs."""
MOST_RUNS: Final = 128
"""Most runs of blocks, whose totals are added one after the other."""

Shape = tuple[tuple[int, ...], np.dtype[Any]]


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
    """Blocks that are read again for each pass."""

    n_blocks: int
    read: Callable[[], Iterator[Block]]  # Yields the blocks in the order of their items
    chunk_bytes: ClassVar = 1 << 30

    def add(self, fill: Callable[..., None], *totals: npt.NDArray[Any]) -> None:
        """Call ``fill(block, *totals)`` for each block in order, and add the totals of each run of blocks."""
        runs, shapes = number_runs(self.n_blocks), [(total.shape, total.dtype) for total in totals]
        for _, blocks in groupby(self.read(), key=lambda block: runs[block.number]):
            for total, part in zip(totals, add_run(blocks, fill, shapes), strict=True):
                total += part
