"""Times of ratings by ranges of raters, in temporary files, since medians of a rater need all of its times."""

from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from dissensus.files.ratings.partitions.blocks import BlockStore
from dissensus.pipeline.engine.ratings import TimedRaters
from dissensus.stats.result import FloatArray, Int64Array, IntArray

RANGE_RATINGS: Final = 2**22
"""Ratings of a range of raters, about; a rater has all ratings in one."""
_TIMED: Final = np.dtype([("rater", np.int32), ("time", np.float64)])


def split_times(blocks: BlockStore) -> list[TimedRaters]:
    """Write the known times by ranges of raters, and return the ranges."""
    for path in blocks.folder.glob(_path(blocks.folder, "*").name):
        path.unlink()  # Of an earlier call
    range_of_rater = (np.cumsum(blocks.loads) - blocks.loads) // RANGE_RATINGS
    for raters, times in blocks.read_times():
        known = ~np.isnan(times)
        if known.any():
            _append(raters[known], times[known], range_of_rater, blocks.folder)
    numbers, first = np.unique(range_of_rater, return_index=True)
    ends = [*first[1:].tolist(), blocks.n_raters]
    return [
        TimedRaters(low, high, partial(_read, _path(blocks.folder, k), low))
        for k, low, high in zip(numbers.tolist(), first.tolist(), ends, strict=True)
    ]


def _path(folder: Path, number: int | str) -> Path:
    return folder / f"times-{number}"


def _append(raters: IntArray, times: FloatArray, range_of_rater: Int64Array, folder: Path) -> None:
    number = range_of_rater[raters]
    order = np.argsort(number, kind="stable")
    timed = np.empty(order.size, _TIMED)
    timed["rater"], timed["time"] = raters[order], times[order]
    numbers, first = np.unique(number[order], return_index=True)
    for k, low, high in zip(numbers.tolist(), first.tolist(), [*first[1:].tolist(), order.size], strict=True):
        with _path(folder, k).open("ab") as file:
            file.write(timed[low:high].tobytes())


def _read(path: Path, first: int) -> tuple[IntArray, FloatArray]:
    timed = np.fromfile(path, _TIMED) if path.exists() else np.empty(0, _TIMED)
    return timed["rater"] - first, timed["time"]
