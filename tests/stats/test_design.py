"""Designs: counts, the choice of kernel, threads and chunks."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.designs import LARGE, Case, Kernel, case, cases, kernel
from tests.strategies import Floats, quick

from dissensus.errors import InvalidInput
from dissensus.stats.design import Design, chunks, count_threads, share_threads, statistics


@given(of=cases())
@quick
def test_counts_equal_a_loop_over_ratings(of: Case) -> None:
    design = of.design
    expected = np.zeros((int(of.group.max()) + 1, design.n_items, design.n_categories), dtype=np.int64)
    for item, rater, answer in of.rated_by_hand:
        if of.group[rater] >= 0:
            expected[of.group[rater], item, answer] += 1
    np.testing.assert_array_equal(design.counts(of.group), expected)
    np.testing.assert_array_equal(design.counts(np.zeros(design.n_raters, np.int32))[0], design.counts())


@given(of=cases())
@quick
def test_counts_of_all_groups_add_up_to_those_of_everybody(of: Case) -> None:
    everybody = np.where(of.group < 0, of.group.max() + 1, of.group)
    np.testing.assert_array_equal(of.design.counts(everybody).sum(axis=0), of.design.counts())


@given(of=cases(), seed=st.integers(0, 2**32 - 1))
@quick
def test_the_order_of_ratings_does_not_matter(of: Case, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(of.design.items.size)
    design = of.design
    shuffled = Design(
        design.items[order],
        design.raters[order],
        design.answers[order],
        design.n_items,
        design.n_raters,
        design.n_categories,
    )
    arguments = (of.group[None], of.inside, of.outside)
    np.testing.assert_array_equal(statistics(shuffled, *arguments), statistics(design, *arguments))


def test_dense_designs_are_packed_and_sparse_ones_are_not() -> None:
    dense = case(0, n_items=50, n_raters=100, n_categories=3, n_groups=2).design
    sparse = case(0, n_items=200, n_raters=2000, n_categories=3, n_groups=2, share_rated=0.002).design
    assert dense.prefers_packing(2)
    assert not sparse.prefers_packing(2)


def test_packing_is_refused_where_it_would_take_gigabytes() -> None:
    """A million items and 10,000 raters: 157 words × 3 answers × 1,000,000 items × 8 bytes are 3.8 GB."""
    zeros = np.zeros(10, np.int32)
    assert not Design(zeros, zeros, zeros, 1_000_000, 10_000, 3).prefers_packing(2)


@pytest.mark.parametrize("kernel_name", ["bits", "lists"])
@pytest.mark.parametrize("n_threads", ["", "2", "3", "64"])
def test_the_number_of_threads_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, kernel_name: Kernel, n_threads: str
) -> None:
    of = case(1, **LARGE["129 raters, some without a group"])
    rng = np.random.default_rng(0)
    shuffled = np.stack([rng.permutation(of.group) for _ in range(10)])
    weights = {
        "rater_weight": rng.integers(0, 4, shuffled.shape).astype(np.int32),
        "item_weight": rng.integers(0, 3, (10, of.design.n_items)).astype(np.int32),
    }
    arguments = (of.inside, of.outside)

    def both_ways() -> tuple[Floats, Floats]:
        with kernel(kernel_name):
            plain = statistics(of.design, shuffled, *arguments)
        return plain, statistics(of.design, of.group[None], *arguments, **weights)

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    single_thread = both_ways()
    monkeypatch.setenv("OMP_NUM_THREADS", n_threads)
    for expected, result in zip(single_thread, both_ways(), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_chunks_hold_every_replicate_once_in_order() -> None:
    parts = list(chunks(1000, 1 << 20))
    assert [b for part in parts for b in part] == list(range(1000))
    assert {len(part) for part in parts[:-1]} == {64}


def test_a_row_larger_than_a_chunk_comes_alone() -> None:
    assert list(chunks(3, 1 << 40)) == [range(1), range(1, 2), range(2, 3)]
    assert list(chunks(0, 8)) == []


@pytest.mark.parametrize(("inside", "outside"), [(2, -1), (0, 2)])
def test_a_group_that_nobody_is_in_is_refused(inside: int, outside: int) -> None:
    design = Design(np.array([0, 0]), np.array([0, 1]), np.array([0, 1]), 1, 2, 2)
    with pytest.raises(InvalidInput, match="uses a group without raters"):
        statistics(design, np.array([[0, 1]], np.int32), np.array([inside]), np.array([outside]))


@pytest.mark.parametrize(("setting", "n_threads"), [("3", 3), ("2,4", 2), (" 5 ", 5)])
def test_threads_are_set_as_for_other_libraries(setting: str, n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    assert count_threads() == n_threads


def test_parts_share_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    with share_threads(2):
        assert count_threads() == 3
        with share_threads(4):
            assert count_threads() == 1
        assert count_threads() == 3
    assert count_threads() == 7


@pytest.mark.parametrize("setting", ["", "0", "-1", "many"])
def test_without_a_number_threads_are_the_processors_of_the_process(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", setting)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 5, 7}, raising=False)
    assert count_threads() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert count_threads() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert count_threads() == 1
