"""Simulated power, against the closed form, the statistics of `analyse` and SciPy."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from scipy import stats
from tests.support.planned_designs import MODEL, two_groups

from dissensus.errors import InvalidInput
from dissensus.stats.design import METRICS, Design, statistics
from dissensus.stats.groups.statistics import group_statistics
from dissensus.stats.planning.alternatives import (
    group_association,
    share_between_groups,
    solve_group_item_sd,
    solve_loading,
)
from dissensus.stats.planning.assignment import draw_assignment, draw_model_answers
from dissensus.stats.planning.contrast_power import contrast_power, contrast_variance
from dissensus.stats.planning.rating_model import RatingModel
from dissensus.stats.planning.simulated_power import (
    PlannedStatistic,
    alpha_statistics,
    difference_statistics,
    gai_statistics,
    simulate_power,
)


@pytest.mark.parametrize(("n_raters", "per_item"), [(7, 2), (6, 1), (5, 5)])
def test_the_difference_is_studentised_as_in_analyse(n_raters: int, per_item: int) -> None:
    rng, design = np.random.default_rng(3), two_groups(n_raters, per_item, 20)
    assignment = draw_assignment(rng, design)
    answers = draw_model_answers(rng, MODEL, design, assignment)
    order = rng.permuted(np.tile(np.arange(2 * n_raters), (5, 1)), axis=1)
    codes = Design(assignment.item, assignment.rater, answers.astype(np.int16), 20, 2 * n_raters, 2)
    groups = assignment.cell[order].astype(np.int32)
    expected = group_statistics(codes, groups, np.array([1]), np.array([0]), answer=1).difference_t[:, 0]
    assert difference_statistics(assignment, answers, order) == pytest.approx(expected)
    if per_item == n_raters:
        shares, is_second = np.bincount(assignment.rater, answers) / 20, groups[0] == 1
        welch = stats.ttest_ind(shares[is_second], shares[~is_second], equal_var=False).statistic
        assert expected[0] == pytest.approx(welch)


def test_every_item_has_its_ratings_of_each_group_and_loads_differ_by_at_most_one() -> None:
    design = two_groups(7, 3, 25)
    drawn = draw_assignment(np.random.default_rng(1), design)
    table = np.bincount(drawn.item * 2 + drawn.cell[drawn.rater]).reshape(25, 2)
    assert (table == 3).all()
    assert np.ptp(np.bincount(drawn.rater)) <= 1
    assert len(set(zip(drawn.item.tolist(), drawn.rater.tolist(), strict=True))) == 150


@pytest.mark.parametrize(("n_raters", "per_item"), [(24, 24), (24, 8)])
def test_closed_form_lies_in_the_interval_of_the_simulation(n_raters: int, per_item: int) -> None:
    design = two_groups(n_raters, per_item, 60, difference=0.15)
    simulated = simulate_power(MODEL, design, n_simulations=600, seed=np.random.SeedSequence(5), level=0.05)
    power = contrast_power(0.15, contrast_variance(MODEL, design), level=0.05)
    assert simulated.ci_low < power < simulated.ci_high
    assert simulated.ci_high - simulated.ci_low < 0.09


@pytest.mark.parametrize(
    ("statistic", "per_item"), [("share", 2), ("agreement", 4), ("alpha", 12), ("gai", 12), ("decomposition", 4)]
)
def test_tests_keep_their_level(statistic: PlannedStatistic, per_item: int) -> None:
    """The level lies in a 99.9 % range around 5 % of 300 campaigns without any difference."""
    design, model = two_groups(12, per_item, 40, difference=0), replace(MODEL, group_item_sd=0)
    seed = np.random.SeedSequence(8)
    simulated = simulate_power(model, design, statistic=statistic, n_simulations=300, seed=seed, level=0.05)
    low, high = stats.binom.ppf([0.0005, 0.9995], 300, 0.05) / 300
    assert low <= simulated.power <= high


def test_alpha_is_tested_by_permutations_of_its_own_campaign() -> None:
    """The alpha is that of `analyse`; in 150 campaigns its own test rejected in 47 % (with a pooled null in 32 %)."""
    model = RatingModel(rater_sd=0.69, item_sd=0.76)
    design = two_groups(15, 15, 20, difference=0)
    last = replace(design.cells[1], loading=solve_loading(model, 0.33, 0.12))
    design = replace(design, cells=(design.cells[0], last))
    rng = np.random.default_rng(1)
    assignment = draw_assignment(rng, design)
    answers = draw_model_answers(rng, model, design, assignment)
    order = rng.permuted(np.tile(np.arange(30), (4, 1)), axis=1)
    codes = Design(assignment.item, assignment.rater, answers.astype(np.int16), 20, 30, 2)
    groups = assignment.cell[order].astype(np.int32)
    expected = statistics(codes, groups, np.array([1]), np.array([0]))[:, 0]
    assert alpha_statistics(design, assignment, answers, order) == pytest.approx(expected[:, METRICS.index("irr")])
    assert gai_statistics(design, assignment, answers, order) == pytest.approx(expected[:, METRICS.index("gai")])
    simulated = simulate_power(
        model, design, statistic="alpha", n_simulations=300, seed=np.random.SeedSequence(3), level=0.05
    )
    assert simulated.power == pytest.approx(0.47, abs=0.1)


@pytest.mark.parametrize(
    ("statistic", "per_item", "targets"), [("decomposition", 6, (0.01, 0.2)), ("gai", 12, (0.02, 1))]
)
def test_power_grows_with_the_effects_of_groups_on_items(
    statistic: Literal["decomposition", "gai"], per_item: int, targets: tuple[float, float]
) -> None:
    design, seed = two_groups(12, per_item, 40, difference=0), np.random.SeedSequence(2)
    models = [solve_group_item_sd(MODEL, 0.33, target, statistic=statistic) for target in targets]
    measure = share_between_groups if statistic == "decomposition" else group_association
    expected = [target + (statistic == "gai") for target in targets]
    assert [measure(model, 0.33) for model in models] == pytest.approx(expected)
    powers = [
        simulate_power(m, design, statistic=statistic, n_simulations=60, seed=seed, level=0.05).power for m in models
    ]
    assert powers[0] < 0.5 < 0.8 < powers[1]


def test_the_same_seed_gives_the_same_campaigns() -> None:
    design = two_groups(10, 3, 20)
    first, again, other = (
        simulate_power(MODEL, design, n_simulations=60, seed=np.random.SeedSequence(seed), level=0.05)
        for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("statistic", "per_item", "words"),
    [
        ("agreement", 1, "Plan two or more ratings of an item by each group"),
        ("gai", 3, "Leave out the ratings per item, or plan for agreement or decomposition"),
        ("alpha", 3, "holds where every rater rates every item"),
        ("interaction", 10, "compares 4 cells, and the design has 2"),
    ],
)
def test_statistics_without_a_valid_test_in_the_design_are_refused(
    statistic: PlannedStatistic, per_item: int, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        simulate_power(
            MODEL, two_groups(10, per_item, 20), statistic=statistic, seed=np.random.SeedSequence(0), level=0.05
        )
