"""Types of codes and weights: each takes the compiled kernels and gives the same statistics."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numpy.typing import NDArray
from tests.designs import Case, case

from dissensus.stats import kernels as published_kernels
from dissensus.stats.divergence import mean_pairwise
from dissensus.stats.groups import kernels, resample_kernels, scale_kernels
from dissensus.stats.groups.scale import build_ordered_scale
from dissensus.stats.groups.statistics import (
    group_statistics,
    published_statistics,
    resample_published,
    resample_statistics,
)

MODULES = (published_kernels, kernels, resample_kernels, scale_kernels)


def compute_all(of: Case, convert: Callable[[NDArray[np.int32]], NDArray[Any]]) -> list[NDArray[np.float64]]:
    """Compute all statistics of groups, from codes and weights of another type."""
    rng = np.random.default_rng(2)
    design, compared = of.design, (convert(of.inside), convert(of.outside))
    groups = convert(rng.permuted(np.tile(of.group, (3, 1)), axis=1).astype(np.int32))
    weights = {
        "rater_weight": convert(rng.integers(3, size=(3, design.n_raters)).astype(np.int32)),
        "item_weight": convert(rng.integers(3, size=(3, design.n_items)).astype(np.int32)),
    }
    results: list[Any] = [
        group_statistics(design, groups, *compared, answer=1),
        published_statistics(design, groups, *compared),
        *mean_pairwise(design, groups),
        *resample_statistics(design, groups[0], *compared, answer=1, **weights).values(),
        *resample_published(design, groups[0], *compared, **weights).values(),
    ]
    return [
        array
        for result in results
        for array in ([result] if isinstance(result, np.ndarray) else (getattr(result, f.name) for f in fields(result)))
    ]


def count_compilations() -> dict[str, int]:
    return {
        f"{module.__name__}.{name}": len(kernel.signatures)
        for module in MODULES
        for name, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher)
    }


@pytest.mark.parametrize("convert", [np.int64, np.int8, np.asfortranarray], ids=["wide", "narrow", "by column"])
@pytest.mark.parametrize("level", ["nominal", "ordinal"])
@pytest.mark.parametrize("share_rated", [1.0, 0.2], ids=["complete", "sparse"])
def test_codes_and_weights_of_any_type_take_the_same_kernels(
    share_rated: float, level: str, convert: Callable[[NDArray[np.int32]], NDArray[Any]]
) -> None:
    of = case(1, n_items=12, n_raters=9, n_categories=3, n_groups=2, share_rated=share_rated)
    if level == "ordinal":
        scale = build_ordered_scale("ordinal", None, of.design.answer_counts)
        of = replace(of, design=replace(of.design, scale=scale))
    expected = compute_all(of, np.asarray)
    compilations = count_compilations()
    results = compute_all(of, convert)
    assert count_compilations() == compilations
    for result, array in zip(results, expected, strict=True):
        assert np.array_equal(result, array, equal_nan=True)
