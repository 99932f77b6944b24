"""Ratings outside of memory: blocks of items behind an engine, with the raters in memory."""

from dataclasses import dataclass, replace
from typing import Self

from dissensus.errors import InvalidInput
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import BlockedDesign

IN_MEMORY = "Read the ratings into memory for it: name one file, or fewer."


@dataclass(frozen=True, slots=True, eq=False)
class PartitionedRatings:
    """Checked ratings of one question in blocks of items.

    Parameters
    ----------
    pool
        The raters with their attributes, the scale and the notes; its only item stands for all.
    design
        The ratings as codes; its raters are those of the pool.
    """

    pool: Ratings
    design: BlockedDesign

    def refuse(self, what: str) -> None:
        """Raise for something that needs all ratings, or attributes of items, in memory."""
        raise InvalidInput(f"{what} is not computed from a folder of Parquet files. {IN_MEMORY}")

    def with_note(self, note: str) -> Self:
        """Return the same ratings with one more note."""
        return replace(self, pool=replace(self.pool, notes=(*self.pool.notes, note)))
