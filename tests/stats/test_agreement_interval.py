"""Agreement with an interval for other items: replicates by hand, coverage, and what cannot be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import fleiss_kappa, krippendorff_alpha
from dissensus.stats.agreement_interval import (
    AgreementInterval,
    Coefficient,
    _alphas,
    _kappas,
    agreement_interval,
    evenly_rated,
    halves,
)
from dissensus.stats.distance import Level

Counts = np.typing.NDArray[np.int64]


def reviewed(n_items: int, seed: int, *, steps: int = 5) -> Counts:
    """Three reviewers of each attempt, who differ by about a step."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, steps, n_items)
    given = np.clip(truth[:, None] + rng.integers(-1, 2, (n_items, 3)), 0, steps - 1)
    return np.asarray((given[:, :, None] == np.arange(steps)).sum(axis=1))


@quick
@given(
    rows=arrays(np.int64, (4, 3), elements=st.integers(0, 4)).filter(lambda rows: bool((rows.sum(axis=1) >= 2).all())),
    times=arrays(np.int64, 4, elements=st.integers(0, 3)).filter(lambda times: bool(times.any())),
    level=st.sampled_from(["nominal", "ordinal", "interval"]),
)
def test_a_replicate_of_alpha_is_that_of_the_items_that_were_drawn(rows: Counts, times: Counts, level: Level) -> None:
    (found,) = _alphas(rows, times[None].astype(float), level)
    try:
        expected = krippendorff_alpha(np.repeat(rows, times, axis=0), level=level).estimate
    except UndefinedEstimate:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(expected, abs=1e-12)


def test_a_replicate_of_kappa_is_that_of_the_items_that_were_drawn() -> None:
    rows = np.unique(reviewed(50, 1), axis=0)
    for seed in range(20):
        times = np.random.default_rng(seed).integers(0, 3, len(rows))
        (found,) = _kappas(rows, times[None].astype(float), "nominal")
        assert found == pytest.approx(fleiss_kappa(np.repeat(rows, times, axis=0)).estimate, abs=1e-12)


@pytest.mark.parametrize(("coefficient", "level"), [("krippendorff_alpha", "ordinal"), ("fleiss_kappa", "nominal")])
def test_intervals_hold_what_many_items_have(coefficient: Coefficient, level: Level) -> None:
    truth = agreement_interval(reviewed(200_000, 0), coefficient, level=level, replicates=0).estimate.estimate
    found = [
        agreement_interval(reviewed(120, seed), coefficient, level=level, replicates=300) for seed in range(1, 301)
    ]
    held = np.mean([one.low is not None and one.high is not None and one.low <= truth <= one.high for one in found])
    # 95 % within three standard errors of 300 trials.
    assert abs(held - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300)


def test_the_order_of_items_does_not_matter() -> None:
    counts = reviewed(60, 2)
    assert agreement_interval(counts, seed=3) == agreement_interval(counts[::-1], seed=3)
    assert agreement_interval(counts, seed=3) != agreement_interval(counts, seed=4)


def test_items_with_one_rating_tell_nothing() -> None:
    counts, alone = reviewed(60, 2), np.eye(5, dtype=np.int64)
    with_some: AgreementInterval = agreement_interval(np.concatenate([counts, alone]), seed=3)
    assert (with_some.low, with_some.high) == (agreement_interval(counts, seed=3).low, with_some.high)
    assert with_some.estimate.n_dropped == 5


def test_two_classes_and_items_with_as_many_ratings() -> None:
    counts = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 2, 1], [0, 0, 0, 0, 2], [1, 0, 0, 0, 0]])
    assert halves(counts, 3).tolist() == [[3, 0], [0, 3], [0, 2], [1, 0]]
    assert evenly_rated(counts).tolist() == counts[:2].tolist()
    # As often two as three: the larger number.
    assert evenly_rated(counts[1:3]).tolist() == counts[1:2].tolist()
    with pytest.raises(UndefinedEstimate, match="No item has two ratings"):
        evenly_rated(counts[3:])


def test_what_cannot_be() -> None:
    with pytest.raises(InvalidInput, match="There is no coefficient 'kappa'"):
        agreement_interval(reviewed(9, 0), "kappa")  # type: ignore[arg-type]
    with pytest.raises(UndefinedEstimate, match="gave the same answer"):
        agreement_interval([[3, 0], [3, 0]])
    with pytest.raises(InvalidInput, match="as many ratings"):
        agreement_interval([[3, 0], [1, 1]], "fleiss_kappa")
