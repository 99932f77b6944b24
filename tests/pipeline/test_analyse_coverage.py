"""Warnings of intervals in the rows of the table."""

from tests.pipeline.tables import find, simulate_frame

from dissensus.pipeline.analyse import analyse
from dissensus.schema.ratings.table import Ratings
from dissensus.stats.groups.coverage import WIDE


def test_warnings_are_in_the_rows_and_below_the_table() -> None:
    analysis = analyse(Ratings.from_frame(simulate_frame(1)), by=["race"], bootstrap=40)
    assert find(analysis, "Asian", "group_distance").warning == WIDE
    assert f"Note: {WIDE}: " in str(analysis)
    assert all(row.warning is None for row in analyse(Ratings.from_frame(simulate_frame(1)), by=["race"]).rows)
