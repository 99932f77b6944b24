"""Figures of the shares of answers."""

import json

import polars as pl
import pytest
from tests.pipeline.tables import SCALE, ratings_of, simulate_frame
from tests.report.svg import fits, texts

from dissensus.report.figures.answers import answers, list_bar_parts, questions
from dissensus.report.groups import list_groups
from dissensus.schema.ratings.table import Ratings


def test_shares_are_those_of_the_file() -> None:
    frame = simulate_frame(3, share_rated=0.7)
    figure = answers(Ratings.from_frame(frame), "race")
    for row in figure.table.iter_rows(named=True):
        group_frame = frame if row["group"] == "everybody" else frame.filter(pl.col("rater_race") == row["group"])
        assert row["n_ratings"] == group_frame.height
        for answer in SCALE:
            assert row[f"share of {answer}"] == pytest.approx((group_frame["Q_overall"] == answer).mean())


def test_bars_are_those_of_the_table() -> None:
    figure = answers(Ratings.from_frame(simulate_frame(3)), "race")
    spec = json.loads(figure.render("json"))
    bars = spec["layer"][0]["data"]["values"]
    lengths = [bar["to"] - bar["from"] for bar in bars]
    table = figure.table.select(f"share of {answer}" for answer in SCALE)
    assert lengths == pytest.approx([share for row in table.iter_rows() for share in row])
    labels = [text["text"] for text in spec["layer"][1]["data"]["values"]]
    assert labels == [f"{100 * length:.0f}" for length in lengths]


def test_dices_350_by_gender(dices_104: Ratings) -> None:
    figure = answers(dices_104, "gender", question="Q_overall")
    assert figure.table["n_ratings"].to_list() == [36_400, 16_450, 19_950]
    assert {"everybody", "104 raters", "Man", "47 raters", "Woman", "57 raters"} <= set(texts(figure))
    assert fits(figure)


def test_the_reading_names_the_groups_furthest_apart() -> None:
    ratings = ratings_of({"a": "NNNY", "b": "NYYY", "c": "NNYY"}, {"rater_x": ["low", "high", "middle"]})
    assert answers(ratings, "x").reading == (
        "Of all answers to Q_overall, 50.0 % are No, 50.0 % are Yes and 0.0 % are Unsure; "
        "Yes ranges from 25.0 % (low) to 75.0 % (high)."
    )
    symmetric = ratings_of({"a": "NY", "b": "YN"}, {"rater_x": ["one", "two"]})
    assert answers(symmetric, "x").reading.endswith("the share of Yes is 50.0 % in every group.")


def test_hidden_groups_are_left_out_but_count_for_everybody() -> None:
    ratings = Ratings.from_frame(simulate_frame(3))
    figure = answers(ratings, list_groups(ratings, "race", suppress_below=8))
    assert figure.table["group"].to_list() == ["everybody", "Asian"]
    assert figure.table["n_ratings"][0] == ratings.n_ratings
    assert not {"Black", "White"} & set(texts(figure))


def test_questions_with_another_scale_are_named_and_left_out() -> None:
    frame = simulate_frame(3).with_columns(Q1_a="Q_overall", Q2_b=pl.Series([1, 2] * 360))
    figure = questions(Ratings.from_frame(frame, questions="all"))
    assert set(figure.table["question"]) == {"Q_overall", "Q1_a"}
    assert figure.notes == ("Not shown, since its answers are others: Q2_b.",)
    assert figure.reading.startswith("Yes ranges from ")


def test_answers_go_from_light_to_dark_and_text_on_them_changes() -> None:
    scale = [str(k) for k in range(9)]
    parts = list_bar_parts(scale)
    assert [part.name for part in parts] == scale
    assert len({part.text for part in parts}) > 1
    assert [part.name for part in list_bar_parts(["only"])] == ["only"]
