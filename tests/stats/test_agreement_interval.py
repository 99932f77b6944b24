"""Bootstrap intervals of agreement over items: replicates by hand, coverage, and invalid input."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.agreement_interval import (
    Coefficient,
    _alphas,
    _kappas,
    agreement_interval,
    dichotomise,
    select_equally_rated,
)
from dissensus.stats.distance import Level

Counts = np.typing.NDArray[np.int64]


def simulate_reviews(n_items: int, seed: int, *, steps: int = 5) -> Counts:
    """Three reviewers of each attempt, who differ by about a step."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, steps, n_items)
    answers = np.clip(truth[:, None] + rng.integers(-1, 2, (n_items, 3)), 0, steps - 1)
    return np.asarray((answers[:, :, None] == np.arange(steps)).sum(axis=1))


@quick
@given(
    rows=arrays(np.int64, (4, 3), elements=st.integers(0, 4)).filter(lambda rows: bool((rows.sum(axis=1) >= 2).all())),
    times=arrays(np.int64, 4, elements=st.integers(0, 3)).filter(lambda times: bool(times.any())),
    level=st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_a_replicate_of_alpha_is_the_alpha_of_the_drawn_items(rows: Counts, times: Counts, level: Level) -> None:
    (result,) = _alphas(rows, times[None].astype(float), level)
    try:
        expected = krippendorff_alpha(np.repeat(rows, times, axis=0), level=level).estimate
    except UndefinedEstimate:
        assert np.isnan(result)
    else:
        assert result == pytest.approx(expected, abs=1e-12)


def test_a_replicate_of_kappa_is_the_kappa_of_the_drawn_items() -> None:
    rows = np.unique(simulate_reviews(50, 1), axis=0)
    for seed in range(20):
        times = np.random.default_rng(seed).integers(0, 3, len(rows))
        (result,) = _kappas(rows, times[None].astype(float), "nominal")
        assert result == pytest.approx(fleiss_kappa(np.repeat(rows, times, axis=0)).estimate, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("coefficient", "level"), [("krippendorff_alpha", "ordinal"), ("fleiss_kappa", "nominal")])
def test_intervals_cover_the_agreement_of_many_items(coefficient: Coefficient, level: Level) -> None:
    truth = agreement_interval(simulate_reviews(200_000, 0), coefficient, level=level, replicates=0).estimate.estimate
    results = [
        agreement_interval(simulate_reviews(120, seed), coefficient, level=level, replicates=300)
        for seed in range(1, 301)
    ]
    coverage = np.mean(
        [one.low is not None and one.high is not None and one.low <= truth <= one.high for one in results]
    )
    # 95 % within three standard errors of 300 trials.
    assert abs(coverage - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300)


def test_the_order_of_items_does_not_matter() -> None:
    counts = simulate_reviews(60, 2)
    assert agreement_interval(counts, seed=3) == agreement_interval(counts[::-1], seed=3)
    assert agreement_interval(counts, seed=3) != agreement_interval(counts, seed=4)


def test_items_with_one_rating_are_dropped() -> None:
    counts, single_ratings = simulate_reviews(60, 2), np.eye(5, dtype=np.int64)
    with_single = agreement_interval(np.concatenate([counts, single_ratings]), seed=3)
    without = agreement_interval(counts, seed=3)
    assert (with_single.low, with_single.high) == (without.low, without.high)
    assert with_single.estimate.estimate == without.estimate.estimate
    assert (with_single.estimate.n_dropped, without.estimate.n_dropped) == (5, 0)


def test_dichotomised_answers_and_equally_rated_items() -> None:
    counts = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 2, 1], [0, 0, 0, 0, 2], [1, 0, 0, 0, 0]])
    assert dichotomise(counts, 3).tolist() == [[3, 0], [0, 3], [0, 2], [1, 0]]
    assert select_equally_rated(counts).tolist() == counts[:2].tolist()
    # Two and three ratings are equally common: the larger number.
    assert select_equally_rated(counts[1:3]).tolist() == counts[1:2].tolist()
    with pytest.raises(UndefinedEstimate, match="No item has two ratings"):
        select_equally_rated(counts[3:])


@pytest.mark.parametrize("coefficient", ["krippendorff_alpha", "fleiss_kappa"])
def test_one_item_and_perfect_agreement_have_no_interval(coefficient: Coefficient) -> None:
    for counts in ([[2, 1]], [[3, 0], [0, 3]] * 20):
        result = agreement_interval(counts, coefficient, replicates=50)
        assert np.isfinite(result.estimate.estimate)
        assert (result.low, result.high, result.warning) == (None, None, None)


def test_few_items_are_warned_of() -> None:
    for n_items, warning in ((99, "interval too narrow: fewer than 100 items"), (100, None)):
        for coefficient in get_args(Coefficient):
            assert agreement_interval(simulate_reviews(n_items, 1), coefficient, replicates=50).warning == warning


def test_invalid_input() -> None:
    with pytest.raises(InvalidInput, match="There is no coefficient 'kappa'"):
        agreement_interval(simulate_reviews(9, 0), "kappa")  # type: ignore[arg-type]
    with pytest.raises(UndefinedEstimate, match="gave the same answer"):
        agreement_interval([[3, 0], [3, 0]])
    with pytest.raises(InvalidInput, match="the same number of ratings"):
        agreement_interval([[3, 0], [1, 1]], "fleiss_kappa")


def test_a_negative_number_of_replicates_is_refused() -> None:
    with pytest.raises(InvalidInput, match="replicates is -1; give 0 for no interval"):
        agreement_interval([[2, 1], [3, 0]], replicates=-1)
