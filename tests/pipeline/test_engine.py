"""Analyses over blocks of items: the same numbers as in memory, wherever blocks end."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.partitions import assert_same, partition

import dissensus as ds
from dissensus.pipeline.analyse import analyse

SPARSE = ds.simulate_ratings(n_items=60, raters_per_cell=4, share_rated=0.4, seed=3)
COMPLETE = ds.simulate_ratings(n_items=20, raters_per_cell=3, seed=4)


@settings(max_examples=8)
@given(st.lists(st.integers(1, 59), unique=True).map(sorted), st.sampled_from(["rest", "Man"]), st.booleans())
def test_any_partition_gives_the_numbers_of_memory(cuts: list[int], against: str, differences: bool) -> None:
    options: dict[str, Any] = {"by": ["gender"], "against": against, "differences": differences}
    options |= {"permutations": 7, "bootstrap": 5, "seed": 1}
    blocks = analyse(partition(SPARSE, "Q_overall", cuts), **options)
    assert_same(blocks, analyse(SPARSE, **options))


@pytest.mark.parametrize("resample", ["raters", "items"])
def test_complete_designs_and_crossed_axes(resample: str) -> None:
    options: dict[str, Any] = {
        "by": ["gender"],
        "cross": ["gender*age"],
        "resample": resample,
        "permutations": 9,
        "bootstrap": 5,
    }
    blocks = analyse(partition(COMPLETE, "Q_overall", [7, 8]), **options)
    assert_same(blocks, analyse(COMPLETE, **options))
