"""Warnings of intervals in the rows of the table."""

import polars as pl
from tests.pipeline.tables import find, simulate_frame

from dissensus.pipeline.analyse import analyse
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.groups.coverage import WIDE


def test_rare_answers_of_one_group_are_warned_of_as_in_its_ratings_alone() -> None:
    """Each rater of x says Yes to one item of sixty, each of y to half of them."""
    frame = pl.DataFrame(
        {"item_id": f"i{item:02}", "rater_id": f"r{rater:02}", "rater_race": "xy"[rater % 2], "Q_overall": answer}
        for rater in range(20)
        for item in range(60)
        for answer in ["Yes" if (item % 2 if rater % 2 else item == rater) else "No"]
    )
    rare = "interval too narrow: 98 % of the answers are the same"
    both = analyse(Ratings.from_frame(frame), by="race", bootstrap=40)
    alone = analyse(Ratings.from_frame(frame.filter(pl.col("rater_race") == "x")), bootstrap=40)
    assert (find(both, "x", "answer_share").warning, find(alone, None, "answer_share").warning) == (rare, rare)
    assert find(both, "y", "answer_share").warning is None
    assert {find(both, group, "xrr").warning for group in "xy"} == {
        "interval too narrow: fewer than 100 items, 98 % of the answers are the same"
    }


def test_warnings_are_in_the_rows_and_below_the_table() -> None:
    analysis = analyse(Ratings.from_frame(simulate_frame(1)), by=["race"], bootstrap=40)
    assert find(analysis, "Asian", "group_distance").warning == WIDE
    assert f"Note: {WIDE}: " in str(analysis)
    assert all(row.warning is None for row in analyse(Ratings.from_frame(simulate_frame(1)), by=["race"]).rows)
