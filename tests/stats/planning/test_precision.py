"""Precision of shares and labels of items, against simulation and the D-study of a fitted model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.support.planned_designs import MODEL

from dissensus.errors import InvalidInput
from dissensus.stats.multilevel.variance import split_random
from dissensus.stats.planning.assignment import draw_assignment, draw_model_answers
from dissensus.stats.planning.precision import contrast_half_width, item_precision, pool_half_width, single_share


def test_intervals_of_a_share_have_the_spread_of_simulated_shares() -> None:
    """Half-widths are t quantiles of the spread over campaigns with other raters and items."""
    rng, design = np.random.default_rng(4), single_share(0.3, 20, 5, 40)
    model = replace(MODEL, group_item_sd=0)
    shares = []
    for _ in range(1500):
        shares.append(draw_model_answers(rng, model, design, draw_assignment(rng, design)).mean())
    width = contrast_half_width(model, design, confidence=0.95)
    assert width.both / stats.t.ppf(0.975, 19) == pytest.approx(np.std(shares), rel=0.06)
    assert width.raters < width.both


@pytest.mark.parametrize("per_item", [2, 5, 20])
def test_the_share_of_a_pool_of_one_group_is_that_of_the_group(per_item: int) -> None:
    """Each of 20 raters rates 4, 10 or 40 of 40 items."""
    design = single_share(0.3, 20, per_item, 40)
    pool, group = (
        pool_half_width(MODEL, design, 1, confidence=0.95),
        contrast_half_width(MODEL, design, confidence=0.95),
    )
    assert (pool.raters, pool.both) == pytest.approx((group.raters, group.both), rel=1e-12)


@pytest.mark.parametrize("per_item", [1, 4, 15])
def test_majorities_and_shares_of_items_are_as_precise_as_drawn_ones(per_item: int) -> None:
    rng = np.random.default_rng(per_item)
    centre, n_items = stats.norm.ppf(0.33) * MODEL.total_sd(), 40_000
    groups = MODEL.item_sd * rng.normal(size=(n_items, 1)) + MODEL.group_item_sd * rng.normal(size=(n_items, 3))
    share = stats.norm.cdf((centre + groups) / np.sqrt(1 + MODEL.rater_sd**2)).mean(axis=1)
    counts = rng.binomial(per_item, share)
    agrees = np.where(2 * counts == per_item, 0.5, (2 * counts > per_item) == (share > 0.5))
    precision = item_precision(MODEL, 0.33, per_item, n_groups=3, confidence=0.95)
    assert precision.label_agreement == pytest.approx(agrees.mean(), abs=0.01)
    spread = np.sqrt((share * (1 - share)).mean() / per_item)
    assert precision.half_width == pytest.approx(stats.norm.ppf(0.975) * spread, rel=0.01)


def test_reliability_is_that_of_the_generalizability_study() -> None:
    """Effects of groups on items are split as `model --details` splits them, by the shares of pairs of groups."""
    precision = item_precision(MODEL, 0.33, 10, n_groups=3, confidence=0.95)
    ones, raters, items = np.ones((6, 4, 1)), np.full(6, 1 / 6), np.full(4, 0.25)
    parts = split_random(ones, raters, items, rater_share=2 / 3, item_share=1.0)
    item = MODEL.item_sd**2 + MODEL.group_item_sd**2 * parts.item[0, 0]
    error = (MODEL.group_item_sd**2 * parts.interaction[0, 0] + 1) / 10
    assert precision.reliability == pytest.approx(item / (item + error))
    assert precision.dependability == pytest.approx(item / (item + error + MODEL.rater_sd**2 / 10))


def test_a_level_in_percent_is_refused() -> None:
    design = single_share(0.3, 20, 5, 40)
    for compute in (
        lambda level: contrast_half_width(MODEL, design, confidence=level),
        lambda level: pool_half_width(MODEL, design, 1, confidence=level),
        lambda level: item_precision(MODEL, 0.33, 10, confidence=level),
    ):
        with pytest.raises(InvalidInput, match="confidence is 95; give a confidence level between 0 and 1"):
            compute(95)


def test_majorities_of_many_raters_are_those_of_the_normal_distribution() -> None:
    exact, normal = (item_precision(MODEL, 0.33, k, n_groups=2, confidence=0.95).label_agreement for k in (4999, 5000))
    assert normal == pytest.approx(exact, abs=1e-3)
    assert item_precision(MODEL, 0.33, 100_000_000, confidence=0.95).label_agreement > 0.99
