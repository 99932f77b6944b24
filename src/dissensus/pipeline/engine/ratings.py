"""Ratings outside of memory: blocks of items behind an engine, with the raters in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from dissensus.errors import InvalidInput
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Block, BlockedDesign, Design
from dissensus.stats.result import FloatArray, IntArray

IN_MEMORY = "Read the ratings into memory for it: name one file, or fewer."


class TimedRaters(NamedTuple):
    """A range of raters, and a reader of the rater (counted from the first) and the known time of their ratings."""

    first: int
    end: int
    read: Callable[[], tuple[IntArray, FloatArray]]

    def read_times(self) -> FloatArray:
        """Return the known times of the raters."""
        return self.read()[1]


@dataclass(frozen=True, slots=True, eq=False)
class PartitionedRatings:
    """Checked ratings of one question in blocks of items.

    Parameters
    ----------
    pool
        The raters with their attributes, the scale and the notes; its only item stands for all.
    design
        The ratings as codes; its raters are those of the pool.
    read_items
        Reader of the blocks with the ids of their items; None if these were not read.
    split_times
        Ranges of all raters with their times; None if these were not read, or the files have none.
    """

    pool: Ratings
    design: BlockedDesign
    read_items: Callable[[], Iterator[tuple[Block, pl.Series]]] | None = None
    split_times: Callable[[], Sequence[TimedRaters]] | None = None

    def tables(self) -> Iterator[Ratings]:
        """Yield the ratings of each block as a table."""
        for _, answers, items in self._read_tables():
            yield replace(self.pool, answers=answers, items=items, repeats=answers.clear())

    def collect(self) -> Ratings:
        """Return all ratings as one table in memory: some ten bytes each, beside the raters and the ids of the items.

        Raises
        ------
        InvalidInput
            The ids of the items were not read.
        """
        answers, items = [], []
        for first_item, part, ids in self._read_tables():
            answers.append(part.with_columns(pl.col("item") + first_item))
            items.append(ids)
        collected = pl.concat(answers)
        return replace(self.pool, answers=collected, items=pl.concat(items), repeats=collected.clear())

    def _read_tables(self) -> Iterator[tuple[int, pl.DataFrame, pl.DataFrame]]:
        """Yield for each block its first item, its answers, whose items are counted from there, and its items."""
        if self.read_items is None:
            raise InvalidInput("The ids of the items were not read. Read the folder with with_items=True.")
        (question,) = self.pool.questions
        answers_of_scale = pl.Series(self.pool.scale(question), dtype=pl.Enum(self.pool.scale(question)))
        for block, ids in self.read_items():
            codes = block.design
            columns = {
                "item": pl.Series(codes.items, dtype=pl.UInt32),
                "rater": pl.Series(codes.raters, dtype=pl.UInt32),
                question: answers_of_scale.gather(codes.answers),
            }
            yield block.first_item, pl.DataFrame(columns), pl.DataFrame([ids.alias(names.ITEM_ID)])

    def refuse(self, what: str) -> None:
        """Raise for something that needs all ratings, or attributes of items, in memory."""
        raise InvalidInput(f"{what} is not computed from a folder of Parquet files. {IN_MEMORY}")


def select_pool(ratings: Ratings | PartitionedRatings) -> Ratings:
    """Return the raters and scales of ratings, wherever these lie."""
    return ratings.pool if isinstance(ratings, PartitionedRatings) else ratings


def code_answers(ratings: Ratings | PartitionedRatings, question: str) -> Design | BlockedDesign:
    """Return the answers to a question as codes."""
    if isinstance(ratings, PartitionedRatings):
        return ratings.design
    return Design(*ratings.codes(question), ratings.n_items, ratings.n_raters, len(ratings.scale(question)))
