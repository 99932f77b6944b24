"""Local engine: one process passes over blocks of items one after the other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from dissensus.stats.design import Block


@dataclass(frozen=True, slots=True, eq=False)
class StreamingEngine:
    """Blocks that are read again for each pass."""

    n_blocks: int
    read: Callable[[], Iterator[Block]]  # Yields the blocks in the order of their items

    def add(self, fill: Callable[..., None], *totals: npt.NDArray[Any]) -> None:
        """Call ``fill(block, *totals)`` for each block in order."""
        for block in self.read():
            fill(block, *totals)
