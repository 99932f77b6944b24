"""Ratings in memory as blocks of items behind the streaming engine, tables for folders, and comparison of analyses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from dissensus.pipeline.analyse.result import Analysis
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.pipeline.engine.stream import StreamingEngine
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Block, BlockedDesign, Design

N_ITEMS, N_RATERS = 30, 8


def partition(ratings: Ratings, question: str, cuts: Sequence[int]) -> PartitionedRatings:
    """Return ratings as blocks that end at the given items."""
    item, rater, answer = ratings.codes(question)
    edges = [0, *cuts, ratings.n_items]
    n_categories = len(ratings.scale(question))

    def read(first: int, end: int) -> Iterator[Block]:
        for number in range(first, end):
            low, high = edges[number : number + 2]
            within = (item >= low) & (item < high)
            codes = item[within] - low, rater[within], answer[within]
            yield Block(Design(*codes, high - low, ratings.n_raters, n_categories), number, low)

    design = BlockedDesign(
        engine=StreamingEngine(len(edges) - 1, read),
        n_items=ratings.n_items,
        n_raters=ratings.n_raters,
        n_categories=n_categories,
        n_ratings=item.size,
        most_ratings=int(np.bincount(item).max()),
        loads=np.bincount(rater, minlength=ratings.n_raters),
        answer_counts=np.bincount(answer, minlength=n_categories),
    )
    return PartitionedRatings(ratings, design)


def make_table(seed: int, share_rated: float, n_answers: int, share_timed: float) -> pl.DataFrame:
    """Return ratings in random order, some of them twice; with one answer nobody disagrees."""
    draws = np.random.default_rng(seed)
    item, rater = np.nonzero(draws.random((N_ITEMS, N_RATERS)) < share_rated)
    again = draws.integers(0, item.size, 5)
    item, rater = np.concatenate([item, item[again]]), np.concatenate([rater, rater[again]])
    time = np.where(draws.random(item.size) < share_timed, draws.integers(0, 9, item.size) * 500.5, np.nan)
    table = pl.DataFrame(
        {
            "item_id": pl.Series(item + 7).cast(pl.String),
            "rater_id": pl.Series(rater).cast(pl.String),
            "rater_locale": np.array(["A", "B", ""])[draws.permutation(N_RATERS)[rater] % 3],
            "answer_time_ms": time,
            "Q_overall": np.array(["No", "Yes", "Unsure"])[draws.integers(0, n_answers, item.size)],
        }
    )
    order: list[int] = draws.permutation(item.size).tolist()
    return table[order]


def assert_same(first: Analysis, second: Analysis, tolerance: float = 1e-12) -> None:
    """Compare all rows of two analyses: numbers to a tolerance, the rest exactly."""
    assert len(first.rows) == len(second.rows)
    for one, other in zip((*first.overall, *first.rows), (*second.overall, *second.rows), strict=True):
        _assert_equal(asdict(one), asdict(other), tolerance)
    assert first.warnings == second.warnings
    assert (first.n_raters, first.n_items, first.n_ratings) == (second.n_raters, second.n_items, second.n_ratings)


def _assert_equal(first: dict[str, Any], second: dict[str, Any], tolerance: float) -> None:
    for key, value in first.items():
        if isinstance(value, float) and isinstance(second[key], float):
            assert math.isclose(value, second[key], rel_tol=tolerance, abs_tol=tolerance), (first, second)
        else:
            assert value == second[key], (key, first, second)
