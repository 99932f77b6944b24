"""Both kernels, weighted and unweighted, against the public estimators and an oracle of pairs."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.designs import LARGE, Case, Kernel, case, cases, kernel
from tests.oracles import weighted
from tests.strategies import quick

from dissensus.errors import UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.association import gai
from dissensus.stats.cohesion import negentropy, plurality_size
from dissensus.stats.crossgroup import cross_negentropy, voting_agreement, xrr
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.result import Estimate

Floats = NDArray[np.float64]
WITHIN: Mapping[str, Callable[..., Estimate]] = {
    "irr": krippendorff_alpha,
    "negentropy": negentropy,
    "plurality_size": plurality_size,
}
ACROSS: Mapping[str, Callable[..., Estimate]] = {
    "xrr": xrr,
    "cross_negentropy": cross_negentropy,
    "voting_agreement": voting_agreement,
    "gai": gai,
}
# A kernel adds up to 2,000 terms in another order than the estimators: 2,000 × 2e-16, with a margin for 1 - a/b.
TOLERANCE = 1e-10


def by_estimators(design: Design, group: NDArray[Any], inside: NDArray[Any], outside: NDArray[Any]) -> Floats:
    """Return the statistics of one replicate by the public functions on counts of ratings."""
    table = np.full((len(inside), len(METRICS)), np.nan)

    def counts(belongs: NDArray[np.bool_]) -> NDArray[np.int64]:
        rated = belongs[design.raters]
        result = np.zeros((design.n_items, design.n_categories), dtype=np.int64)
        np.add.at(result, (design.items[rated], design.answers[rated]), 1)
        return result

    for c, (g, h) in enumerate(zip(inside, outside, strict=True)):
        inside_counts = counts(group == g)
        outside_counts = counts(group == h if h >= 0 else (group >= 0) & (group != g))
        for m, name in enumerate(METRICS):
            try:
                estimate = (
                    WITHIN[name](inside_counts) if name in WITHIN else ACROSS[name](inside_counts, outside_counts)
                )
            except UndefinedEstimate:
                continue
            table[c, m] = estimate.estimate
    return table


def observed(of: Case, **weights: Any) -> Floats:
    """Return the statistics of the first replicate, shape (C, 7)."""
    result: Floats = statistics(of.design, of.group[None], of.inside, of.outside, **weights)[0]
    return result


def weights_of(of: Case, seed: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Integer weights of resampling, including zeros and large ones."""
    rng = np.random.default_rng(seed)
    raters = rng.choice([0, 1, 1, 2, 3], size=of.design.n_raters)
    items = rng.choice([0, 1, 1, 2, 3], size=of.design.n_items)
    return raters.astype(np.int32), items.astype(np.int32)


def assert_same(result: Floats, expected: Floats) -> None:
    np.testing.assert_allclose(result, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("kernel_name", ["bits", "lists"])
@given(of=cases())
@quick
def test_kernels_agree_with_the_estimators(kernel_name: Kernel, of: Case) -> None:
    with kernel(kernel_name):
        assert_same(observed(of), by_estimators(of.design, of.group, of.inside, of.outside))


@pytest.mark.parametrize("kernel_name", ["bits", "lists"])
@pytest.mark.parametrize("name", LARGE)
def test_kernels_agree_with_the_estimators_on_large_designs(kernel_name: Kernel, name: str) -> None:
    of = case(1, **LARGE[name])
    rng = np.random.default_rng(2)
    shuffled = np.stack([rng.permutation(of.group) for _ in range(3)])
    with kernel(kernel_name):
        result = statistics(of.design, shuffled, of.inside, of.outside)
    for table, group in zip(result, shuffled, strict=True):
        assert_same(table, by_estimators(of.design, group, of.inside, of.outside))
    assert np.isfinite(result).mean() > 0.9


def test_an_item_without_ratings_changes_nothing() -> None:
    of = case(3, n_items=9, n_raters=6, n_categories=3, n_groups=2)
    parts = (of.design.items + 1, of.design.raters, of.design.answers)
    padded = Case(Design(*parts, 11, 6, 3), of.group, of.inside, of.outside)
    for kernel_name in ("bits", "lists"):
        with kernel(kernel_name):
            assert_same(observed(padded), observed(of))


def test_a_category_that_nobody_chose_moves_negentropies_alone() -> None:
    of = case(4, n_items=9, n_raters=6, n_categories=3, n_groups=2)
    parts = (of.design.items, of.design.raters, of.design.answers)
    wider = Case(Design(*parts, 9, 6, 5), of.group, of.inside, of.outside)
    difference = np.log(5) - np.log(3)
    expected = observed(of) + np.array([0, 0, difference, difference, 0, 0, 0])
    for kernel_name in ("bits", "lists"):
        with kernel(kernel_name):
            assert_same(observed(wider), expected)


@given(of=cases(max_raters=7, max_items=5), seed=st.integers(0, 2**32 - 1))
@quick
def test_weights_count_pairs_of_distinct_raters(of: Case, seed: int) -> None:
    raters, items = weights_of(of, seed)
    result = observed(of, rater_weight=raters[None], item_weight=items[None])
    sample = weighted.Sample(
        of.rated_by_hand, of.group.tolist(), raters.tolist(), items.tolist(), of.design.n_categories
    )
    for c, (g, h) in enumerate(zip(of.inside.tolist(), of.outside.tolist(), strict=True)):
        for name, expected in weighted.statistics(sample, g, h).items():
            value = result[c, METRICS.index(name)]
            if expected is None:
                assert np.isnan(value), name
            else:
                assert value == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE), name


@given(of=cases())
@quick
def test_weights_of_one_change_nothing(of: Case) -> None:
    rater_ones = {"rater_weight": np.ones((1, of.design.n_raters), np.int32)}
    all_ones = {**rater_ones, "item_weight": np.ones((1, of.design.n_items), np.int32)}
    with kernel("bits"):
        plain = observed(of)
    assert_same(observed(of, **rater_ones), plain)
    assert_same(observed(of, **all_ones), plain)


@given(of=cases(), seed=st.integers(0, 2**32 - 1))
@quick
def test_raters_of_weight_zero_are_ignored(of: Case, seed: int) -> None:
    weight = (np.random.default_rng(seed).random(of.design.n_raters) < 0.6).astype(np.int32)
    has_weight = weight[of.design.raters] > 0
    parts = (of.design.items[has_weight], of.design.raters[has_weight], of.design.answers[has_weight])
    remaining = Case(
        Design(*parts, of.design.n_items, of.design.n_raters, of.design.n_categories), of.group, of.inside, of.outside
    )
    assert_same(observed(of, rater_weight=weight[None]), observed(remaining))


def test_copies_of_one_rater_are_not_a_pair() -> None:
    """Two raters, one drawn twice and the other never: their agreement is undefined."""
    of = case(5, n_items=8, n_raters=4, n_categories=2, n_groups=2)
    pair = Case(of.design, np.array([0, 0, 1, 1], np.int32), of.inside, of.outside)
    result = dict(zip(METRICS, observed(pair, rater_weight=np.array([[2, 0, 1, 1]], np.int32))[0], strict=True))
    assert np.isnan(result["irr"])
    assert np.isnan(result["gai"])
    by_metric = dict(zip(METRICS, observed(pair, rater_weight=np.array([[1, 0, 1, 1]], np.int32))[0], strict=True))
    for name in ("xrr", "negentropy", "plurality_size", "voting_agreement", "cross_negentropy"):
        assert result[name] == pytest.approx(by_metric[name], rel=TOLERANCE), name


def test_drawing_all_raters_twice_changes_nothing() -> None:
    """Doubling every weight scales all pairs of distinct raters alike, in the items and in the pool."""
    of = case(6, n_items=9, n_raters=8, n_categories=3, n_groups=2)
    twice = np.full((1, 8), 2, np.int32)
    assert_same(observed(of, rater_weight=twice), observed(of))


def test_an_item_drawn_twice_is_two_items_but_for_pairs_with_its_copies() -> None:
    """D_o is that of the duplicated item; D_e divides by N² less the squares, (2w)² for a copy and 2 w² for a twin."""
    of = case(7, n_items=9, n_raters=8, n_categories=3, n_groups=2)
    design = of.design
    twin = design.items == 0
    duplicated = Design(
        np.concatenate([design.items, np.full(twin.sum(), 9, np.int32)]),
        np.concatenate([design.raters, design.raters[twin]]),
        np.concatenate([design.answers, design.answers[twin]]),
        *(10, 8, 3),
    )
    weight = np.array([[2, 1, 1, 1, 1, 1, 1, 1, 1]], np.int32)
    weighted = observed(of, item_weight=weight)
    twins = observed(Case(duplicated, of.group, of.inside, of.outside))
    unaffected = [METRICS.index(name) for name in ("xrr", "negentropy", "cross_negentropy", "plurality_size")]
    assert_same(weighted[:, unaffected], twins[:, unaffected])
    for c, g in enumerate(of.inside):
        m = int((of.group == g).sum())
        for name, a_copy in (("irr", m), ("voting_agreement", 2)):  # ratings of an item: of the group, of two voters
            n = 10 * a_copy
            ratio = (n**2 - (8 + 4) * a_copy) / (n**2 - 10 * a_copy)
            at = (c, METRICS.index(name))
            assert 1 - weighted[at] == pytest.approx(ratio * (1 - twins[at]), rel=TOLERANCE), name


def test_one_row_serves_all_replicates() -> None:
    of = case(8, n_items=9, n_raters=8, n_categories=3, n_groups=2)
    rng = np.random.default_rng(0)
    items = rng.integers(0, 3, (5, 9)).astype(np.int32)
    raters = rng.integers(0, 3, (5, 8)).astype(np.int32)
    result = statistics(of.design, of.group[None], of.inside, of.outside, rater_weight=raters, item_weight=items)
    for b in range(5):
        assert_same(result[b], observed(of, rater_weight=raters[b : b + 1], item_weight=items[b : b + 1]))


@given(cases(), st.sampled_from(["bits", "lists"]), st.integers(0, 2**32 - 1))
@quick
def test_everybody_else_as_a_group_is_that_of_two_groups(of: Case, which: Kernel, seed: int) -> None:
    weight = np.random.default_rng(seed).integers(0, 3, (1, of.design.n_raters)).astype(np.int32)
    weights = {} if which == "bits" else {"rater_weight": weight}
    for g in range(int(of.group.max()) + 1):
        others = np.where(of.group < 0, -1, np.where(of.group == g, 1, 0)).astype(np.int32)
        if not (others == 0).any() or not (others == 1).any():
            continue
        with kernel(which):
            rest = statistics(of.design, of.group[None], np.array([-1]), np.array([g]), **weights)
            two = statistics(of.design, others[None], np.array([0]), np.array([1]), **weights)
        np.testing.assert_allclose(rest, two, atol=TOLERANCE)


KERNEL = """
import sys
import numpy as np
from dissensus.stats.kernels import compiled, count_groups

@compiled()
def occupied(group):
    return np.zeros(count_groups(group) + 1).size

print(occupied(np.array([0, 2, 1])), *occupied.stats.cache_hits.values(), "numba.np.linalg" in sys.modules)
"""

INNER = """
from dissensus.stats.kernels import compiled

STEP = 1

@compiled()
def add(x):
    return x + STEP
"""
MIDDLE = """
from dissensus.stats.kernels import compiled
from inner import add

@compiled()
def twice(x):
    return add(add(x))
"""
OUTER = """
from dissensus.stats.kernels import compiled
from middle import twice

@compiled()
def outer(x):
    return twice(x)

print(outer(0), *outer.stats.cache_hits.values())
"""


def run_kernel(path: Path) -> list[str]:
    """Return the words that a program prints, with a cache of compiled code beside it."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(path.parent / "cache")}
    command = [sys.executable, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()


@pytest.mark.slow
def test_compiled_kernels_load_without_the_declarations_of_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    assert (run_kernel(path), run_kernel(path)) == (["4", "True"], ["4", "1", "False"])


@pytest.mark.slow
def test_kernels_are_compiled_again_when_one_that_they_link_has_changed(tmp_path: Path) -> None:
    for name, source in (("inner", INNER), ("middle", MIDDLE), ("outer", OUTER)):
        (tmp_path / f"{name}.py").write_text(source)
    path = tmp_path / "outer.py"
    assert (run_kernel(path), run_kernel(path)) == (["2"], ["2", "1"])
    (tmp_path / "inner.py").write_text(INNER.replace("STEP = 1", "STEP = 10"))
    assert (run_kernel(path), run_kernel(path)) == (["20"], ["20", "1"])
