"""Figure and table of answer times."""

import json
from dataclasses import replace

import polars as pl
import pytest
from tests.pipeline.careless import LINERS, SPEEDERS, careless_frame
from tests.report.svg import fits, texts

from dissensus.errors import NotFound
from dissensus.pipeline.vet import Vetting, vet
from dissensus.report.builder import build
from dissensus.report.figures.times import times
from dissensus.report.figures.vetting import MET
from dissensus.report.graphics.theme import TEXT_WIDTH
from dissensus.report.groups import list_groups
from dissensus.report.tables import time_table
from dissensus.schema.ratings.table import Ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return Ratings.from_frame(careless_frame(), questions="all")


@pytest.fixture(scope="module")
def vetting(ratings: Ratings) -> Vetting:
    return vet(ratings)


def test_every_rater_has_a_mark_at_time_and_score(vetting: Vetting) -> None:
    figure = times(vetting)
    drawn = json.loads(json.dumps(figure.draw(TEXT_WIDTH)))["layer"][0]["data"]["values"]
    assert len(drawn) == vetting.raters.height
    assert sorted(mark["seconds"] for mark in drawn) == pytest.approx(sorted(vetting.raters["median_time_ms"] / 1000))
    assert sum(mark["status"] == MET for mark in drawn) == len(SPEEDERS + LINERS)
    assert figure.reading.startswith("The median time of 30 raters is ")
    assert "rank correlation with the outlier score" in figure.reading


def test_the_figure_names_no_rater_and_fits(vetting: Vetting) -> None:
    figure = times(vetting)
    assert "rater_id" not in figure.table.columns
    assert not set(vetting.raters["rater_id"]) & set(texts(figure))
    assert fits(figure)


def test_a_rater_without_any_duration_has_a_mark(vetting: Vetting) -> None:
    raters = vetting.raters.with_columns(
        median_time_ms=pl.when(pl.col("rater_id") == vetting.raters["rater_id"][0])
        .then(0.0)
        .otherwise("median_time_ms")
    )
    figure = times(replace(vetting, raters=raters))
    drawn = json.loads(json.dumps(figure.draw(TEXT_WIDTH)))["layer"][0]["data"]["values"]
    assert min(mark["seconds"] for mark in drawn) == 0.001
    assert figure.table["seconds"].min() == 0


def test_no_times_no_figure(ratings: Ratings) -> None:
    without = vet(Ratings.from_frame(careless_frame().drop("answer_time_ms"), questions="all"))
    with pytest.raises(NotFound, match="there are no times in the file"):
        times(without)
    with pytest.raises(NotFound, match="there are no times in the file"):
        time_table(without, [list_groups(ratings, "gender")])


def test_hidden_groups_have_no_row(vetting: Vetting, ratings: Ratings) -> None:
    everybody = time_table(vetting, [list_groups(ratings, "gender")])
    assert everybody.table is not None
    assert everybody.table["group"].to_list() == ["Man", "Woman"]
    hidden = time_table(vetting, [list_groups(ratings, "gender", suppress_below=16)])
    assert hidden.table is not None
    assert hidden.table.height == 0
    assert "Woman" not in str(hidden.grids)


def test_the_report_shows_times_or_the_reason(ratings: Ratings) -> None:
    page = build(ratings, permutations=0, bootstrap=0)
    assert [page[name].name for name in ("vetting", "answer-times", "times")] == ["vetting", "answer-times", "times"]
    without = Ratings.from_frame(careless_frame().drop("answer_time_ms"))
    section = next(
        section for section in build(without, permutations=0, bootstrap=0).sections if section.name == "vetting"
    )
    assert any("there are no times in the file" in reason for reason in section.absent)
    assert pl.Series(section.absent).n_unique() == len(section.absent)
