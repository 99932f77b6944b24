"""Figure of the evidence on raters."""

import json
from itertools import pairwise
from math import log
from typing import Any

import polars as pl
import pytest
from tests.pipeline.careless import LINERS, SPEEDERS, careless_frame
from tests.pipeline.tables import ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.pipeline.vet import Vetting, vet
from dissensus.report.figures.vetting import CRITERIA, IN_FILE, LOOKS, MET, NEITHER, ROW_HEIGHT, evidence
from dissensus.report.graphics.theme import TEXT_WIDTH
from dissensus.schema.ratings.table import Ratings

MEASURES = [*CRITERIA, "label_entropy", "flat", "agreement_pool", "agreement_rater_gender"]


@pytest.fixture(scope="module")
def vetting() -> Vetting:
    flagged = careless_frame().with_columns(rater_flagged=pl.col("rater_id").is_in(["r00", "r20"]))
    return vet(Ratings.from_frame(flagged, questions="all"))


def layers(vetting: Vetting, mark: str, width: int = TEXT_WIDTH) -> list[dict[str, Any]]:
    """Return the layers with a kind of mark."""
    spec = json.loads(json.dumps(evidence(vetting).draw(width)))
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


def marks(vetting: Vetting, width: int = TEXT_WIDTH) -> list[dict[str, Any]]:
    (layer,) = layers(vetting, "point", width)
    values: list[dict[str, Any]] = layer["data"]["values"]
    return values


def rows(vetting: Vetting, n: int) -> list[list[dict[str, Any]]]:
    """Return the marks of each of `n` rows, from the top."""
    ordered = sorted(marks(vetting), key=lambda mark: float(mark["y"]))
    grouped = [[ordered[0]]]
    for mark in ordered[1:]:
        if mark["y"] - grouped[-1][0]["y"] > 0.9 * ROW_HEIGHT:
            grouped.append([])
        grouped[-1].append(mark)
    assert len(grouped) == n
    return grouped


def test_every_rater_has_a_mark_in_every_row_at_the_value(vetting: Vetting) -> None:
    for name, row in zip(MEASURES, rows(vetting, len(MEASURES)), strict=True):
        maximum = log(3) if name == "label_entropy" else 1
        values = sorted(mark["value"] for mark in row)
        assert values == pytest.approx(sorted(vetting.raters[name] / maximum))


def test_status_has_its_own_colour_shape_and_size(vetting: Vetting) -> None:
    status = [mark["status"] for mark in marks(vetting)]
    assert status.count(MET) == len(SPEEDERS + LINERS) * len(MEASURES)
    assert status.count(IN_FILE) == len(MEASURES)
    for look in zip(*LOOKS.values(), strict=True):
        assert look[0] != look[2]
    (layer,) = layers(vetting, "point")
    for channel in ("color", "shape", "size"):
        assert layer["encoding"][channel]["scale"]["domain"] == [MET, IN_FILE, NEITHER]


def test_flagged_marks_are_drawn_last(vetting: Vetting) -> None:
    order = [mark["status"] for mark in marks(vetting)]
    assert order == sorted(order, key=[NEITHER, IN_FILE, MET].index)


def test_marks_do_not_overlap_or_leave_their_row() -> None:
    vetting_of_alike = vet(ratings_of({f"r{r}": "NNYY" for r in range(40)}, {}))
    row = rows(vetting_of_alike, 3)[0]
    heights = [mark["y"] for mark in row]
    assert len(set(heights)) == 40
    assert max(heights) - min(heights) < ROW_HEIGHT


def test_only_criteria_have_threshold_lines(vetting: Vetting) -> None:
    (layer,) = layers(vetting, "rule")
    lines = layer["data"]["values"]
    assert [line["value"] for line in lines] == [1 / 2, 1 / 3, 1 / 4, 0.99]
    assert [line["text"] for line in lines] == [".50", ".33", ".25", ".99"]


def test_the_reading_counts_flagged_raters(vetting: Vetting) -> None:
    figure = evidence(vetting)
    assert figure.reading == "5 of 30 raters meet a criterion: 3 for fast answers, 2 for one label."
    assert "1,800 ratings of 60 items" in figure.notes[0]
    assert figure.notes[1].startswith("Median time of the pool 11")


def test_the_table_has_a_row_for_each_measure(vetting: Vetting) -> None:
    table = evidence(vetting).table
    assert table["measure"].to_list()[:4] == list(CRITERIA.values())
    assert table["n_raters"].to_list() == [30] * len(MEASURES)
    assert table["threshold"].to_list() == [1 / 2, 1 / 3, 1 / 4, 0.99, None, None, None, None]
    assert table["n_meeting"].to_list() == [3, 3, 3, 2, None, None, None, None]
    pool = vetting.raters["agreement_pool"]
    row = table.filter(measure="agreement with the pool").row(0, named=True)
    assert (row["minimum"], row["q50"], row["maximum"]) == (pool.min(), pool.median(), pool.max())


def test_no_rater_is_named(vetting: Vetting) -> None:
    figure = evidence(vetting)
    text = figure.render("json").decode() + figure.table.write_json() + figure.reading + str(figure.notes)
    assert not any(f'"{rater}"' in text for rater in vetting.raters["rater_id"])
    assert "tooltip" not in text


def test_without_times_there_are_no_rows_for_them() -> None:
    figure = evidence(vet(Ratings.from_frame(simulate_frame(2))))
    assert figure.table["measure"].to_list()[0] == CRITERIA["same_label"]
    assert figure.reading == "None of 24 raters meets a criterion."
    assert "there are no times in the file" in figure.notes[1]


def test_the_figure_fits_a_page_and_a_column(vetting: Vetting) -> None:
    figure = evidence(vetting)
    assert fits(figure)
    assert {"Criteria: flagged from the line on", MET, "answers with one label"} <= set(texts(figure))
    assert figure.render() == figure.render()


def test_names_from_the_file_are_escaped() -> None:
    axis = "rater_\"'</text><script>alert(1)</script>"
    ratings = ratings_of({"<b>": "NY", "b": "NY", "c": "NN"}, {axis: ["x", "x", "x"]})
    figure = evidence(vet(ratings))
    assert fits(figure)
    assert b"<script>" not in figure.render()


def test_in_large_pools_raters_with_one_value_share_a_mark() -> None:
    large = vet(ratings_of({f"r{r:04}": "NY" if r % 3 else "NN" for r in range(2600)}, {}))
    values = {mark["value"] for mark in marks(large)}
    assert len(marks(large)) < 50
    assert {0.5, 1.0} <= values
    assert "stands for all raters at its position" in evidence(large).notes[0]


def test_one_answer_to_everything_has_no_entropy_to_scale() -> None:
    ratings = Ratings.from_frame(careless_frame().with_columns(Q_overall=pl.lit("No")), categories=["No"])
    assert evidence(vet(ratings)).reading.startswith("30 of 30 raters meet a criterion")


def test_marks_are_ordered_by_value_and_not_by_rater(vetting: Vetting) -> None:
    """Marks in the order of raters would link the values of each rater."""
    for status in (MET, IN_FILE, NEITHER):
        values = [mark["value"] for mark in marks(vetting) if mark["status"] == status]
        # Marks are ordered by value within each row.
        assert sum(after < before for before, after in pairwise(values)) < len(MEASURES)
