"""Coded ratings in blocks of items, in temporary files that are read again for each pass."""

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from dissensus.pipeline.engine.stream import StreamingEngine
from dissensus.stats.design import Block, Design, Engine
from dissensus.stats.result import BoolArray, FloatArray, Int32Array, Int64Array, IntArray

_RATER, _ANSWER, _SIZE, _TIME = np.dtype(np.int32), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.float64)


class _Place(NamedTuple):
    """Place of a block in the file, and its size."""

    number: int
    offset: int
    first_item: int
    n_ratings: int
    n_items: int


class CodedBlock(NamedTuple):
    """Ratings of a range of items, sorted by item and rater; arrays are empty if all are left out."""

    number: int  # Position among the ranges of items
    raters: Int32Array
    answers: npt.NDArray[np.int16]
    sizes: Int32Array  # Number of ratings of each item
    items: pl.Series | None = None
    times: FloatArray | None = None
    n_blank: int = 0
    n_dropped: int = 0

    @property
    def n_bytes(self) -> int:
        """Memory of the block."""
        arrays = self.raters.nbytes + self.answers.nbytes + self.sizes.nbytes
        times = 0 if self.times is None else self.times.nbytes
        return arrays + times + (0 if self.items is None else int(self.items.estimated_size()))

    def decode(self, first_item: int, n_raters: int, n_categories: int, codes: Int32Array | None) -> Block:
        """Return the ratings of the block, with `codes` in place of the stored codes of raters if there are any."""
        raters = self.raters if codes is None else codes[self.raters]
        items = np.repeat(np.arange(self.sizes.size, dtype=np.int32), self.sizes)
        design = Design(items, raters, self.answers, self.sizes.size, n_raters, n_categories)
        return Block(design, self.number, first_item)


@dataclass(slots=True, eq=False, weakref_slot=True)
class BlockStore(ABC):
    """Counts of coded blocks, and a temporary folder, made when it is needed and deleted with the last reference."""

    n_raters: int
    n_categories: int
    n_blocks: int
    n_items: int = 0
    n_ratings: int = 0
    most_ratings: int = 0
    n_blank: int = 0
    n_dropped: int = 0
    loads: Int64Array = field(init=False)
    answer_counts: Int64Array = field(init=False)
    codes: Int32Array | None = None  # New codes of raters, by their stored codes; None if these are unchanged
    _folder: Path | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.loads, self.answer_counts = np.zeros(self.n_raters, np.int64), np.zeros(self.n_categories, np.int64)

    @property
    def folder(self) -> Path:
        """Temporary folder."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="dissensus-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def drop_idle_raters(self) -> BoolArray:
        """Leave out raters without a rating, and return which raters stay."""
        active = self.loads > 0
        self.codes = (np.cumsum(active) - 1).astype(np.int32)
        self.loads, self.n_raters = self.loads[active], int(np.count_nonzero(active))
        return active

    @abstractmethod
    def engine(self) -> Engine:
        """Return the engine that passes over the blocks."""

    @abstractmethod
    def read_items(self) -> Iterator[tuple[Block, pl.Series]]:
        """Yield the blocks in order, with the ids of their items."""

    @abstractmethod
    def read_times(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the rater and the time of each rating of the blocks in order; NaN for an unknown time."""


@dataclass(slots=True, eq=False)
class CodedBlocks(BlockStore):
    """Blocks of ratings in files: raters, answers and the number of ratings of each item.

    Ids of items and times of ratings lie beside them if they are appended.
    """

    _places: list[_Place] = field(default_factory=list)

    def engine(self) -> StreamingEngine:
        """Return the engine that passes over the blocks."""
        return StreamingEngine(self.n_blocks, self.read)

    @property
    def _path(self) -> Path:
        return self.folder / "blocks"

    @property
    def _times(self) -> Path:
        return self.folder / "times"

    def _items(self, number: int) -> Path:
        return self.folder / f"items-{number}.arrow"

    def append(self, block: CodedBlock) -> None:
        """Write a block."""
        self.n_blank += block.n_blank
        self.n_dropped += block.n_dropped
        if not block.sizes.size:
            return
        if block.items is not None:
            block.items.to_frame().write_ipc(self._items(block.number), compression="lz4")
        if block.times is not None:
            with self._times.open("ab") as file:
                file.write(np.ascontiguousarray(block.times, _TIME).data)
        with self._path.open("ab") as file:
            offset = file.tell()
            for array, dtype in ((block.raters, _RATER), (block.answers, _ANSWER), (block.sizes, _SIZE)):
                file.write(np.ascontiguousarray(array, dtype).data)
        self._places.append(_Place(block.number, offset, self.n_items, block.raters.size, block.sizes.size))
        self.n_items += block.sizes.size
        self.n_ratings += block.raters.size
        self.most_ratings = max(self.most_ratings, int(block.sizes.max()))
        self.loads += np.bincount(block.raters, minlength=self.n_raters)
        self.answer_counts += np.bincount(block.answers, minlength=self.n_categories)

    def read(self, low: int, high: int) -> Iterator[Block]:
        """Yield the blocks in order whose numbers are `low` or more, and below `high`."""
        with self._path.open("rb") as file:
            for place in self._places:
                if low <= place.number < high:
                    file.seek(place.offset)
                    raters = np.fromfile(file, _RATER, place.n_ratings)
                    answers = np.fromfile(file, _ANSWER, place.n_ratings)
                    coded = CodedBlock(place.number, raters, answers, np.fromfile(file, _SIZE, place.n_items))
                    yield coded.decode(place.first_item, self.n_raters, self.n_categories, self.codes)

    def read_items(self) -> Iterator[tuple[Block, pl.Series]]:
        """Yield the blocks in order, with the ids of their items."""
        for block in self.read(0, self.n_blocks):
            yield block, pl.read_ipc(self._items(block.number)).to_series()

    def read_times(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the rater and the time of each rating of the blocks in order; NaN for an unknown time."""
        with self._times.open("rb") as file:
            for block in self.read(0, self.n_blocks):
                yield block.design.raters, np.fromfile(file, _TIME, block.design.n_ratings)
