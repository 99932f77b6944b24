"""Labels with fewer raters against enumerated draws and random draws."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.labels import DrawDistribution, enumerate_draws
from tests.strategies import Counts, quick, tables

from dissensus.errors import InvalidInput
from dissensus.stats import replication
from dissensus.stats.replication import SubsampledLabels, subsample_labels

FIELDS = ("sd", "low", "high", "unique_mode", "tied_mode", "same_modes", "distance")
LARGE = np.random.default_rng(1).multivariate_hypergeometric([500, 60, 300], 104, size=80)


def row(result: SubsampledLabels, item: int) -> list[float]:
    return [float(value) for name in FIELDS for value in np.atleast_1d(getattr(result, name)[item])]


def expected(item: DrawDistribution) -> list[float]:
    values = (*(float(v) ** 0.5 for v in item.variance), *item.low, *item.high, *item.unique_mode)
    return [float(value) for value in (*values, item.tied_mode, item.same_modes, item.distance)]


@quick
@given(tables(max_items=3), st.data())
def test_every_draw_enumerated(counts: Counts, data: st.DataObject) -> None:
    counts = counts[counts.sum(axis=1) > 0]
    if not len(counts):
        return
    n_drawn = data.draw(st.integers(1, int(counts.sum(axis=1).min())))
    confidence = data.draw(st.sampled_from([Fraction(19, 20), Fraction(1, 2)]))
    result = subsample_labels(counts, n_drawn, confidence=float(confidence))
    for item, item_counts in enumerate(counts.tolist()):
        assert row(result, item) == pytest.approx(
            expected(enumerate_draws(item_counts, n_drawn, confidence)), abs=1e-12
        )


@pytest.mark.parametrize("n_drawn", [1, 2, 5, 20, 60])
def test_draws_at_random(n_drawn: int) -> None:
    rng = np.random.default_rng(n_drawn)
    replicates = 4000
    draws = np.stack([rng.multivariate_hypergeometric(own, n_drawn, size=replicates) for own in LARGE])
    shares, full = draws / n_drawn, LARGE / LARGE.sum(axis=1, keepdims=True)
    top = draws == draws.max(axis=-1, keepdims=True)
    everybody = (LARGE - LARGE.max(axis=-1, keepdims=True)) == 0
    unique = top & (top.sum(axis=-1, keepdims=True) == 1)
    result = subsample_labels(LARGE, n_drawn)
    five_errors = 5 * 0.5 / replicates**0.5
    assert np.abs(unique.mean(axis=1) - result.unique_mode).max() < five_errors
    assert np.abs((top.sum(axis=-1) > 1).mean(axis=1) - result.tied_mode).max() < five_errors
    assert np.abs((top == everybody[:, None]).all(axis=-1).mean(axis=1) - result.same_modes).max() < five_errors
    distance = np.abs(shares - full[:, None]).sum(axis=-1).mean(axis=1) / 2
    assert np.abs(distance - result.distance).max() < five_errors
    assert result.sd == pytest.approx(shares.std(axis=1), rel=0.1, abs=1e-9)
    inside = (shares >= result.low[:, None]) & (shares <= result.high[:, None])
    assert inside.mean(axis=1).min() > 0.95 - five_errors


def test_all_raters_are_everybody() -> None:
    result = subsample_labels(LARGE, np.int64(104))  # type: ignore[arg-type]
    assert not result.sd.any()
    assert np.abs(result.distance).max() < 1e-12
    assert result.same_modes == pytest.approx(1)
    assert result.low == pytest.approx(LARGE / 104)
    assert result.high == pytest.approx(LARGE / 104)


def test_one_rater_is_a_draw_from_the_shares() -> None:
    result = subsample_labels(LARGE, 1)
    assert result.unique_mode == pytest.approx(LARGE / 104)
    assert not result.tied_mode.any()


def test_probabilities_of_a_huge_pool_neither_vanish_nor_overflow() -> None:
    result = subsample_labels([[400_000, 350_000, 250_000]], 200)
    assert result.unique_mode.sum() + result.tied_mode.sum() == pytest.approx(1)
    assert result.sd[0] == pytest.approx(np.sqrt([0.4 * 0.6, 0.35 * 0.65, 0.25 * 0.75]) / 200**0.5, rel=1e-3)
    assert result.low[0] == pytest.approx(np.array([0.4, 0.35, 0.25]) - 1.96 * result.sd[0], abs=0.005)


@quick
@given(tables(), st.permutations(range(4)))
def test_answers_may_come_in_any_order_and_unused_ones_change_nothing(counts: Counts, order: list[int]) -> None:
    counts = counts[counts.sum(axis=1) > 2]
    if not len(counts):
        return
    wide = np.zeros((len(counts), 4), dtype=np.int64)
    wide[:, : counts.shape[1]] = counts
    plain, turned = subsample_labels(counts, 2), subsample_labels(wide[:, order], 2)
    assert turned.same_modes == pytest.approx(plain.same_modes, abs=1e-12)
    assert turned.distance == pytest.approx(plain.distance, abs=1e-12)
    assert turned.unique_mode[:, np.argsort(order)][:, : counts.shape[1]] == pytest.approx(plain.unique_mode, abs=1e-12)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    unblocked = subsample_labels(LARGE, 10)
    monkeypatch.setattr(replication, "BLOCK", 100)
    parts = subsample_labels(LARGE, 10)
    for name in FIELDS:
        assert np.array_equal(getattr(unblocked, name), getattr(parts, name))


@pytest.mark.parametrize(
    ("counts", "n_drawn", "confidence", "message"),
    [
        ([[3, 1]], 0, 0.95, "n_drawn is 0"),
        ([[3, 1], [1, 1]], 3, 0.95, "Item 1 has 2 ratings, so 3 cannot be drawn"),
        ([[3, 1]], 2, 95, "confidence is 95"),
        (np.zeros((0, 2), dtype=np.int64), 1, 0.95, "no items"),
        ([[3, -1]], 1, 0.95, "cannot be negative"),
    ],
)
def test_refusals(counts: Counts, n_drawn: int, confidence: float, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        subsample_labels(counts, n_drawn, confidence=confidence)
