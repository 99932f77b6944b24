"""Unbiased statistics of groups: oracles of pairs, second libraries, published data, and expectation."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import ttest_ind
from tests.designs import LARGE, Case, case, cases
from tests.oracles import groups as oracle
from tests.stats.compare import assert_same
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.schema.ratings.table import Ratings
from dissensus.stats import design as design_module
from dissensus.stats.crossgroup import xrr
from dissensus.stats.design import Design
from dissensus.stats.groups import kernels
from dissensus.stats.groups import statistics as module
from dissensus.stats.groups.estimates import (
    agreement_difference,
    answer_mean_difference,
    answer_share,
    between_share,
    corrected_gai,
    group_distance,
    item_group_distances,
    mean_difference,
    pairwise_agreement,
    superiority,
)
from dissensus.stats.groups.statistics import (
    GroupStatistics,
    group_statistics,
    resample_published,
    resample_statistics,
)

Floats = NDArray[np.float64]
tables = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=5)


@st.composite
def groups_of_counts(draw: st.DrawFn) -> list[list[list[int]]]:
    n_items = draw(st.integers(1, 4))
    return [draw(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=n_items, max_size=n_items))
            for _ in range(draw(st.integers(2, 3)))]  # fmt: skip


@quick
@given(counts=tables)
def test_agreement_is_the_share_of_pairs(counts: list[list[int]]) -> None:
    assert_same(lambda: pairwise_agreement(counts), lambda: oracle.pairwise_agreement(counts))


@quick
@given(counts=groups_of_counts())
def test_distance_and_share_between_groups_are_those_of_pairs(counts: list[list[list[int]]]) -> None:
    assert_same(lambda: group_distance(*counts[:2]), lambda: oracle.group_distance(*counts[:2]))
    assert_same(lambda: between_share(counts), lambda: oracle.between_share(counts))


def with_items(of: Case, answer: int) -> float:
    """Coefficient of the first group in a least-squares regression with an intercept for each item."""
    design = of.design
    rows = np.isin(of.group[design.raters], (0, 1))
    items = np.eye(design.n_items)[design.items[rows]]
    group = (of.group[design.raters[rows]] == 0).astype(float)
    y = (design.answers[rows] == answer).astype(float)
    return float(np.linalg.lstsq(np.column_stack([group, items]), y, rcond=None)[0][0])


@pytest.mark.parametrize("seed", range(5))
def test_difference_is_the_coefficient_with_an_intercept_for_each_item(seed: int) -> None:
    of = case(seed, n_items=12, n_raters=20, n_categories=3, n_groups=3, share_rated=0.5)
    counts = of.design.counts(of.group)
    assert float(mean_difference(counts[0], counts[1], 2)) == pytest.approx(with_items(of, 2), abs=1e-10)


def test_difference_is_studentised_as_welch_does_in_a_complete_design() -> None:
    of = case(3, n_items=15, n_raters=18, n_categories=3, n_groups=2)
    result = group_statistics(of.design, of.group[None], np.array([0]), np.array([-1]), answer=1)
    means = np.array([(of.design.answers[of.design.raters == r] == 1).mean() for r in range(18)])
    expected = ttest_ind(means[of.group == 0], means[of.group == 1], equal_var=False)
    assert result.difference_t.item() == pytest.approx(expected.statistic, rel=1e-10)


@quick
@given(of=cases())
def test_studentised_statistics_are_those_of_scores_of_raters(of: Case) -> None:
    """By loops over raters and pairs, also where raters left out items."""
    ratings, group, n = of.rated_by_hand, of.group.tolist(), of.design.n_categories
    worth, likeness = np.eye(n)[1], np.eye(n).tolist()
    result = group_statistics(of.design, of.group[None], of.inside, of.outside, answer=1)
    for c, (g, h) in enumerate(zip(of.inside.tolist(), of.outside.tolist(), strict=True)):
        weights = oracle.weigh_raters(group, g, h)
        shared = oracle.split_items(ratings, group, g, h)
        valued = [[[(r, float(worth[k])) for r, k in side] for side in sides] for sides in shared]
        paired = oracle.split_items(ratings, group, g, h, least=2)
        assert result.difference_t[0, c] == near(oracle.difference_t(valued, weights))
        assert result.agreement_t[0, c] == near(oracle.agreement_t(paired, likeness, weights))
        assert result.distance_t[0, c] == near(oracle.distance_t(paired, likeness))
    for p, (g, h) in enumerate(combinations(range(max(group) + 1), 2)):
        paired = oracle.split_items(ratings, group, g, h, least=2)
        assert result.pair_t[0, p] == near(oracle.distance_t(paired, likeness))
    assert result.between_t[0] == near(oracle.between_t(ratings, group, likeness))


def near(expected: float) -> Any:
    return pytest.approx(expected, rel=1e-7, abs=1e-7, nan_ok=True)


FIELDS = (
    "values",
    "difference_t",
    "agreement_t",
    "distance_t",
    "between_share",
    "between_t",
    "pair_distance",
    "pair_t",
)


def assert_equal(first: GroupStatistics, second: GroupStatistics) -> None:
    for name in FIELDS:
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", ["64 raters", "65 raters", "129 raters, some without a group", "one block of items"])
def test_complete_designs_have_the_values_of_the_walk_through_ratings(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = case(1, **LARGE[name])
    groups = np.stack([of.group, np.where(of.group >= 0, (of.group + 1) % (of.group.max() + 1), -1)]).astype(np.int32)

    def run() -> GroupStatistics:
        return group_statistics(of.design, groups, of.inside, of.outside, answer=0)

    fast = run()
    monkeypatch.setattr(module, "_complete_part", lambda *_: None)
    assert_equal(fast, run())


@pytest.mark.parametrize("share_rated", [1.0, 0.7])
@pytest.mark.parametrize("name", ["65 raters", "129 raters, some without a group"])
def test_marks_of_answers_count_as_lists_of_ratings(
    name: str, share_rated: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = case(1, **LARGE[name] | {"n_categories": 3, "share_rated": share_rated})
    rng = np.random.default_rng(5)
    rater_weight, item_weight = (
        rng.poisson(1, (4, n)).astype(np.int32) for n in (of.design.n_raters, of.design.n_items)
    )

    def run(design: Design) -> list[Floats]:
        compared = design, of.group, of.inside, of.outside
        unbiased = resample_statistics(*compared, answer=0, rater_weight=rater_weight, item_weight=item_weight)
        published = resample_published(*compared, rater_weight=rater_weight, item_weight=item_weight)
        return [*(part.values for part in unbiased.values()), *published.values()]

    assert of.design.marks.size
    marked = run(of.design)
    monkeypatch.setattr(design_module, "_MARKS_PER_RATING", 0)
    sparse = replace(of.design)
    assert not sparse.marks.size
    for of_marks, of_lists in zip(marked, run(sparse), strict=True):
        np.testing.assert_array_equal(of_marks, of_lists)


def test_replicates_may_have_other_raters() -> None:
    """Only the raters of the first replicate rated every item."""
    of = case(3, n_items=15, n_raters=18, n_categories=3, n_groups=2).design
    rated = (of.raters >= 6) | (of.items < 7)
    design = Design(of.items[rated], of.raters[rated], of.answers[rated], 15, 18, 3)
    everybody = np.arange(18) % 2
    groups = np.stack([np.where(np.arange(18) < 6, -1, everybody), everybody]).astype(np.int32)
    together = group_statistics(design, groups, np.array([0]), np.array([1]), answer=0)
    for b in range(2):
        alone = group_statistics(design, groups[b : b + 1], np.array([0]), np.array([1]), answer=0)
        np.testing.assert_allclose(together.values[b], alone.values[0], rtol=1e-10)


def test_scores_beyond_the_cache_are_those_within() -> None:
    """Raters without ratings enlarge the scores, which are then fetched ahead."""
    of = case(6, n_items=30, n_raters=20, n_categories=3, n_groups=3, share_rated=0.5)
    n_raters = 20 * 500
    assert n_raters * kernels.score_width(len(of.inside), 3) > kernels._CACHE_SCORES
    apart = Design(of.design.items, of.design.raters * 500, of.design.answers, 30, n_raters, 3)
    group = np.full(n_raters, -1, np.int32)
    group[::500] = of.group
    near, far = (
        group_statistics(design, codes[None], of.inside, of.outside, answer=1)
        for design, codes in ((of.design, of.group), (apart, group))
    )
    assert not np.isnan(near.distance_t).all()
    for name in ("values", "difference_t", "agreement_t", "distance_t", "between_t", "pair_t"):
        np.testing.assert_array_equal(getattr(far, name), getattr(near, name), err_msg=name)


def value_or_nan(function: Any, *arguments: Any) -> float:
    try:
        return float(function(*arguments))
    except UndefinedEstimate:
        return float("nan")


def by_estimators(of: Case, answer: int) -> Floats:
    counts = of.design.counts(of.group)
    table = np.full((len(of.inside), 4), np.nan)
    for c, (g, h) in enumerate(zip(of.inside, of.outside, strict=True)):
        x, y = counts[g], counts[h] if h >= 0 else counts.sum(axis=0) - counts[g]
        table[c] = [
            value_or_nan(answer_share, x, answer),
            value_or_nan(mean_difference, x, y, answer),
            value_or_nan(pairwise_agreement, x),
            value_or_nan(group_distance, x, y),
        ]
    return table


@quick
@given(of=cases())
def test_replicates_are_the_estimates(of: Case) -> None:
    result = group_statistics(of.design, of.group[None], of.inside, of.outside, answer=1)
    np.testing.assert_allclose(result.values[0, :, :4], by_estimators(of, 1), rtol=1e-9, atol=1e-9)
    share = value_or_nan(between_share, of.design.counts(of.group))
    assert result.between_share[0] == pytest.approx(share, nan_ok=True)


@quick
@given(of=cases(max_raters=6, max_items=4), seed=st.integers(0, 1000))
def test_copies_of_a_rater_form_no_pair(of: Case, seed: int) -> None:
    """Weights against an oracle in which each copy is a rating of its own, marked with its rater."""
    rng = np.random.default_rng(seed)
    raters = rng.integers(0, 3, of.design.n_raters).astype(np.int32)
    items = rng.integers(0, 3, of.design.n_items).astype(np.int32)
    replicates = resample_statistics(
        of.design, of.group, of.inside, of.outside, answer=0, rater_weight=raters[None], item_weight=items[None]
    )
    result = replicates["both"]
    for c, g in enumerate(of.inside):
        copies = [
            ((i, copy), r, k)
            for i, r, k in of.rated_by_hand
            for copy in range(items[i])
            if of.group[r] == g
            for _ in range(raters[r])
        ]
        codes = {item: n for n, item in enumerate(dict.fromkeys(item for item, _, _ in copies))}
        ratings = [(codes[item], r, k) for item, r, k in copies]
        try:
            expected = float(oracle.distinct_alpha(ratings))
        except ZeroDivisionError:
            expected = float("nan")
        assert result.of("distinct_alpha")[0, c] == pytest.approx(expected, nan_ok=True, abs=1e-9)
        if ratings:
            share = sum(k == 0 for _, _, k in ratings) / len(ratings)
            assert result.of("answer_share")[0, c] == pytest.approx(share)


def test_expectation_does_not_depend_on_the_number_of_ratings() -> None:
    """20,000 items with the shares .6, .3, .1 in both groups: agreement .46, distance 0, at any number of ratings.

    The standard error of agreement among two ratings is .5 / √20,000 = .0035, that of the distance is smaller.
    """
    rng = np.random.default_rng(1)
    for m, n in ((2, 2), (2, 9), (5, 3)):
        x, y = (rng.multinomial(size, [0.6, 0.3, 0.1], size=20_000) for size in (m, n))
        assert float(pairwise_agreement(x)) == pytest.approx(0.46, abs=0.0175)
        assert float(group_distance(x, y)) == pytest.approx(0, abs=0.0175)


@pytest.mark.slow
def test_corrected_gai_is_one_without_a_difference() -> None:
    """60 pools of 8 raters beside 40 × 60 items; the published ratio lies at .91."""
    rng = np.random.default_rng(4)
    group = np.repeat([0, 1], [8, 40])
    raters, items = np.divmod(np.arange(48 * 60), 60)
    published, corrected = [], []
    for _ in range(60):
        latent = rng.normal(size=60)[items] + 0.8 * rng.normal(size=48)[raters] + rng.normal(size=items.size)
        design = Design(items, raters, (latent > 0.3).astype(np.int16), 60, 48, 2)
        counts = design.counts(group)
        result = group_statistics(design, group[None], np.array([0]), np.array([1]), answer=1)
        corrected.append(float(corrected_gai(counts[0], counts[1], result.of("distinct_alpha").item())))
        agreement, p = result.of("pairwise_agreement").item(), counts[0].sum(axis=0) / counts[0].sum()
        n = counts[0].sum()
        published.append((1 - (1 - agreement) / ((1 - p @ p) * n / (n - 1))) / float(xrr(counts[0], counts[1])))
    assert np.mean(published) < 0.96
    assert np.mean(corrected) == pytest.approx(1, abs=4 * np.std(corrected) / np.sqrt(60))


@pytest.mark.parametrize(("axis", "share"), [("race", 1.26), ("gender", -0.11), ("age", -0.02), ("race*gender", 1.79)])
def test_decomposition_of_dices_350(dices_104: Ratings, axis: str, share: float) -> None:
    item, rater, answer = dices_104.codes("Q_overall")
    design = Design(item, rater, answer, dices_104.n_items, dices_104.n_raters, 3)
    codes, _ = dices_104.group_codes(dices_104.axis_name(axis))
    assert 100 * float(between_share(design.counts(codes))) == pytest.approx(share, abs=0.005)


@pytest.mark.parametrize(("group", "value"), [("Multiracial", 0.966), ("White", 0.941), ("Asian", 0.915)])
def test_corrected_gai_of_dices_350(dices_104: Ratings, group: str, value: float) -> None:
    item, rater, answer = dices_104.codes("Q_overall")
    design = Design(item, rater, answer, dices_104.n_items, dices_104.n_raters, 3)
    codes, names = dices_104.group_codes("rater_race")
    inside = next(g for g, name in enumerate(names) if name.startswith(group))
    counts = design.counts(codes)
    alpha = group_statistics(design, codes[None], np.array([inside]), np.array([-1]), answer=0).of("distinct_alpha")
    others = counts.sum(axis=0) - counts[inside]
    assert float(corrected_gai(counts[inside], others, alpha.item())) == pytest.approx(value, abs=0.0005)


def test_undefined_estimates_say_why() -> None:
    empty, single = [[0, 0]], [[1, 0]]
    for function, arguments in (
        (answer_share, (empty, 0)),
        (mean_difference, (single, empty, 0)),
        (pairwise_agreement, (single,)),
        (group_distance, ([[2, 0]], single)),
        (between_share, ([[[2, 0]], [[2, 0]]],)),
    ):
        with pytest.raises(UndefinedEstimate, match="undefined"):
            function(*arguments)


def test_an_answer_outside_the_scale_is_refused() -> None:
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        answer_share([[1, 2]], 2)
    design = Design(np.array([0]), np.array([0]), np.array([0]), 1, 1, 2)
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        group_statistics(design, np.array([[0]]), np.array([0]), np.array([-1]), answer=-1)
    with pytest.raises(InvalidInput, match="group without raters"):
        group_statistics(design, np.array([[0]]), np.array([1]), np.array([-1]), answer=0)


@pytest.mark.parametrize("other", [[[1, 1]], [[1, 1, 1], [1, 1, 1]]])
def test_groups_with_other_items_or_answers_are_refused(other: list[list[int]]) -> None:
    counts = [[2, 1], [2, 0]]
    for compare in (
        lambda x, y: mean_difference(x, y, 0),
        lambda x, y: answer_mean_difference(x, y, [0, 1]),
        superiority,
        agreement_difference,
        group_distance,
        item_group_distances,
    ):
        with pytest.raises(InvalidInput, match="both groups need the same items and answers"):
            compare(counts, other)
    for table in (counts, np.zeros((0, 2, 2), int)):
        with pytest.raises(InvalidInput, match="two groups or more"):
            between_share(table)
