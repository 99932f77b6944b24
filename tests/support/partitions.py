"""Ratings in memory as blocks of items behind the streaming engine, and comparison of analyses."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from dissensus.pipeline.analyse.result import Analysis
from dissensus.pipeline.engine.ratings import PartitionedRatings
from dissensus.pipeline.engine.stream import StreamingEngine
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Block, BlockedDesign, Design


def partition(ratings: Ratings, question: str, cuts: Sequence[int]) -> PartitionedRatings:
    """Return ratings as blocks that end at the given items."""
    item, rater, answer = ratings.codes(question)
    edges = [0, *cuts, ratings.n_items]
    n_categories = len(ratings.scale(question))

    def read() -> Iterator[Block]:
        for number, (low, high) in enumerate(pairwise(edges)):
            chosen = (item >= low) & (item < high)
            codes = item[chosen] - low, rater[chosen], answer[chosen]
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
