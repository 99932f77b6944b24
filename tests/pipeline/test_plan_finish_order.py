"""Order in which raters finished, from times of any form and from rows."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import polars as pl
import pytest

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.finish_order import order_raters

TOKYO = timezone(timedelta(hours=9))
MOMENTS = [datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (2, 1, 3)]


def table(times: Any, ids: tuple[str, ...] = ("ann", "bob", "eve")) -> pl.DataFrame:
    return pl.DataFrame({"rater_id": ids, "answer_timestamp": times}, strict=False)


@pytest.mark.parametrize(
    "times",
    [
        [moment.astimezone(zone).isoformat() for moment, zone in zip(MOMENTS, (TOKYO, UTC, TOKYO), strict=True)],
        [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in MOMENTS],
        ["1000", "999", "1000.5"],
        [1000, 999, 1001],
        MOMENTS,
        [" 20260302 ", "20260301", "20260303"],
    ],
)
def test_raters_are_in_the_order_of_their_moments(times: list[Any]) -> None:
    assert order_raters(table(times)) == ["bob", "ann", "eve"]


def test_the_last_rating_of_a_rater_counts_and_ids_have_no_spaces() -> None:
    rows = table(["2026-03-01", "2026-03-02", "2026-03-03"], ids=("ann ", "bob", " ann"))
    assert order_raters(rows) == ["bob", "ann"]
    assert order_raters(rows.rename({"rater_id": " rater_id"})) == ["bob", "ann"]


def test_rows_count_without_times_and_raters_without_one_are_left_out_where_others_have_one() -> None:
    assert order_raters(table([None] * 3).drop("answer_timestamp")) == ["ann", "bob", "eve"]
    assert order_raters(table([None] * 3, ids=("eve", "ann", "bob"))) == ["eve", "ann", "bob"]
    assert order_raters(table(["2026-03-02", "", "2026-03-01"])) == ["eve", "ann"]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (["2026-03-01T09:00Z", "2026-03-01T09:00", None], "with a zone, such as '2026-03-01T09:00Z', and without one"),
        (["2026-03-01", "yesterday", None], "'yesterday' is not a time in ISO 8601 or Unix seconds. Correct it"),
    ],
)
def test_times_without_an_order_are_refused(times: list[str | None], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        order_raters(table(times))


def test_a_table_without_raters_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no column rater_id"):
        order_raters(pl.DataFrame({"worker": ["ann"]}))
