"""Warnings of intervals by the design."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.pipeline.tables import ratings_of
from tests.support.partitions import partition

from dissensus.stats.design import Design
from dissensus.stats.groups.coverage import WIDE, IntervalDesign, describe_interval_designs, warn_of_coverage

COMPLETE = IntervalDesign(
    n_raters=60,
    n_others=60,
    n_items=350,
    minority=0.4,
    others_minority=0.4,
    density=1.0,
    n_answers=3,
    load_ratio=1,
    n_per_item=60,
    n_others_per_item=60,
)


@pytest.mark.parametrize("metric", ["answer_share", "irr", "xrr", "negentropy", "plurality_size", "gai"])
def test_a_large_complete_pool_has_no_warning(metric: str) -> None:
    assert warn_of_coverage(metric, COMPLETE) is None


def test_the_smaller_side_counts_between_groups_and_the_own_one_within() -> None:
    few_others = replace(COMPLETE, n_others=8)
    assert "raters" in str(warn_of_coverage("gai", few_others))
    assert warn_of_coverage("irr", few_others) is None


def test_unequal_loads_and_few_raters_have_warnings() -> None:
    """Cross-negentropy covers 91 to 92 % in loads of 30 and 20 %, negentropy of 8 raters 98 %."""
    unequal = replace(COMPLETE, load_ratio=1.5)
    expected = "interval too narrow: raters of one side rated 1.5 times as many items"
    assert warn_of_coverage("cross_negentropy", unequal) == expected
    assert warn_of_coverage("irr", unequal) is None
    assert warn_of_coverage("negentropy", replace(COMPLETE, n_raters=8)) == WIDE
    assert warn_of_coverage("negentropy_difference", replace(COMPLETE, n_others=8)) == WIDE


def test_the_design_of_each_comparison_is_measured_on_raters_with_ratings() -> None:
    """Two raters of group 0 rated three items each, one of group 1 rated one; the last rater and item have none."""
    items, raters = np.array([0, 1, 2, 0, 1, 2, 0]), np.array([0, 0, 0, 1, 1, 1, 2])
    design = Design(items, raters, np.array([0, 1, 1, 1, 1, 1, 1]), 4, 4, 2)
    group = np.array([0, 0, 1, -1])
    (numbers,) = describe_interval_designs(design, group, np.array([0]), np.array([-1]))
    assert (numbers.n_raters, numbers.n_others, numbers.n_items, numbers.load_ratio) == (2, 1, 3, 3.0)
    assert (numbers.minority, numbers.others_minority, numbers.density) == pytest.approx((1 / 6, 0, 7 / 9))
    assert (numbers.n_per_item, numbers.n_others_per_item) == pytest.approx((2, 1 / 3))


def test_rare_answers_few_items_and_sparse_designs_have_warnings() -> None:
    rare = replace(COMPLETE, minority=0.03)
    assert warn_of_coverage("xrr", rare) == "interval too narrow: 97 % of the answers are the same"
    assert "items" in str(warn_of_coverage("irr", replace(COMPLETE, n_items=30)))
    sparse = replace(COMPLETE, density=0.2)
    assert "few ratings per item" in str(warn_of_coverage("voting_agreement", sparse))
    for metric in ("gai", "negentropy", "gai_difference", "negentropy_difference"):
        assert warn_of_coverage(metric, sparse) == WIDE
    for metric in ("negentropy", "pairwise_agreement", "pairwise_agreement_difference"):
        assert warn_of_coverage(metric, replace(COMPLETE, n_answers=5)) == WIDE


def test_rare_answers_of_a_group_count_for_it_and_for_its_comparisons() -> None:
    rare, others = replace(COMPLETE, minority=0.02), replace(COMPLETE, others_minority=0.02)
    warning = "interval too narrow: 98 % of the answers are the same"
    for metric in ("answer_share", "negentropy"):
        assert [warn_of_coverage(metric, design) for design in (rare, others)] == [warning, None]
    for metric in ("xrr", "cross_negentropy", "pairwise_agreement_difference"):
        assert [warn_of_coverage(metric, design) for design in (rare, others)] == [warning, warning]
    assert [warn_of_coverage("gai", design) for design in (rare, others)] == [WIDE, WIDE]


def test_minorities_are_those_of_each_side() -> None:
    """Groups 0 and 1 gave each answer once and twice; group 2 always the same; the last rater has no group."""
    ratings = ratings_of({"a": "NNY", "b": "NYY", "c": "YYY", "d": "NNN"}, {})
    design = Design(*ratings.codes("Q_overall"), 3, 4, len(ratings.scale("Q_overall")))
    group, inside = np.array([0, 1, 2, -1]), np.array([0, 1, 2])
    for of in (design, partition(ratings, "Q_overall", [1]).design):
        rest = describe_interval_designs(of, group, inside, np.array([-1, -1, -1]))
        last = describe_interval_designs(of, group, inside, np.array([2, 2, 2]))
        assert [numbers.minority for numbers in rest] == pytest.approx([1 / 3, 1 / 3, 0])
        assert [numbers.others_minority for numbers in rest] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
        assert [numbers.others_minority for numbers in last] == [0, 0, 0]
        (pool,) = describe_interval_designs(of, np.zeros(4, int), np.array([0]), np.array([-1]))
        assert (pool.minority, pool.others_minority) == pytest.approx((6 / 12, 1))


def test_small_quotas_have_a_warning() -> None:
    """Quotas of two and four raters of a group cover 92.8 to 98.2 %."""
    quota = replace(COMPLETE, density=0.1, n_per_item=4)
    for metric in ("mean_difference", "irr", "xrr", "plurality_size", "irr_difference", "plurality_size_difference"):
        expected = "interval approximate: fewer than 5 ratings of a group per item"
        assert warn_of_coverage(metric, quota) == expected
        assert warn_of_coverage(metric, replace(quota, n_per_item=6)) is None
    few_others = replace(COMPLETE, density=0.6, n_others_per_item=4)
    assert warn_of_coverage("irr", few_others) is None
    assert "fewer than 5 ratings" in str(warn_of_coverage("xrr", few_others))


@pytest.mark.parametrize(
    ("metric", "field", "limit", "beyond"),
    [
        ("answer_share", "n_raters", 9, 8),
        ("pairwise_agreement", "n_raters", 15, 14),
        ("gai", "n_others", 25, 24),
        ("answer_share", "n_items", 60, 59),
        ("irr", "n_items", 100, 99),
        ("xrr", "minority", 0.15, 0.149),
        ("voting_agreement", "density", 0.5, 0.49),
        ("xrr", "load_ratio", 1.2, 1.21),
        ("irr", "n_per_item", 5, 4.9),
        ("negentropy", "n_raters", 14, 13),
        ("cross_negentropy", "n_others", 15, 14),
        ("negentropy", "density", 0.5, 0.49),
        ("plurality_size", "n_answers", 4, 5),
        ("gai", "n_items", 60, 59),
    ],
)
def test_a_warning_begins_beyond_its_limit(metric: str, field: str, limit: float, beyond: float) -> None:
    changes: list[dict[str, Any]] = [{field: limit}, {field: beyond}]
    warnings = [warn_of_coverage(metric, replace(COMPLETE, **change)) for change in changes]
    assert [warning is None for warning in warnings] == [True, False]


def test_intervals_of_a_distance_are_wider_than_needed_in_each_design() -> None:
    assert warn_of_coverage("group_distance", COMPLETE) == WIDE


def test_intervals_that_cover_too_often_are_wider_than_needed() -> None:
    """GAI covers 98 % with 8 raters, 30 items or five answers, IRR 99.6 % in sparse tables with 3 % Yes."""
    for design in ({"n_others": 30, "n_raters": 8}, {"n_items": 30}, {"n_answers": 5}):
        assert warn_of_coverage("gai", replace(COMPLETE, **design)) == WIDE
    assert warn_of_coverage("voting_agreement", replace(COMPLETE, n_raters=4)) == WIDE
    rare = replace(COMPLETE, minority=0.03)
    assert warn_of_coverage("irr", rare) is None
    assert warn_of_coverage("irr", replace(rare, density=0.2)) == WIDE
    assert warn_of_coverage("cross_negentropy", replace(COMPLETE, n_answers=5, density=0.2)) == WIDE


def test_cross_negentropy_with_few_raters_to_compare_with_has_a_warning() -> None:
    """It covers 98 % of 80 raters against 4 to 13, and 96.5 % of 80 against 25."""
    assert warn_of_coverage("cross_negentropy", replace(COMPLETE, n_others=80, n_raters=80)) is None
    assert warn_of_coverage("cross_negentropy", replace(COMPLETE, n_others=13, n_raters=80)) == WIDE
