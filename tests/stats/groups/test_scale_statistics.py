"""Statistics of ordered answers: oracles of pairs, second libraries, invariances, and kernels against counts."""

from fractions import Fraction
from itertools import combinations, product
from typing import Any, Literal

import evalica
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu
from tests.designs import LARGE, Case, case
from tests.oracles import agreement, crossgroup
from tests.oracles import groups as oracle
from tests.stats.compare import assert_same
from tests.strategies import quick

from dissensus.errors import InvalidInput, UndefinedEstimate
from dissensus.stats.agreement import krippendorff_alpha
from dissensus.stats.association import gai
from dissensus.stats.crossgroup import xrr
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.groups import statistics as module
from dissensus.stats.groups.estimates import (
    answer_mean,
    answer_mean_difference,
    between_share,
    corrected_gai,
    group_distance,
    pairwise_agreement,
    superiority,
)
from dissensus.stats.groups.scale import OrderedLevel, build_ordered_scale
from dissensus.stats.groups.scale_statistics import ordered_statistics
from dissensus.stats.groups.statistics import (
    GroupStatistics,
    group_statistics,
    published_statistics,
    resample_published,
    resample_statistics,
)

Floats = NDArray[np.float64]
VALUES = (-2.0, 0.0, 1.0, 5.0)
LEVELS: tuple[OrderedLevel, ...] = ("ordinal", "interval")


def ordered(of: Case, level: OrderedLevel, values: Any = None) -> Design:
    """Return the design of a case with a scale."""
    design = of.design
    values = VALUES[: design.n_categories] if values is None else values
    marginals = np.bincount(design.answers, minlength=design.n_categories)
    return Design(
        design.items,
        design.raters,
        design.answers,
        design.n_items,
        design.n_raters,
        design.n_categories,
        build_ordered_scale(level, values, marginals),
    )


def sparse(seed: int, n_categories: int = 4) -> Case:
    return case(seed, n_items=14, n_raters=20, n_categories=n_categories, n_groups=3, share_rated=0.4)


def value_or_nan(function: Any, *arguments: Any, **options: Any) -> float:
    try:
        return float(function(*arguments, **options))
    except UndefinedEstimate:
        return float("nan")


counts_of_two = st.integers(1, 4).flatmap(
    lambda n: st.tuples(*[st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=n, max_size=n)] * 2)
)


@quick
@given(pair=counts_of_two)
def test_superiority_is_the_share_of_pairs(pair: tuple[list[list[int]], list[list[int]]]) -> None:
    def expected() -> Fraction:
        total, weights = Fraction(0), Fraction(0)
        for x, y in crossgroup.shared(*pair):
            first, second = agreement.ratings(x), agreement.ratings(y)
            wins = sum(Fraction(a > b) + Fraction(a == b, 2) for a, b in product(first, second))
            weight = Fraction(len(first) * len(second), len(first) + len(second))
            total += weight * wins / (len(first) * len(second))
            weights += weight
        return total / weights

    assert_same(lambda: superiority(*pair), expected)


def test_superiority_on_one_item_is_that_of_mann_and_whitney() -> None:
    x, y = [0, 3, 4, 2], [2, 5, 1, 0]
    first, second = (np.repeat(np.arange(4), counts) for counts in (x, y))
    expected = mannwhitneyu(first, second).statistic / (len(first) * len(second))
    assert float(superiority([x], [y])) == pytest.approx(expected)


@pytest.mark.parametrize("level", LEVELS)
def test_agreement_and_distance_are_means_over_pairs_of_raters(level: OrderedLevel) -> None:
    of = sparse(1)
    design = ordered(of, level)
    counts = design.counts(of.group)
    pool = sorted(design.answers.tolist())
    rank = {k: np.mean([n for n, answer in enumerate(pool) if answer == k]) for k in range(4)}
    points = np.array([rank[k] for k in range(4)]) if level == "ordinal" else np.array(VALUES)
    points = (points - points[0]) / (points[-1] - points[0])

    def within(item: Any) -> float:
        return float(np.mean([1 - abs(points[a] - points[b]) for a, b in combinations(agreement.ratings(item), 2)]))

    def across(x: Any, y: Any) -> float:
        pairs = product(agreement.ratings(x), agreement.ratings(y))
        return float(np.mean([1 - abs(points[a] - points[b]) for a, b in pairs]))

    assert design.scale is not None
    likeness = design.scale.likeness
    both = [(x, y) for x, y in zip(*counts[:2], strict=True) if min(x.sum(), y.sum()) > 1]
    distances = [(within(x) + within(y)) / 2 - across(x, y) for x, y in both]
    agreements = [within(item) for item in counts[0] if item.sum() > 1]
    assert float(pairwise_agreement(counts[0], likeness=likeness)) == pytest.approx(np.mean(agreements))
    assert float(group_distance(*counts[:2], likeness=likeness)) == pytest.approx(np.mean(distances))


def by_estimators(of: Case, design: Design, level: OrderedLevel) -> dict[str, list[float]]:
    counts, values = design.counts(of.group), np.array(VALUES)
    assert design.scale is not None
    likeness, results = design.scale.likeness, []
    for g, h in zip(of.inside, of.outside, strict=True):
        x, y = counts[g], counts[h] if h >= 0 else counts.sum(axis=0) - counts[g]
        results.append(
            {
                "irr": value_or_nan(krippendorff_alpha, x, level=level, values=values),
                "xrr": value_or_nan(xrr, x, y, level=level, values=values),
                "gai": value_or_nan(gai, x, y, level=level, values=values),
                "answer_share": value_or_nan(answer_mean, x, values),
                "mean_difference": value_or_nan(answer_mean_difference, x, y, values),
                "pairwise_agreement": value_or_nan(pairwise_agreement, x, likeness=likeness),
                "group_distance": value_or_nan(group_distance, x, y, likeness=likeness),
                "superiority": value_or_nan(superiority, x, y),
            }
        )
    return {name: [result[name] for result in results] for name in results[0]}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_replicates_are_the_estimates(level: OrderedLevel, seed: int) -> None:
    of = sparse(seed)
    design = ordered(of, level)
    arguments = of.group[None], of.inside, of.outside
    published, unbiased = published_statistics(design, *arguments), group_statistics(design, *arguments, answer=0)
    for name, expected in by_estimators(of, design, level).items():
        values = published[0, :, METRICS.index(name)] if name in METRICS else unbiased.of(name)[0]
        np.testing.assert_allclose(values, expected, atol=1e-10, err_msg=name)
    likeness = None if design.scale is None else design.scale.likeness
    assert unbiased.between_share[0] == pytest.approx(float(between_share(design.counts(of.group), likeness=likeness)))
    ignoring = [m for m, name in enumerate(METRICS) if name not in ("irr", "xrr", "gai")]
    np.testing.assert_array_equal(published[..., ignoring], statistics(of.design, *arguments)[..., ignoring])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(3))
def test_studentised_statistics_are_those_of_scores_of_raters(level: OrderedLevel, seed: int) -> None:
    """By loops over raters and pairs, of means, likeness and ridits of answers."""
    of = sparse(seed)
    design, ratings, group = ordered(of, level), of.rated_by_hand, of.group.tolist()
    assert design.scale is not None
    shares, likeness = design.scale.shares.tolist(), design.scale.likeness.tolist()
    result = group_statistics(design, of.group[None], of.inside, of.outside, answer=0)
    for c, (g, h) in enumerate(zip(of.inside.tolist(), of.outside.tolist(), strict=True)):
        weights = oracle.weigh_raters(group, g, h)
        shared = oracle.split_items(ratings, group, g, h)
        valued = [[[(r, shares[k]) for r, k in side] for side in sides] for sides in shared]
        paired = oracle.split_items(ratings, group, g, h, least=2)
        assert result.difference_t[0, c] == pytest.approx(oracle.difference_t(valued, weights))
        assert result.agreement_t[0, c] == pytest.approx(oracle.agreement_t(paired, likeness, weights))
        assert result.distance_t[0, c] == pytest.approx(oracle.distance_t(paired, likeness))
        ridits = [oracle.ridits(sides) for sides in shared]
        assert result.superiority_t[0, c] == pytest.approx(oracle.difference_t(ridits, weights))
    assert result.between_t[0] == pytest.approx(oracle.between_t(ratings, group, likeness))


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_a_group_is_that_of_a_second_library(level: OrderedLevel) -> None:
    of = sparse(3)
    matrix = np.full((of.design.n_raters, of.design.n_items), np.nan)
    matrix[of.design.raters, of.design.items] = np.array(VALUES)[of.design.answers]
    for c, g in enumerate(of.inside):
        expected = evalica.alpha(pd.DataFrame(matrix[of.group == g]), distance=level).alpha
        result = published_statistics(ordered(of, level), of.group[None], of.inside, of.outside)
        assert result[0, c, METRICS.index("irr")] == pytest.approx(expected)


@quick
@given(pair=counts_of_two)
def test_ordinal_xrr_ranks_the_answers_of_both_groups(pair: tuple[list[list[int]], list[list[int]]]) -> None:
    shared = crossgroup.shared(*pair)
    pooled = [rating for x, y in shared for side in (x, y) for rating in agreement.ratings(side)]
    below = [Fraction(sum(b < k for b in pooled)) + Fraction(pooled.count(k), 2) for k in range(3)]
    assert_same(
        lambda: xrr(*pair, level="ordinal"),
        lambda: crossgroup.xrr(*pair, lambda a, b: (below[a] - below[b]) ** 2).value,
    )


@pytest.mark.parametrize("level", LEVELS)
def test_copies_of_a_rater_do_not_pair(level: OrderedLevel) -> None:
    """Alpha with chance over distinct raters, of drawn raters and items, by enumeration of pairs."""
    of = case(2, n_items=6, n_raters=12, n_categories=4, n_groups=2, share_rated=0.7)
    design = ordered(of, level)
    rng = np.random.default_rng(1)
    raters, items = rng.integers(0, 3, size=12).astype(np.int32), rng.integers(0, 3, size=6).astype(np.int32)
    assert design.scale is not None
    arguments = (design, design.scale, of.group[None], of.inside, of.outside)
    result = ordered_statistics(*arguments, rater_weight=raters[None], item_weight=items[None])
    rated = list(zip(design.items.tolist(), design.raters.tolist(), design.answers.tolist(), strict=True))
    for c, g in enumerate(of.inside):
        drawn = [(i, r, k, items[i] * raters[r]) for i, r, k in rated if of.group[r] == g and items[i] * raters[r]]
        pairable = {i for i, _, _, _ in drawn if len({r for j, r, _, _ in drawn if j == i}) > 1}
        drawn = [rating for rating in drawn if rating[0] in pairable]
        marginals = np.bincount([k for _, _, k, _ in drawn], weights=[w for *_, w in drawn], minlength=4)
        points = np.cumsum(marginals) - marginals / 2 if level == "ordinal" else np.array(VALUES)
        n, observed = sum(w for *_, w in drawn), 0.0
        for item in pairable:
            pairs = [
                (raters[r] * raters[s], (points[a] - points[b]) ** 2)
                for (i, r, a, _), (j, s, b, _) in product(drawn, drawn)
                if i == j == item and r != s
            ]
            size = items[item] * sum(raters[r] for i, r, _, _ in drawn if i == item)
            observed += size * sum(w * d for w, d in pairs) / sum(w for w, _ in pairs)
        chance = [
            (w * v, (points[a] - points[b]) ** 2) for (_, r, a, w), (_, s, b, v) in product(drawn, drawn) if r != s
        ]
        expected = 1 - observed / n / (sum(w * d for w, d in chance) / sum(w for w, _ in chance))
        assert result.distinct_alpha[0, c] == pytest.approx(expected)


@pytest.mark.parametrize("level", LEVELS)
def test_two_answers_have_the_nominal_statistics(level: OrderedLevel) -> None:
    of = sparse(5, n_categories=2)
    arguments = of.group[None], of.inside, of.outside
    nominal, result = (
        group_statistics(design, *arguments, answer=1) for design in (of.design, ordered(of, level, [0, 1]))
    )
    for name in FIELDS:
        np.testing.assert_allclose(getattr(result, name), getattr(nominal, name), atol=1e-9, err_msg=name)
    np.testing.assert_allclose(result.values[..., :5], nominal.values[..., :5], atol=1e-10)
    np.testing.assert_allclose(
        published_statistics(ordered(of, level, [0, 1]), *arguments), statistics(of.design, *arguments), atol=1e-10
    )
    np.testing.assert_allclose(result.of("superiority"), 0.5 + nominal.of("mean_difference") / 2)
    np.testing.assert_allclose(result.superiority_t, nominal.difference_t)


FIELDS = ("difference_t", "agreement_t", "distance_t", "between_share", "between_t", "pair_distance", "pair_t")


@pytest.mark.parametrize(
    ("level", "other"), [("interval", (3 * np.array(VALUES) - 7)), ("ordinal", np.array([0.0, 0.1, 7.0, 8.0]))]
)
def test_invariances(level: OrderedLevel, other: Floats) -> None:
    """Interval statistics do not depend on zero and unit, ordinal ones on the numbers at all."""
    of = sparse(6)
    arguments = of.group[None], of.inside, of.outside
    designs = ordered(of, level), ordered(of, level, other)
    first, second = (group_statistics(design, *arguments, answer=0) for design in designs)
    for name in FIELDS[1:]:
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-9, err_msg=name)
    for name in ("pairwise_agreement", "group_distance", "distinct_alpha", "superiority"):
        np.testing.assert_allclose(first.of(name), second.of(name), atol=1e-10, err_msg=name)
    published = [published_statistics(design, *arguments) for design in designs]
    np.testing.assert_allclose(published[0], published[1], atol=1e-10)
    if level == "interval":
        np.testing.assert_allclose(3 * first.of("mean_difference"), second.of("mean_difference"))
        np.testing.assert_allclose(first.difference_t, second.difference_t)


def test_a_comparison_with_its_sides_exchanged() -> None:
    of = sparse(7)
    design = ordered(of, "ordinal")
    assert design.scale is not None
    sides = np.array([0, -1]), np.array([-1, 0])
    result = ordered_statistics(design, design.scale, of.group[None], *sides)
    assert result.superiority[0].sum() == pytest.approx(1)
    assert result.superiority_t[0, 0] == pytest.approx(-result.superiority_t[0, 1])
    counts = design.counts(of.group)
    rest = krippendorff_alpha(counts[1:].sum(axis=0), level="ordinal", values=VALUES)
    assert result.alpha[0, 1] == pytest.approx(float(rest))


@pytest.mark.parametrize("level", LEVELS)
def test_complete_designs_have_the_values_of_the_walk_through_ratings(
    level: OrderedLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = case(1, **LARGE["65 raters"])
    design = ordered(of, level, np.arange(of.design.n_categories))

    def run() -> GroupStatistics:
        return group_statistics(design, of.group[None], of.inside, of.outside, answer=0)

    fast = run()
    monkeypatch.setattr(module, "_complete_part", lambda *_: None)
    slow = run()
    for name in ("values", *FIELDS):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-8, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("level", LEVELS)
def test_replicates_that_draw_everything_once_or_twice(level: OrderedLevel) -> None:
    of = sparse(9)
    design = ordered(of, level)
    expected = group_statistics(design, of.group[None], of.inside, of.outside, answer=0)
    raters, items = np.ones((1, 20), np.int32), np.full((1, 14), 2, np.int32)
    arguments = design, of.group, of.inside, of.outside
    drawn = resample_statistics(*arguments, answer=0, rater_weight=raters, item_weight=items)
    for replicate in drawn.values():
        for name in ("answer_share", "mean_difference", "pairwise_agreement", "group_distance", "superiority"):
            np.testing.assert_allclose(replicate.of(name), expected.of(name), err_msg=name)
        np.testing.assert_allclose(replicate.between_share, expected.between_share)
    np.testing.assert_allclose(drawn["raters"].of("distinct_alpha"), expected.of("distinct_alpha"))


@pytest.mark.parametrize("level", ["nominal", *LEVELS])
@pytest.mark.parametrize("n_items", [14, 1200])
def test_published_statistics_of_replicates_are_those_of_their_weights(
    level: OrderedLevel | Literal["nominal"], n_items: int
) -> None:
    """Counted once for several weightings of the items, in one block of items and in several; to the last bit."""
    of = case(3, n_items=n_items, n_raters=20, n_categories=4, n_groups=3, share_rated=0.5, grouped=0.9)
    design = of.design if level == "nominal" else ordered(of, level)
    rng = np.random.default_rng(5)
    raters = rng.integers(0, 3, (6, 20)).astype(np.int32)
    items = rng.integers(0, 3, (6, n_items)).astype(np.int32)
    sides = np.append(of.inside, -1), np.append(of.outside, 0)
    drawn = resample_published(design, of.group, *sides, rater_weight=raters, item_weight=items)
    weights: dict[str, dict[str, Any]] = {
        "both": {"rater_weight": raters, "item_weight": items},
        "raters": {"rater_weight": raters},
        "items": {"item_weight": items},
    }
    for name, replicates in drawn.items():
        expected = published_statistics(design, of.group[None], *sides, **weights[name])
        np.testing.assert_array_equal(replicates, expected, err_msg=name)
    alone = resample_published(design, of.group, *sides, rater_weight=raters)
    assert list(alone) == ["raters"]
    np.testing.assert_array_equal(alone["raters"], drawn["raters"])


def test_corrected_gai_is_at_the_level_of_the_answers() -> None:
    of = sparse(8)
    design = ordered(of, "interval")
    assert design.scale is not None
    both = ordered_statistics(design, design.scale, of.group[None], np.array([0]), np.array([-1]))
    alpha, counts = both.distinct_alpha.item(), design.counts(of.group)
    of_scale: dict[str, Any] = {"level": design.scale.level, "values": design.scale.values}
    result = float(corrected_gai(counts[0], counts[1:].sum(axis=0), alpha, **of_scale))
    assert result == pytest.approx(alpha / both.xrr.item())


def test_one_answer_has_neither_alpha_nor_xrr() -> None:
    design = Design(np.repeat([0, 1], 4), np.tile(np.arange(4), 2), np.full(8, 1, np.int16), 2, 4, 3)
    scale = build_ordered_scale("interval", [1, 2, 3], np.array([0, 8, 0]))
    result = ordered_statistics(design, scale, np.array([[0, 0, 1, 1]]), np.array([0]), np.array([1]))
    assert np.isnan(result.alpha).all()
    assert np.isnan(result.xrr).all()
    assert result.superiority.item() == 0.5


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="strictly increasing"):
        build_ordered_scale("ordinal", [1, 1, 2], np.array([1, 1, 1]))
    with pytest.raises(InvalidInput, match="an ordered scale is ordinal or interval"):
        build_ordered_scale("nominal", [1, 2], np.array([1, 1]))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="symmetric 2 × 2 matrix"):
        pairwise_agreement([[2, 0]], likeness=np.array([[1, 0], [0.5, 1]]))
