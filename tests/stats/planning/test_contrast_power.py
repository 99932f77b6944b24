"""Power in closed form, against SciPy, statsmodels, an oracle and simulation."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize
from tests.support.planned_designs import MODEL, two_groups

from dissensus.errors import InvalidInput
from dissensus.stats.planning.alternatives import (
    item_agreement,
    share_between_groups,
    solve_group_item_sd,
    solve_loading,
)
from dissensus.stats.planning.contrast_power import (
    ContrastVariance,
    bound_power,
    contrast_power,
    contrast_variance,
    find_peak,
    find_smallest,
    smallest_difference,
)
from dissensus.stats.planning.rating_model import RatingModel, event_covariance


@pytest.mark.parametrize(("a", "b", "rho"), [(0.3, -1.2, 0.4), (-0.4, -0.4, 0.95), (1.0, 0.2, -0.6), (0.5, 0.5, 0.0)])
def test_the_covariance_of_two_events_is_that_of_the_bivariate_normal(a: float, b: float, rho: float) -> None:
    both = stats.multivariate_normal.cdf([a, b], cov=[[1, rho], [rho, 1]])
    assert event_covariance(a, b, rho) == pytest.approx(both - stats.norm.cdf(a) * stats.norm.cdf(b), abs=1e-6)


def test_components_are_the_moments_of_drawn_answers() -> None:
    """Means of many raters and items drawn from the model have the variances of the components."""
    rng = np.random.default_rng(0)
    total, n = MODEL.total_sd(), 400_000
    centre = stats.norm.ppf(0.33) * total
    given_rater = stats.norm.cdf((centre + 0.65 * rng.normal(size=n)) / math.sqrt(total**2 - 0.65**2))
    item_sd = math.hypot(0.75, 0.3)
    given_item = stats.norm.cdf((centre + item_sd * rng.normal(size=n)) / math.sqrt(total**2 - item_sd**2))
    parts = MODEL.components(0.33)
    assert parts.rater == pytest.approx(given_rater.var(), rel=0.01)
    assert parts.item == pytest.approx(given_item.var(), rel=0.01)
    assert parts.total == pytest.approx(0.33 * 0.67)


@pytest.mark.parametrize(("n", "effect"), [(64, 0.5), (6, 1.2), (3, 3.0)])
def test_power_is_that_of_the_noncentral_t_distribution(n: int, effect: float) -> None:
    df, centre = 2 * n - 2, effect / math.sqrt(2 / n)
    limit = stats.t.ppf(0.975, df)
    expected = stats.nct.sf(limit, df, centre)
    assert contrast_power(effect, ContrastVariance(raters=2 / n, items=0, df=df), level=0.05) == pytest.approx(
        expected, abs=1e-6
    )


def test_items_on_which_groups_do_not_differ_add_no_variance() -> None:
    shared = RatingModel(rater_sd=0.5, item_sd=0.8)
    assert contrast_variance(shared, two_groups(20, 20, 5, share=0.3, difference=0)).items == pytest.approx(0, abs=1e-9)
    assert contrast_variance(MODEL, two_groups(20, 20, 5, share=0.3, difference=0)).items > 1e-4


def test_without_random_effects_power_is_that_of_two_proportions() -> None:
    """One rating of each of many raters: the textbook formula, by the arcsine effect size."""
    design = two_groups(400, 400, 1, share=0.3)
    power = contrast_power(0.1, contrast_variance(RatingModel(rater_sd=0, item_sd=0), design), level=0.05)
    textbook = NormalIndPower().power(proportion_effectsize(0.4, 0.3), 400, 0.05)
    assert power == pytest.approx(textbook, abs=0.005)


def test_the_design_effect_multiplies_the_variance_of_independent_answers() -> None:
    design = two_groups(20, 5, 100)
    parts = [MODEL.components(cell.share) for cell in design.cells]
    independent = [cell.share * (1 - cell.share) / 500 for cell in design.cells]
    expected = sum(v * part.design_effect(25) for v, part in zip(independent, parts, strict=True))
    assert contrast_variance(MODEL, design).raters == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cells", "items", "words"),
    [
        ((1, 1), 10, "1 rater of a group does not show"),
        ((5, 6), 10, "6 ratings of an item cannot come from 5 raters"),
        ((50, 2), 20, "20 items with 2 ratings of a group .* Plan 25 items, or fewer raters"),
        ((50, 1), 1, "1 item with 1 rating of a group are not enough"),
    ],
)
def test_impossible_designs_are_refused_with_the_least_that_works(
    cells: tuple[int, int], items: int, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        two_groups(*cells, items)


def test_alternatives_have_the_difference_that_was_asked_for() -> None:
    loading = solve_loading(MODEL, 0.33, 0.05)
    assert item_agreement(MODEL, 0.33) - item_agreement(MODEL, 0.33, loading) == pytest.approx(0.05)
    assert share_between_groups(solve_group_item_sd(MODEL, 0.33, 0.02), 0.33) == pytest.approx(0.02)
    with pytest.raises(InvalidInput, match=r"can be lower by less than 0\.\d+, and 0\.900 was asked for"):
        solve_loading(MODEL, 0.33, 0.9)
    with pytest.raises(InvalidInput, match="give 0 to"):
        solve_group_item_sd(MODEL, 0.33, 0.99)


def test_the_smallest_number_lies_between_both_bounds() -> None:
    def power(n: int) -> float:
        return n / 100

    assert [find_smallest(power, target, 5, 90) for target in (0.01, 0.05, 0.051, 0.9, 0.901)] == [5, 5, 6, 90, None]
    assert find_smallest(power, 0.05, 6, 5) is None


@pytest.mark.parametrize("peak", [2, 3, 40, 89, 90])
def test_the_peak_is_found_wherever_it_lies(peak: int) -> None:
    assert find_peak(lambda n: -abs(n - peak), 2, 90) == peak
    assert find_peak(lambda n: float(n), peak, peak) == peak


def test_the_power_of_a_known_variance_bounds_that_of_an_estimated_one() -> None:
    for difference in (0, 0.02, 0.1, 0.5):
        for raters, items, df in ((0.01, 0, 1), (0.01, 0.02, 3), (0.001, 0.1, 9), (0.1, 0.001, 200)):
            variance = ContrastVariance(raters=raters, items=items, df=df)
            bound = bound_power(difference, variance, level=0.05)
            assert contrast_power(difference, variance, level=0.05) <= bound + 1e-9
    assert bound_power(0.3, ContrastVariance(raters=0.01, items=0.0, df=9), level=0.05) == pytest.approx(
        stats.norm.sf(stats.norm.ppf(0.975) - 3)
    )


def test_the_smallest_difference_reaches_the_target() -> None:
    def power(difference: float) -> float:
        return 0.05 + difference

    smallest = smallest_difference(power, 0.8, 1.0)
    assert smallest == pytest.approx(0.75, abs=1e-4)
    assert power(smallest or 0) >= 0.8
    assert smallest_difference(power, 0.8, 0.74) is None
    assert smallest_difference(power, 0.05, 1.0) is None


def test_a_level_outside_its_range_is_named() -> None:
    with pytest.raises(InvalidInput, match="level is 5; give a level of the test between 0 and 1"):
        contrast_power(0.5, ContrastVariance(raters=0.1, items=0.0, df=9), level=5)
