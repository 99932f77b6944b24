"""Coded ratings in blocks of items on the executors of Spark, which read and code the rows of a folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from dissensus.errors import DissensusError
from dissensus.files.ratings.partitions.blocks import BlockStore, CodedBlock
from dissensus.files.ratings.partitions.coder import RatingsCoder
from dissensus.files.ratings.partitions.item_ranges import ItemRanges
from dissensus.files.ratings.partitions.row_counts import BATCH_ROWS
from dissensus.pipeline.engine.spark import SparkCluster, SparkEngine
from dissensus.pipeline.engine.stream import number_runs
from dissensus.stats.design import Block
from dissensus.stats.result import FloatArray, Int32Array, Int64Array, IntArray

_MEASURED_BYTES: Final = 1 << 16
"""Bytes that the counts of a run of blocks take at most, about."""


class _BlockCounts(NamedTuple):
    """Counts of a coded block, and its memory."""

    number: int
    n_items: int
    n_ratings: int
    most_ratings: int
    n_blank: int
    n_dropped: int
    n_bytes: int


@dataclass(slots=True, eq=False, kw_only=True)
class ExecutorBlocks(BlockStore):
    """Blocks of ratings on the executors."""

    cluster: SparkCluster
    coded: Any  # RDD of the blocks in order
    first_items: Int64Array  # First item of each block
    run_bytes: int = 0  # Of the largest run of blocks

    def engine(self) -> SparkEngine:
        """Return the engine that passes over the blocks."""
        return SparkEngine(self.cluster, self.coded, self.n_blocks, self._decoder())

    def read_items(self) -> Iterator[tuple[Block, pl.Series]]:
        """Yield the blocks in order, with the ids of their items."""
        decode = self._decoder()
        for coded in self.cluster.collect(self.coded, self.run_bytes):
            if (block := decode(coded)) is not None:
                yield block, coded.items

    def read_times(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the rater and the time of each rating of the blocks in order; NaN for an unknown time."""
        decode = self._decoder()
        for coded in self.cluster.collect(self.coded, self.run_bytes):
            if (block := decode(coded)) is not None:
                yield block.design.raters, coded.times

    def _decoder(self) -> Callable[[CodedBlock], Block | None]:
        return partial(_decode, self.first_items, self.n_raters, self.n_categories, self.codes)


def code_on_cluster(cluster: SparkCluster, coder: RatingsCoder, n_categories: int) -> ExecutorBlocks:
    """Read, check and code all rows on the executors, through a shuffle by ranges of items."""
    ranges = coder.choose_ranges(cluster.map)
    slices = coder.folder.slices(BATCH_ROWS)
    coded = cluster.code(partial(_split_rows, coder, ranges), slices, partial(_code_block, coder), ranges.n_ranges)
    first_items = np.zeros(ranges.n_ranges, np.int64)
    blocks = ExecutorBlocks(
        coder.n_raters, n_categories, ranges.n_ranges, cluster=cluster, coded=coded, first_items=first_items
    )
    n_bytes = np.zeros(ranges.n_ranges, np.int64)
    for counts in cluster.collect(coded.map(_measure), _MEASURED_BYTES):
        if isinstance(counts, DissensusError):
            raise counts
        first_items[counts.number], n_bytes[counts.number] = blocks.n_items, counts.n_bytes
        blocks.n_items += counts.n_items
        blocks.n_ratings += counts.n_ratings
        blocks.most_ratings = max(blocks.most_ratings, counts.most_ratings)
        blocks.n_blank += counts.n_blank
        blocks.n_dropped += counts.n_dropped
    blocks.run_bytes = int(np.bincount(number_runs(ranges.n_ranges), n_bytes).max())
    blocks.engine().add(_count_answers, blocks.loads, blocks.answer_counts)
    return blocks


def _split_rows(coder: RatingsCoder, ranges: ItemRanges, rows: pl.LazyFrame) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield the ranges of items that a slice has rows of, with their rows."""
    table = coder.select(rows)
    numbers = ranges.find(table["item"])
    order = np.argsort(numbers, kind="stable")
    edges = np.searchsorted(numbers[order], np.arange(ranges.n_ranges + 1))
    for number in np.flatnonzero(np.diff(edges)).tolist():
        yield number, table[order[edges[number] : edges[number + 1]]]


def _code_block(coder: RatingsCoder, number: int, parts: list[pl.DataFrame]) -> CodedBlock | DissensusError:
    """Code a block, or return the error of a check, since Spark would repeat a task that raises it."""
    try:
        return coder.code_block(number, pl.concat(parts).sort("item", maintain_order=True))
    except DissensusError as error:
        return error


def _measure(coded: CodedBlock | DissensusError) -> _BlockCounts | DissensusError:
    if isinstance(coded, DissensusError):
        return coded
    most = int(coded.sizes.max(initial=0))
    counts = coded.sizes.size, coded.raters.size, most, coded.n_blank, coded.n_dropped
    return _BlockCounts(coded.number, *counts, coded.n_bytes)


def _decode(
    first_items: Int64Array,
    n_raters: int,
    n_categories: int,
    codes: Int32Array | None,
    coded: CodedBlock,
) -> Block | None:
    if not coded.sizes.size:
        return None
    return coded.decode(int(first_items[coded.number]), n_raters, n_categories, codes)


def _count_answers(block: Block, loads: Int64Array, answers: Int64Array) -> None:
    loads += block.design.loads
    answers += block.design.answer_counts
