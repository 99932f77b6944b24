"""Coding of the rows of a folder: checks that need all ratings of an item, and blocks of whole items."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.errors import InvalidInput
from dissensus.files.ratings.partitions.blocks import CodedBlock, CodedBlocks
from dissensus.files.ratings.partitions.distinct_values import DistinctValues
from dissensus.files.ratings.partitions.external_sort import NotSorted, Rows, read_in_order, sort_externally
from dissensus.files.ratings.partitions.folder import ParquetFolder
from dissensus.files.ratings.partitions.item_ranges import PARTITION_ROWS, ItemRanges, choose_ranges
from dissensus.files.ratings.partitions.row_counts import BATCH_ROWS
from dissensus.pipeline.engine.stream import MapParts, map_ahead
from dissensus.schema.hints import count_noun, format_value
from dissensus.schema.ratings import cells
from dissensus.schema.ratings import columns as names
from dissensus.schema.ratings.cleaning import Duplicates
from dissensus.schema.ratings.column_choice import ColumnChoice

_ONCE: Final = (
    "A rater rates an item once. Drop the rating that does not count, or keep the first or last, or none (drop): "
    "--duplicates first|last|drop (in Python: duplicates=...)."
)


@dataclass(frozen=True, slots=True, eq=False)
class RatingsCoder:
    """Coding of the rows of ranges of items into blocks."""

    folder: ParquetFolder
    choice: ColumnChoice
    distinct: DistinctValues
    duplicates: Duplicates
    final_codes: NDArray[np.int32]  # Code among raters that are read of each distinct rater; -1 for others
    as_text: bool  # True if items that are whole numbers are sorted as text, as in memory
    with_items: bool = False  # True if ids of items are written
    time: str | None = None  # Column with the times, if they are written

    @property
    def n_raters(self) -> int:
        """Number of raters that are read."""
        return int(self.final_codes.max()) + 1

    @property
    def item(self) -> pl.Expr:
        """Ids of items as they are sorted."""
        item, is_text = pl.col(self.choice.item), not self.folder.schema[self.choice.item].is_integer()
        return (item.cast(pl.String).str.strip_chars() if is_text or self.as_text else item).alias("item")

    def select(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Return items, codes of raters and of answers of rows that count."""
        rater, question = self.choice.rater or names.RATER_ID, self.choice.questions[0]
        index = self.distinct.rater_index
        codes = dict(zip(self.distinct.answers.to_list(), self.distinct.codes.tolist(), strict=True))
        times = [] if self.time is None else _time_columns(pl.col(self.time), self.folder.schema[self.time])
        columns = [
            self.item,
            index.hash(pl.col(rater).cast(pl.String).str.strip_chars()).alias("rater"),
            pl.col(question).replace_strict(codes, default=-1, return_dtype=pl.Int16).alias("answer"),
            *times,
        ]
        table = rows.filter(~self.distinct.second).select(columns).collect(engine="streaming")
        codes_of_raters = index.find(table["rater"])
        if (codes_of_raters < 0).any():
            raise InvalidInput(f"The files of {self.folder.source} changed while they were read. Read them again.")
        return table.with_columns(codes_of_raters)

    def choose_ranges(self, run: MapParts = map_ahead) -> ItemRanges:
        """Check ids of items, and return the ranges of items of the blocks."""
        self._check_items()
        ids = [self.choice.item, self.choice.rater or names.RATER_ID]
        return choose_ranges(self.folder, ids, self.item, ~self.distinct.second, run)

    def code(self, n_categories: int) -> CodedBlocks:
        """Write all rows as coded blocks: in the order of the files if they are sorted by item, else sorted."""
        ranges = self.choose_ranges()
        blocks = CodedBlocks(self.n_raters, n_categories, ranges.n_ranges)
        with suppress(NotSorted):
            return self._write(read_in_order(self._read(BATCH_ROWS), ranges), blocks)
        blocks = CodedBlocks(self.n_raters, n_categories, ranges.n_ranges)
        return self._write(sort_externally(self._read(PARTITION_ROWS, 2), ranges, blocks.folder), blocks)

    def _read(self, n_rows: int, n_ahead: int | None = None) -> Iterator[pl.DataFrame]:
        return map_ahead(self.select, self.folder.slices(n_rows), n_ahead)

    def _write(self, ranges: Iterable[Rows], blocks: CodedBlocks) -> CodedBlocks:
        for number, rows in ranges:
            blocks.append(self.code_block(number, rows))
        return blocks

    def notes(self, n_blank: int, n_dropped: int) -> Iterator[str]:
        """Yield remarks on rows that are left out."""
        if n_dropped:
            yield (
                f"{count_noun(n_dropped, 'rating')} left out, because a rater rated an item more "
                f"than once (--duplicates {self.duplicates})."
            )
        if n_blank:
            rows, verb = ("row has", "counts") if n_blank == 1 else ("rows have", "count")
            yield f"{n_blank:,} {rows} no answer to {self.choice.questions[0]} and {verb} as not rated."

    def _check_items(self) -> None:
        """Raise for ids of items that are neither text nor whole numbers, by the first rows."""
        ids = self.folder.scan().select(self.choice.item).head(1000).collect().to_series()
        cells.read_ids(ids.drop_nulls(), lambda _: None)

    def code_block(self, number: int, table: pl.DataFrame) -> CodedBlock:
        """Check the rows of a range of items, sorted by item, and code them."""
        items = table["item"]
        self._check_ids(items)
        self._check_times(table)
        first = items.rle_id().to_numpy()
        starts = np.flatnonzero(np.diff(first, prepend=-1))
        rater = table["rater"].to_numpy().astype(np.int64)
        key = first.astype(np.int64) * len(self.distinct.rater_ids) + rater
        answer = table["answer"].to_numpy()
        times = None if self.time is None else table["time"].to_numpy()
        if (np.diff(key) <= 0).any():
            order = np.argsort(key, kind="stable")
            key, first, rater, answer = key[order], first[order], rater[order], answer[order]
            times = None if times is None else times[order]
        retained, n_dropped = answer >= 0, 0
        if (np.diff(key) == 0).any():
            retained, n_dropped = self._select_duplicates(key, answer, table)
        n_blank = int(np.count_nonzero(answer < 0))
        code = self.final_codes[rater]
        retained &= code >= 0
        numbers, sizes = np.unique(first[retained], return_counts=True)
        return CodedBlock(
            number,
            code[retained],
            answer[retained],
            sizes.astype(np.int32),
            items=items.gather(starts[numbers]).cast(pl.String) if self.with_items else None,
            times=None if times is None else times[retained],
            n_blank=n_blank,
            n_dropped=n_dropped,
        )

    def _check_ids(self, items: pl.Series) -> None:
        item = pl.col(self.choice.item)
        if items.null_count() or (items.dtype == pl.String and items[0] == ""):
            is_empty = item.cast(pl.String).str.strip_chars().fill_null("") == ""
            raise InvalidInput(
                f"{self.folder.name_row(is_empty)}: {self.choice.item} is empty. Every rating needs the ids of its "
                "item and its rater. Fill it in or drop the row."
            )
        if items.dtype != pl.String:
            return
        decimal = items.filter(items.str.ends_with("0") & items.str.contains(cells.WHOLE))
        if len(decimal):
            place = self.folder.name_row(item.cast(pl.String).str.strip_chars() == decimal[0])
            raise InvalidInput(
                f"{place}: {self.choice.item} is {format_value(decimal[0])}, a decimal number. A "
                "program has taken ids for numbers. Go back to the original data and read the ids as text."
            )

    def _check_times(self, table: pl.DataFrame) -> None:
        if self.time is None or not table["impossible"].any():
            return
        dtype = self.folder.schema[self.time]
        invalid = _time_columns(pl.col(self.time), dtype)[1]
        (place,) = self.folder.locate(invalid)
        raise InvalidInput(
            f"{place[0].upper()}{place[1:]}: {self.time} is not a time. A time is a number of milliseconds, 0 or more. "
            "Correct it, or leave it empty where it is not known."
        )

    def _select_duplicates(
        self, key: NDArray[np.int64], answer: NDArray[np.int16], table: pl.DataFrame
    ) -> tuple[NDArray[np.bool_], int]:
        """Return the ratings to keep where a rater rated an item more than once, and the number of others."""
        if self.duplicates == "refuse":
            self._refuse_duplicates(int(key[np.flatnonzero(np.diff(key) == 0)[0]]), table)
        answered = answer >= 0
        keys = pl.Series(key[answered])
        is_retained = {"first": keys.is_first_distinct, "last": keys.is_last_distinct, "drop": keys.is_unique}[
            self.duplicates
        ]()
        retained = np.zeros(key.size, bool)
        retained[answered] = is_retained.to_numpy()
        return retained, int(np.count_nonzero(answered & ~retained))

    def _refuse_duplicates(self, key: int, table: pl.DataFrame) -> None:
        position, code = divmod(key, len(self.distinct.rater_ids))
        item = table["item"].filter(table["item"].rle_id() == position)[0]
        rater = self.distinct.rater_ids[code]
        column = self.choice.rater or names.RATER_ID
        places = self.folder.locate(
            (pl.col(self.choice.item).cast(pl.String).str.strip_chars() == str(item))
            & (pl.col(column).cast(pl.String).str.strip_chars() == rater)
            & ~self.distinct.second,
            2,
        )
        raise InvalidInput(
            f"Rater {format_value(rater)} rated item {format_value(item)} twice, in {' and '.join(places)}. {_ONCE}"
        )


def _time_columns(column: pl.Expr, dtype: pl.DataType) -> list[pl.Expr]:
    """Return times, NaN where they are unknown, and which are impossible, as a table in memory reads them."""
    known = column.is_not_null() & (column.is_not_nan() if dtype.is_float() else column.cast(pl.String) != "")
    time = column.cast(pl.Float64, strict=False)
    invalid = known & (time.is_null() | (time < 0) | ~time.is_finite())
    return [time.fill_null(np.nan).alias("time"), invalid.alias("impossible")]
