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
from dissensus.stats.design import Design
from dissensus.stats.permutation import upper_p
from dissensus.stats.removal import LOAD_RATIO, MOVES, expected_shift, label_shift, load_strata, summarise_shifts


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
    result = summarise_shifts(sample.design, removed)
    for row, is_removed in zip(result, removed, strict=True):
        expected = by_hand(sample, set(np.flatnonzero(is_removed).tolist())).values()
        for value, expected_value in zip(row, expected, strict=True):
            assert math.isnan(value) if expected_value is None else value == close(expected_value)


def test_blocks_of_items_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = case(5, n_items=57, n_raters=40, n_categories=3, n_groups=2, share_rated=0.3)
    removed = np.random.default_rng(2).random((9, 40)) < 0.2
    unblocked = summarise_shifts(sample.design, removed)
    monkeypatch.setattr(removal, "_BLOCK_BYTES", 8 * 3 * 40 * 5)
    np.testing.assert_allclose(summarise_shifts(sample.design, removed), unblocked, rtol=1e-12)


def test_nobody_removed_moves_nothing() -> None:
    sample = case(5, n_items=20, n_raters=10, n_categories=3, n_groups=2)
    np.testing.assert_array_equal(summarise_shifts(sample.design, np.zeros((1, 10), dtype=bool)), [[0, 0, 0, 0]])


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


@quick
@given(cases())
def test_the_expected_shift_equals_that_computed_by_hand(sample: Case) -> None:
    removed = np.random.default_rng(2).random((3, sample.design.n_raters)) < 0.4
    for value, is_removed in zip(expected_shift(sample.design, removed), removed, strict=True):
        terms = []
        for item in range(sample.design.n_items):
            raters = [r for i, r, _ in sample.rated_by_hand if i == item]
            m, k = len(raters), sum(bool(is_removed[r]) for r in raters)
            if k < m:
                terms.append(k / ((m - k) * (m - 1)) if m > 1 else 0)
        assert math.isnan(value) if not terms else value == close(sum(terms) / len(terms))


def test_the_expected_shift_is_the_variance_of_a_share_after_random_removals() -> None:
    """Of 12 answers, 5 of which are Yes, 4 are removed."""
    answers = np.repeat([0, 1], [7, 5])
    design = Design(np.zeros(12, dtype=int), np.arange(12), answers, 1, 12, 2)
    removed = np.argsort(np.random.default_rng(0).random((40000, 12)), axis=1) < 4
    shares = np.array([answers[~row].mean() for row in removed])
    assert expected_shift(design, removed[:1])[0] * 35 / 144 == pytest.approx(shares.var(), rel=0.03)


def test_strata_of_equal_loads_are_one() -> None:
    assert load_strata([350] * 5).tolist() == [0] * 5
    assert load_strata([350] * 4, within=np.array([1, 0, -1, 0])).tolist() == [2, 1, 0, 1]


def test_loads_of_a_stratum_are_alike() -> None:
    loads = np.random.default_rng(0).integers(1, 400, size=300)
    strata = load_strata(loads)
    for stratum in range(strata.max() + 1):
        own = loads[strata == stratum]
        assert own.max() <= LOAD_RATIO * own.min()
    assert (np.diff(strata[np.argsort(loads)]) >= 0).all()
