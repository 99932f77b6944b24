"""Warnings of intervals by the design."""

from dataclasses import replace

import pytest

from dissensus.stats.groups.coverage import WIDE, IntervalDesign, warn_of_coverage

COMPLETE = IntervalDesign(n_raters=60, n_others=60, n_items=350, minority=0.4, density=1.0, n_answers=3)


@pytest.mark.parametrize("metric", ["answer_share", "irr", "xrr", "negentropy", "plurality_size", "gai"])
def test_a_large_complete_pool_has_no_warning(metric: str) -> None:
    assert warn_of_coverage(metric, COMPLETE) is None


def test_the_smaller_side_counts_between_groups_and_the_own_one_within() -> None:
    few_others = replace(COMPLETE, n_others=8)
    assert "raters" in str(warn_of_coverage("gai", few_others))
    assert warn_of_coverage("irr", few_others) is None


def test_rare_answers_few_items_and_sparse_designs_have_warnings() -> None:
    rare = replace(COMPLETE, minority=0.03)
    assert warn_of_coverage("xrr", rare) == "interval too narrow: 97 % of the answers are the same"
    assert "items" in str(warn_of_coverage("irr", replace(COMPLETE, n_items=30)))
    sparse = replace(COMPLETE, density=0.2)
    assert "few ratings per item" in str(warn_of_coverage("voting_agreement", sparse))
    assert warn_of_coverage("gai", sparse) == WIDE
    assert warn_of_coverage("negentropy", replace(COMPLETE, n_answers=5)) == WIDE
