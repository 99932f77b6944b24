"""Differences between the statistics of two groups."""

import json

import numpy as np
import polars as pl
import pytest
from tests.pipeline.tables import find, simulate_frame
from tests.support.assignments import draw_null

from dissensus.pipeline.analyse import Analysis, analyse
from dissensus.pipeline.analyse.columns import COMPARED, DIFFERENCES
from dissensus.schema.ratings.table import Ratings

RACE = ("Asian", "Black", "White")


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(simulate_frame(1))


@pytest.fixture(scope="module")
def analysis(ratings: Ratings) -> Analysis:
    return analyse(ratings, by=["race"], permutations=99, bootstrap=60, differences=True)


def test_differences_from_a_named_group_are_those_of_the_rows(ratings: Ratings) -> None:
    groups = ratings.group_codes("rater_race")[1]
    table = analyse(ratings, by=["race"], against=groups[0], differences=True)
    for group in groups[1:]:
        for metric in ("irr", "negentropy", "plurality_size"):
            first, second = (find(table, name, metric).estimate or 0 for name in (group, groups[0]))
            assert find(table, group, f"{metric}_difference").estimate == pytest.approx(first - second)


def test_differences_from_the_rest_are_those_of_two_groups(ratings: Ratings, analysis: Analysis) -> None:
    """Everybody else as one group: the same differences, and their negatives seen from the other side."""
    group = ratings.group_codes("rater_race")[1][0]
    frame = simulate_frame(1).with_columns(
        rater_race=pl.when(pl.col("rater_race") == group).then(pl.lit(group)).otherwise(pl.lit("other"))
    )
    two = analyse(Ratings.from_frame(frame), by=["race"], permutations=99, differences=True)
    for name in DIFFERENCES:
        row, first, second = (find(table, of, name) for table, of in ((analysis, group), (two, group), (two, "other")))
        assert row.estimate == pytest.approx(first.estimate)
        assert row.estimate == pytest.approx(-(second.estimate or 0))
        assert row.p == first.p == second.p


def test_every_difference_has_an_interval_around_it_and_a_test(analysis: Analysis) -> None:
    rows = [row for row in analysis.rows if row.metric in DIFFERENCES]
    assert len(rows) == len(DIFFERENCES) * len({row.group for row in rows})
    for row in rows:
        assert row.against == "rest"
        assert (row.ci_low or 0) < (row.estimate or 0) < (row.ci_high or 0)
        assert row.p is not None


def test_agreement_has_the_test_of_its_difference(analysis: Analysis) -> None:
    for group in {row.group for row in analysis.rows if row.group is not None}:
        assert find(analysis, group, "pairwise_agreement").p == find(analysis, group, DIFFERENCES[0]).p


def test_differences_change_no_other_row(ratings: Ratings, analysis: Analysis) -> None:
    plain = analyse(ratings, by=["race"], permutations=99, bootstrap=60)
    assert plain.overall == analysis.overall
    assert plain.rows == tuple(row for row in analysis.rows if row.metric not in DIFFERENCES)


def test_differences_are_a_block_of_the_table_and_rows_of_json(analysis: Analysis) -> None:
    assert "rater_race, difference from rest" in str(analysis)
    assert {row["metric"] for row in json.loads(analysis.to_json())["rows"]} >= set(DIFFERENCES)
    assert "published statistics and differences apart" in str(analysis)


def test_a_quota_withholds_tests_of_differences_that_depend_on_it() -> None:
    design, group = draw_null(np.random.default_rng(1), "loads 55 and 15 %")
    frame = pl.DataFrame(
        {
            "item_id": [f"{i:03}" for i in design.items],
            "rater_id": [f"{r:03}" for r in design.raters],
            "rater_race": [RACE[g] for g in group[design.raters]],
            "Q_overall": [("No", "Unsure", "Yes")[k] for k in design.answers],
        }
    )
    table = analyse(Ratings.from_frame(frame), by=["race"], permutations=99, differences=True)
    for metric in COMPARED:
        row = find(table, "Asian", f"{metric}_difference")
        assert (row.p is None) == (metric != "pairwise_agreement")
        assert row.p is not None or str(row.reason).startswith("test withheld")
    distance = find(table, "Asian", "group_distance")
    assert distance.p is None
    assert "ratings per item" in str(distance.reason)
