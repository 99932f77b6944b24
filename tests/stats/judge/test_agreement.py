"""Distances of a judge and a group of raters against slow oracles, and the design of the rank test."""

from itertools import combinations

import numpy as np
import pytest

from dissensus.errors import UndefinedEstimate
from dissensus.stats.judge.agreement import (
    distance_between,
    distance_within,
    distribution_distance,
    spread_difference,
)
from dissensus.stats.judge.answers import PanelRatings, equality_distance, step_distance
from dissensus.stats.judge.effects import estimate_consistency, estimate_effect
from dissensus.stats.judge.rank import rank_judge

K = 3


def draw_panel(seed: int, *, sparse: bool = False, n_raters: int = 9, n_items: int = 12) -> PanelRatings:
    random = np.random.default_rng(seed)
    items, raters = np.tile(np.arange(n_items), n_raters), np.repeat(np.arange(n_raters), n_items)
    answers = random.integers(K, size=len(items))
    panel = PanelRatings(items=items, raters=raters, answers=answers)
    return panel.select(random.random(len(items)) < 0.5) if sparse else panel


def draw_counts(seed: int, n_items: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(3, np.ones(K) / K, size=n_items).astype(float)


def list_answers(counts: np.ndarray) -> list[int]:
    return [k for k, n in enumerate(counts) for _ in range(int(n))]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("distance", [equality_distance(K), step_distance(K)], ids=["equality", "steps"])
def test_distances_equal_means_over_pairs_of_answers(sparse: bool, distance: np.ndarray) -> None:
    panel, counts = draw_panel(1, sparse=sparse), draw_counts(2)
    between, within, own = [], [], []
    for item in range(12):
        people, model = panel.answers[panel.items == item], list_answers(counts[item])
        if len(people) > 1:
            between.append(np.mean([distance[j, y] for j in model for y in people]))
            within.append(np.mean([distance[y, t] for y, t in combinations(people, 2)]))
            own.append(np.mean([distance[j, t] for j, t in combinations(model, 2)]))
    assert distance_between(panel, counts, distance).estimate == pytest.approx(np.mean(between))
    assert distance_within(panel, counts, distance).estimate == pytest.approx(np.mean(within))
    energy = 2 * np.array(between) - within - own
    assert distribution_distance(panel, counts, distance).estimate == pytest.approx(energy.mean())
    assert spread_difference(panel, counts, distance).estimate == pytest.approx(np.mean(own) - np.mean(within))


def test_items_with_one_rating_count_where_one_is_enough() -> None:
    panel, counts, distance = draw_panel(5, sparse=True, n_raters=2), draw_counts(2), step_distance(K)
    counts[:3] = 0  # Items that the judge did not answer
    between = {1: list[float](), 2: list[float]()}
    for item in range(3, 12):
        people = panel.answers[panel.items == item]
        mean = np.mean([distance[j, y] for j in list_answers(counts[item]) for y in people]) if len(people) else 0.0
        for least, means in between.items():
            if len(people) >= least:
                means.append(float(mean))
    assert 0 < len(between[2]) < len(between[1]) < 9
    for least, means in between.items():
        assert distance_between(panel, counts, distance, least=least).estimate == pytest.approx(np.mean(means))
    with pytest.raises(UndefinedEstimate, match="No item has a rating of the group"):
        distance_between(panel, np.zeros((12, K)), distance, least=1)


def test_only_values_that_are_shares_of_ratings_get_the_interval_of_a_share() -> None:
    panel, counts = draw_panel(1, sparse=True), draw_counts(2)
    assert distance_between(panel, counts, equality_distance(K)).is_share
    within = distance_within(panel, counts, equality_distance(K))
    assert not within.is_share
    assert within.values.max() > 1


def test_a_judge_that_draws_from_the_group_has_no_distance_in_the_mean() -> None:
    values = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        shares = random.dirichlet(np.ones(K), size=20)
        people = np.array([random.choice(K, size=4, p=p) for p in shares])
        panel = PanelRatings(
            items=np.repeat(np.arange(20), 4), raters=np.tile(np.arange(4), 20), answers=people.ravel()
        )
        counts = np.array([random.multinomial(2, p) for p in shares], dtype=float)
        values.append(distribution_distance(panel, counts, step_distance(K)).estimate)
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("sparse", [False, True])
def test_the_rank_equals_that_of_one_rater_after_the_other(sparse: bool) -> None:
    panel, counts, distance = draw_panel(3, sparse=sparse), draw_counts(4), step_distance(K)
    wins, not_nearer = 0.0, 0
    for rater in range(9):
        of_rater, of_judge = [], []
        for item, answer in zip(panel.items[panel.raters == rater], panel.answers[panel.raters == rater], strict=True):
            rest = panel.answers[(panel.items == item) & (panel.raters != rater)]
            if len(rest):
                of_rater.append(np.mean(distance[answer, rest]))
                of_judge.append(np.mean([distance[j, y] for j in list_answers(counts[item]) for y in rest]))
        excess = np.mean(of_judge) - np.mean(of_rater)
        wins += excess < -1e-12 or (abs(excess) <= 1e-12) / 2
        not_nearer += excess <= 1e-12
    rank = rank_judge(panel, counts, distance)
    assert (rank.nearer_share, rank.p) == pytest.approx((wins / 9, (1 + not_nearer) / 10))


def test_what_the_data_do_not_determine_is_said() -> None:
    alone = PanelRatings(items=np.arange(3), raters=np.arange(3), answers=np.zeros(3, int))
    for compute in (distance_between, distance_within, distribution_distance, rank_judge):
        with pytest.raises(UndefinedEstimate, match="No item has two ratings"):
            compute(alone, np.ones((3, K)), step_distance(K))
    with pytest.raises(UndefinedEstimate, match="no item has two answers"):
        estimate_consistency(np.eye(K), equality_distance(K), confidence=0.95)
    none = np.empty(0, np.int64)
    with pytest.raises(UndefinedEstimate, match="no item was answered in both"):
        estimate_effect(none, none, none, K, confidence=0.95)
    once = np.array([[1.0, 0, 0]] * 12)
    with pytest.raises(UndefinedEstimate, match="enough answers of the judge"):
        distribution_distance(draw_panel(1), once, step_distance(K))


def test_directions_of_a_change_are_counted_by_their_sign() -> None:
    effect = estimate_effect(np.arange(2), np.array([0, 2]), np.array([2, 0]), K, signs=[1, -1], confidence=0.95)
    assert effect.shift.estimate == 1
    assert estimate_effect(np.arange(2), np.array([0, 2]), np.array([2, 0]), K, confidence=0.95).shift.estimate == 0
