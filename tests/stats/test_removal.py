"""Movement of labels when raters are removed."""

import math

import numpy as np
import pytest
from hypothesis import given
from tests.designs import Case, case, cases
from tests.oracles import divergence
from tests.stats.compare import close
from tests.strategies import quick

from dissensus.stats import removal
from dissensus.stats.removal import MOVES, label_shift, moves
from dissensus.stats.significance import upper_p


def by_hand(sample: Case, removed: set[int]) -> dict[str, float | None]:
    """Return the four moves from lists of answers by item."""
    distances: list[tuple[float, float]] = []
    n_changed = disjoint = 0
    for item in range(sample.design.n_items):
        before = [k for i, _, k in sample.rated_by_hand if i == item]
        after = [k for i, r, k in sample.rated_by_hand if i == item and r not in removed]
        if not after:
            continue
        p, q = ([own.count(k) / len(own) for k in range(sample.design.n_categories)] for own in (before, after))
        middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
        jensen = (divergence.kullback_leibler(p, middle) + divergence.kullback_leibler(q, middle)) / 2
        distances.append((divergence.total_variation(p, q), jensen))
        tops, later = ({k for k in own if own.count(k) == max(map(own.count, own))} for own in (before, after))
        n_changed += tops != later
        disjoint += not tops & later
    means = [sum(column) / len(distances) for column in zip(*distances, strict=True)] or [None, None]
    return dict(zip(MOVES, (*means, n_changed, disjoint), strict=True))


@quick
@given(cases())
def test_moves_equal_those_computed_by_hand(sample: Case) -> None:
    rng = np.random.default_rng(1)
    removed = rng.random((4, sample.design.n_raters)) < 0.4
    result = moves(sample.design, removed)
    for row, is_removed in zip(result, removed, strict=True):
        expected = by_hand(sample, set(np.flatnonzero(is_removed).tolist())).values()
        for value, expected_value in zip(row, expected, strict=True):
            assert math.isnan(value) if expected_value is None else value == close(expected_value)


def test_blocks_of_items_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = case(5, n_items=57, n_raters=40, n_categories=3, n_groups=2, share_rated=0.3)
    removed = np.random.default_rng(2).random((9, 40)) < 0.2
    unblocked = moves(sample.design, removed)
    monkeypatch.setattr(removal, "_BLOCK_BYTES", 8 * 3 * 40 * 5)
    np.testing.assert_allclose(moves(sample.design, removed), unblocked, rtol=1e-12)


def test_nobody_removed_moves_nothing() -> None:
    sample = case(5, n_items=20, n_raters=10, n_categories=3, n_groups=2)
    np.testing.assert_array_equal(moves(sample.design, np.zeros((1, 10), dtype=bool)), [[0, 0, 0, 0]])


def test_a_tie_that_appears_changes_a_label_and_leaves_one_in_common() -> None:
    shift = label_shift([[3, 2, 0], [3, 2, 0], [2, 2, 0], [2, 0, 0]], [[2, 2, 0], [1, 2, 0], [2, 1, 0], [0, 0, 0]])
    assert shift.changed.tolist() == [True, True, True, False]
    assert shift.disjoint.tolist() == [False, True, False, False]
    assert np.isnan(shift.total_variation).tolist() == [False, False, False, True]


def test_one_sided_p_counts_ties_and_is_never_zero() -> None:
    null = [0.1, 0.2, 0.3, 0.1 + 0.2]
    for observed, p in ((0.3, 3 / 5), (9.0, 1 / 5), (0.0, 1)):
        assert float(upper_p(observed, null)) == p
    assert float(upper_p(0.3, [math.nan, 0.1])) == 2 / 3
    assert math.isnan(upper_p(math.nan, null))
