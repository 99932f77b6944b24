"""Functions that take ratings, files and tables alike; results as tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.pipeline.tables import simulate_frame

import dissensus as ds

FOREIGN: dict[str, Any] = {"item": "post", "rater": "worker", "answer": "label", "rater_attributes": ["country"]}
WORDS = {"No": "fine", "Unsure": "rude", "Yes": "hateful"}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "analyse": (ds.analyse, {"by": "country"}),
    "soft_labels": (ds.soft_labels, {"by": "country"}),
    "plurality": (ds.plurality, {"by": ["country"]}),
    "group_divergence": (ds.group_divergence, {"by": ["country"]}),
    "rater_curve": (ds.rater_curve, {"raters_per_group": [2, 4], "by": "country", "draws": 5}),
    "resampled_labels": (ds.resampled_labels, {"question": "label", "raters_per_item": 2}),
    "vet": (ds.vet, {}),
    "fit_model": (ds.fit_model, {"formula": "label ~ country + (1 | rater_id) + (1 | item_id)"}),
}


@pytest.fixture
def foreign() -> pl.DataFrame:
    """Ratings with columns and answers of other names."""
    frame = simulate_frame(11).rename({"item_id": "post", "rater_id": "worker", "rater_race": "country"})
    return frame.drop("Q_overall", "rater_gender").with_columns(label=frame["Q_overall"].replace(WORDS))


def as_text(result: Any) -> str:
    return repr(result.rows()) if isinstance(result, pl.DataFrame) else str(getattr(result, "curve", result))


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_files_and_tables_give_what_checked_ratings_give(name: str, foreign: pl.DataFrame, tmp_path: Path) -> None:
    function, options = FUNCTIONS[name]
    reading = {**FOREIGN, "categories": list(WORDS.values())}
    expected = as_text(function(ds.read_ratings(foreign, **reading), **options))
    foreign.write_csv(tmp_path / "posts.csv")
    for source in (foreign, foreign.to_pandas(), foreign.to_arrow(), foreign.to_dicts(), str(tmp_path / "posts.csv")):
        assert as_text(function(source, **options, **reading)) == expected


def test_options_of_reading_need_something_to_read(foreign: pl.DataFrame) -> None:
    ratings = ds.read_ratings(foreign, **FOREIGN, categories=list(WORDS.values()))
    with pytest.raises(ds.InvalidInput, match="item says how a file or a table is read, and these ratings have been"):
        ds.analyse(ratings, item="post")
    with pytest.raises(ds.InvalidInput, match="These ratings have been read"):
        ds.read_ratings(ratings)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        ds.analyse(foreign, colour="red")


@pytest.mark.parametrize("source", [3, None, ("a",), [3]])
def test_anything_else_is_refused_with_what_to_give(source: object) -> None:
    with pytest.raises(ds.InvalidInput, match=r"Give .*the path of a file"):
        ds.analyse(source)


def test_the_question_is_the_column_that_is_read() -> None:
    frame = simulate_frame(3).rename({"Q_overall": "label"}).cast(pl.String)
    assert ds.soft_labels(frame, "label").height == ds.soft_labels(frame, answer="label").height


@pytest.fixture
def several() -> pl.DataFrame:
    """Ratings with two overall questions and two granular ones."""
    frame = simulate_frame(3)
    return frame.with_columns(Q2=pl.col("Q_overall"), Q3=pl.lit("No"), Q2_overall=pl.col("Q_overall"))


def test_several_questions_are_the_columns_that_are_read(several: pl.DataFrame) -> None:
    assert {row.question for row in ds.score_chatbots(several, questions=["Q2", "Q3"]).rows} == {"Q2", "Q3"}
    assert {row.question for row in ds.score_chatbots(several).rows} == {"Q_overall", "Q2_overall"}
    assert "dices" in ds.compare_decisions(several, questions=["Q_overall", "Q2", "Q3"]).rules
    assert ds.label_by_rule(several, "any-question", questions=["Q_overall", "Q3"])["label"].unique().to_list() == [
        "safe"
    ]


def test_the_response_of_a_formula_is_the_column_that_is_read(several: pl.DataFrame) -> None:
    with pytest.raises(ds.UndefinedEstimate, match="All 720 answers are 'No'"):
        ds.fit_model(several, "Q3 ~ gender + (1 | rater_id) + (1 | item_id)")


def test_several_axes_have_their_names() -> None:
    ratings = ds.read_ratings(simulate_frame(3))
    both = ds.soft_labels(ratings, by=["race", "gender"])
    assert both.columns[:3] == ["axis", "item_id", "group"]
    one = ds.soft_labels(ratings, by="gender")
    assert both.filter(axis="rater_gender").drop("axis").equals(one)
    named = simulate_frame(3).with_columns(pl.col("Q_overall").replace("Unsure", "axis"))
    with pytest.raises(ds.InvalidInput, match="The answer 'axis' is also the name of a column of the result"):
        ds.soft_labels(named, by=["race", "gender"], categories=["No", "axis", "Yes"])
    with pytest.raises(ds.InvalidInput, match="one axis is compared at a time"):
        ds.group_divergence(ratings, ["race", "gender"])


@pytest.fixture(scope="module")
def analysis() -> ds.Analysis:
    return ds.analyse(simulate_frame(3), by=["race", "gender"])


def test_results_are_tables_of_every_library(analysis: ds.Analysis) -> None:
    rows = analysis.to_polars()
    assert rows.columns[:5] == ["axis", "group", "against", "metric", "estimate"]
    assert not [name for name in rows.columns if name.startswith("setting_")]
    assert isinstance(analysis.to_pandas(), pd.DataFrame)
    assert isinstance(analysis.to_arrow(), pa.Table)
    assert analysis.to_pandas().shape == rows.shape
    assert "setting_seed" in analysis.to_polars(settings=True).columns


def test_a_wide_table_has_a_line_a_group(analysis: ds.Analysis) -> None:
    wide = analysis.to_polars(wide=True)
    assert wide.columns[:4] == ["axis", "group", "n_raters", "answer_share"]
    assert wide.select("axis", "group").is_unique().all()
    for row in (*analysis.overall, *analysis.rows):
        line = wide.filter(pl.col("axis").eq_missing(pl.lit(row.axis)), pl.col("group").eq_missing(pl.lit(row.group)))
        assert line[row.metric].to_list() == [row.estimate]
    assert analysis.to_pandas(wide=True).shape == wide.shape


def test_rows_of_a_group_are_found_by_name(analysis: ds.Analysis) -> None:
    assert analysis["gender", "Man"]["irr"].n_raters == analysis["rater_gender", "Man"]["xrr"].n_raters
    assert analysis["overall"]["answer_share"] is analysis.overall[0]
    assert set(analysis["gender"]) == {"between_share", "dsi"}
    with pytest.raises(ds.NotFound, match=r"rater_gender has no group 'Men'\. Its groups are 'Man', 'Woman'"):
        analysis["gender", "Men"]
    with pytest.raises(ds.NotFound, match="no axis 'shoe'"):
        analysis["shoe", "left"]


def test_an_analysis_is_one_line_and_a_table_in_a_notebook(analysis: ds.Analysis) -> None:
    assert repr(analysis).count("\n") == 0
    assert len(repr(analysis)) < 200
    assert analysis._repr_html_().count("<table") == 5


def test_one_rater_agrees_with_nobody() -> None:
    frame = pl.DataFrame({"item_id": ["1", "2"], "rater_id": ["a", "a"], "Q_overall": ["Yes", "No"]})
    analysis = ds.analyse(frame)
    for metric in ("irr", "negentropy", "plurality_size"):
        assert analysis["overall"][metric].estimate is None
    assert "there is one rater, who agrees with nobody" in str(analysis)
