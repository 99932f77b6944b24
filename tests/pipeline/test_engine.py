"""Analyses over blocks of items: the same numbers as in memory, wherever blocks end."""

import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from tests.support.partitions import assert_same, partition

import dissensus as ds
from dissensus.pipeline.analyse import analyse, group_divergence
from dissensus.pipeline.engine.stream import StreamingEngine, map_ahead
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.design import Block, Design, count_threads
from dissensus.stats.result import FloatArray

COMPLETE = ds.simulate_ratings(n_items=20, raters_per_cell=3, seed=4)
N_ITEMS = 12


def make_ratings(seed: int, share_rated: float, n_answers: int) -> Ratings:
    """Return ratings by nine raters, a third of them without a locale; with one answer nobody disagrees."""
    draws = np.random.default_rng(seed)
    item, rater = np.nonzero(draws.random((N_ITEMS, 9)) < share_rated)
    answer = np.array(["No", "Yes", "Unsure"])[draws.integers(0, n_answers, item.size)]
    locale = np.array(["A", "B", ""])[draws.permutation(9)[rater] % 3]
    table = {"item_id": item, "rater_id": rater, "Q_overall": answer, "rater_locale": locale}
    return Ratings.from_frame(pl.DataFrame(table))


@settings(max_examples=8, phases=[Phase.explicit, Phase.generate])  # Each failure would be shrunk for minutes
@given(
    st.integers(0, 999),
    st.sampled_from([0.3, 0.6, 1.0]),
    st.integers(1, 3),
    st.sets(st.integers(1, N_ITEMS - 1)).map(sorted),
    st.sampled_from(["rest", "B"]),
    st.booleans(),
)
@example(0, 0.3, 3, [*range(1, N_ITEMS)], "rest", True)  # Groups without a rating in some blocks
@example(1, 1.0, 1, [5], "rest", False)  # No disagreement
def test_any_partition_gives_the_numbers_of_memory(
    seed: int, share_rated: float, n_answers: int, cuts: list[int], against: str, differences: bool
) -> None:
    ratings = make_ratings(seed, share_rated, n_answers)
    cuts = [cut for cut in cuts if cut < ratings.n_items]
    options: dict[str, Any] = {"by": ["locale"], "against": against, "differences": differences, "min_raters": 1}
    options |= {"permutations": 7, "bootstrap": 5, "seed": 1}
    assert_same(analyse(partition(ratings, "Q_overall", cuts), **options), analyse(ratings, **options))


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


@pytest.mark.parametrize("resample", ["both", "raters", "items"])
def test_ranges_of_replicates_do_not_change_the_last_bit(resample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = partition(make_ratings(2, 0.6, 3), "Q_overall", [1, 5, 8])
    options: dict[str, Any] = {"by": ["locale"], "resample": resample, "permutations": 6, "bootstrap": 6}
    options |= {"differences": True, "min_raters": 1}
    at_once = analyse(blocks, **options).to_json()
    for chunk_bytes in (1, 2**13):
        monkeypatch.setattr(StreamingEngine, "chunk_bytes", chunk_bytes)
        assert analyse(blocks, **options).to_json() == at_once


@pytest.mark.parametrize(("n_threads", "n_chunks"), [(1, 2), (2, 3)])
def test_a_bootstrap_of_items_takes_the_memory_of_a_range(
    n_threads: int, n_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads hold the totals of further blocks, up to the memory of another range."""
    monkeypatch.setenv("OMP_NUM_THREADS", f"{n_threads}")
    item = np.repeat(np.arange(5000), 3)
    rater, answer = np.arange(item.size) % 6, np.where(item % 7 < 3, "No", "Yes")
    table = {
        "item_id": item,
        "rater_id": rater,
        "Q_overall": answer,
        "rater_gender": np.where(rater % 2, "Man", "Woman"),
    }
    blocks = partition(Ratings.from_frame(pl.DataFrame(table)), "Q_overall", [*range(500, 5000, 500)])
    monkeypatch.setattr(StreamingEngine, "chunk_bytes", 2**19)
    analyse(blocks, by="gender", bootstrap=2)  # Compiles
    tracemalloc.start()
    analyse(blocks, by="gender", bootstrap=20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_chunks * StreamingEngine.chunk_bytes


@pytest.mark.parametrize("measure", ["total_variation", "jensen_shannon", "group_distance"])
@pytest.mark.parametrize("share_rated", [0.5, 1.0])
def test_distances_of_groups_are_those_of_memory(measure: str, share_rated: float) -> None:
    ratings = make_ratings(3, share_rated, 3)
    options: dict[str, Any] = {"measure": measure, "permutations": 9, "seed": 2}
    blocks = group_divergence(partition(ratings, "Q_overall", [1, 4, 5, 11]), "locale", **options)
    memory = group_divergence(ratings, "locale", **options)
    np.testing.assert_allclose(blocks.pair_null, memory.pair_null, rtol=1e-12, atol=1e-12)
    for of_blocks, of_memory in zip(blocks.to_dict()["pairs"], memory.to_dict()["pairs"], strict=True):
        numbers = {name: value for name, value in of_memory.items() if isinstance(value, float)}
        assert of_blocks == of_memory | {
            name: pytest.approx(value, rel=1e-12, abs=1e-12) for name, value in numbers.items()
        }
    assert (blocks.n_items, blocks.reason, blocks.p) == (memory.n_items, memory.reason, memory.p)


def test_parts_that_follow_are_mapped_meanwhile_in_order() -> None:
    begun: list[int] = []
    first_may_end = threading.Event()

    def double(part: int) -> int:
        begun.append(part)
        if part == 1:
            first_may_end.set()
        if part == 0:
            assert first_may_end.wait(30)
        return 2 * part

    results = map_ahead(double, range(9), 3)
    assert next(results) == 0
    assert len(begun) <= 3 + 1
    assert list(results) == [2 * part for part in range(1, 9)]


@pytest.mark.parametrize("n_ahead", [1, 2, 8])
def test_the_first_error_of_mapped_parts_is_raised(n_ahead: int) -> None:
    def refuse(part: int) -> int:
        if part >= 2:
            raise ValueError(f"part {part}")
        return part

    results = map_ahead(refuse, range(20), n_ahead)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="part 2"):
        next(results)


@pytest.mark.parametrize("n_blocks", [1, 2, 127, 128, 129, 300])
def test_threads_do_not_change_the_last_bit_of_totals(n_blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(3).normal(size=(n_blocks, 2, 50))
    empty = np.zeros(0, np.int64)
    design = Design(empty, empty, empty, 1, 1, 2)

    def read(low: int, high: int) -> Iterator[Block]:
        return (Block(design, number, number) for number in range(low, high))

    n_shared: list[int] = []

    def fill(block: Block, first: FloatArray, second: FloatArray) -> None:
        n_shared.append(count_threads())
        first += draws[block.number, 0]
        second += draws[block.number, 1]

    totals = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        first, second = np.zeros(50), np.zeros(50)
        StreamingEngine(n_blocks, read).add(fill, first, second)
        assert max(n_shared) * min(int(threads), len(n_shared)) <= int(threads)
        n_shared.clear()
        totals.append((first.tobytes(), second.tobytes()))
        np.testing.assert_allclose([first, second], draws.sum(axis=0), rtol=1e-9)
    assert len(set(totals)) == 1
