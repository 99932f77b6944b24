"""Validation of ratings tables."""

import json

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import DissensusError
from dissensus.schema.questionnaire.shipped import load_questionnaire
from dissensus.schema.ratings.table import Ratings
from dissensus.schema.ratings.validation import Validation, validate_table

WRONG = pl.DataFrame(
    {
        "item_id": ["1", "1", "2", None, "2", "3", "3"],
        "rater_id": ["ann", "bob", "ann", "bob", "bob", "bob", "bob"],
        "rater_age": ["young", "old", "old", None, None, "old", "old"],
        "rater_race": [None, "w", None, "w", "w", "w", "w"],
        "context": ["c", "c", "c", "c", "c", "d", "d"],
        "response": ["r", "s", "r", "r", "r", "r", "r"],
        "answer_time_ms": ["1", "-3", "4", "x", "", "5", "6"],
        "rater_flagged": ["no", "no", "no", "no", "no", "no", "si"],
        "Q_overall": ["Yes", "maybe", "No", "No", None, "yes", "No"],
    }
)


RIGHT = WRONG.head(3).with_columns(
    rater_age=pl.lit("old"), response=pl.lit("r"), answer_time_ms=pl.lit("1"), Q_overall=pl.lit("No")
)


def problem_keys(validation: Validation) -> set[tuple[str, str | None, int | None]]:
    return {(problem.check, problem.column, problem.row) for problem in validation.problems()}


def test_all_problems_are_listed() -> None:
    assert problem_keys(validate_table(WRONG)) == {
        ("missing id", "item_id", 4),
        ("unknown answer", "Q_overall", 2),
        ("unknown answer", "Q_overall", 6),
        ("duplicate rating", "rater_id", 7),
        ("rater with two values", "rater_age", 3),
        ("item with two values", "response", 2),
        ("impossible time", "answer_time_ms", 2),
        ("impossible time", "answer_time_ms", 4),
        ("unknown flag", "rater_flagged", 7),
        ("missing demographics", "rater_race", 1),
        ("no answer", None, 5),
        ("same conversation twice", "response", 3),
    }


def test_each_problem_has_a_location_a_value_and_a_remedy() -> None:
    problems = {(p.check, p.row): p for p in validate_table(WRONG).problems()}
    typo = problems["unknown answer", 6]
    assert (typo.value, typo.severity) == ("yes", "error")
    assert "Did you mean 'Yes'?" in typo.message
    assert "'No', 'Unsure', 'Yes'" in typo.allowed
    assert "--categories" in typo.remedy
    assert all(p.message and p.allowed and p.remedy for p in problems.values())
    assert problems["missing demographics", 1].severity == "warning"


def test_errors_are_the_faults_that_reading_rejects() -> None:
    """A table without errors can be read despite warnings."""
    validation = validate_table(RIGHT)
    assert validation.ok
    assert {finding.severity for finding in validation.findings} == {"warning"}
    assert Ratings.from_frame(RIGHT).n_ratings == 3


def test_overalls_that_contradict_their_questions() -> None:
    questionnaire = load_questionnaire("dices-350")
    answers = {question.name: [question.scale[0]] * 4 for question in questionnaire.questions}
    answers |= {name: ["No"] * 4 for name in questionnaire.overalls}
    frame = pl.DataFrame({"item_id": ["1", "2", "3", "4"], "rater_id": ["a"] * 4, **answers})
    assert validate_table(frame).findings == ()
    overall = questionnaire.overalls["Q3_bias_overall"][0]
    frame = frame.with_columns(
        pl.Series(overall, ["Yes", "No", "Unsure", None]),
        pl.Series("Q3_bias_overall", ["Yes", "Unsure", "Unsure", "No"]),
        pl.Series("Q_overall", ["No", "No", "Unsure", "No"]),
    )
    assert problem_keys(validate_table(frame)) == {
        ("contradictory overall", "Q_overall", 1),
        ("contradictory overall", "Q3_bias_overall", 2),
    }
    problem = next(p for p in validate_table(frame).problems() if p.column == "Q_overall")
    assert (problem.value, problem.allowed) == ("No", "Any Yes is Yes, else any Unsure is Unsure, else No.")
    assert "make it 'Yes'" in problem.message


def test_an_empty_axis_is_one_problem() -> None:
    frame = WRONG[:1].with_columns(rater_age=pl.lit(None, pl.String))
    ages = [p for p in validate_table(frame).problems() if p.column == "rater_age"]
    assert [(p.row, p.message) for p in ages] == [(None, "No rater has a rater_age.")]


def test_a_table_without_the_columns_it_needs() -> None:
    validation = validate_table(WRONG.drop("rater_id"))
    assert not validation.ok
    assert [p.check for p in validation.problems()] == ["unreadable"]
    assert "--no-raters" in next(validation.problems()).message
    assert validate_table(WRONG[:1].drop("rater_id"), rater=None).ok


def test_the_printed_list_of_problems_is_truncated() -> None:
    frame = pl.DataFrame({"item_id": [str(i) for i in range(50)], "rater_id": ["a"] * 50, "Q_overall": ["si"] * 50})
    validation = validate_table(frame.with_columns(Q2=pl.lit("No")), questions=["Q_overall", "Q2"])
    assert "and 45 more; --format json or csv lists all." in str(validation)
    assert validation.to_polars().height == 50
    report = json.loads(validation.to_json())
    assert report["summary"] == [{"check": "unknown answer", "column": "Q_overall", "severity": "error", "count": 50}]
    assert [p["row"] for p in report["problems"]] == list(range(1, 51))


def test_the_real_ratings_are_valid(dices_350: object) -> None:
    frame = pl.read_csv(str(dices_350), infer_schema=False)
    validation = validate_table(frame)
    assert (validation.findings, validation.n_rows, validation.n_raters) == ((), 43_050, 123)


cell = st.sampled_from(["1", "2", "", None, "Yes", "No", "Unsure", "x"])


@quick
@given(st.lists(st.tuples(cell, cell, cell, cell, cell), min_size=1, max_size=6))
def test_a_table_is_read_if_and_only_if_it_has_no_errors(rows: list[tuple[str | None, ...]]) -> None:
    columns = ["item_id", "rater_id", "rater_age", "answer_time_ms", "Q_overall"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    try:
        Ratings.from_frame(frame)
        readable = True
    except DissensusError:
        readable = False
    validation = validate_table(frame)
    assert str(validation)
    assert json.loads(validation.to_json())["n_errors"] == validation.n_errors
    assert validation.ok is readable, validation


def list_errors(table: pl.DataFrame) -> list[str]:
    return [problem.check for problem in validate_table(table).problems() if problem.severity == "error"]


@pytest.mark.parametrize("column", ["item_id", "rater_id", "Q_overall"])
def test_a_table_without_a_column_that_is_needed_is_unreadable(column: str) -> None:
    assert list_errors(RIGHT.drop(column)) == ["unreadable"]


def test_tables_without_rows_or_with_decimal_ids_are_unreadable() -> None:
    assert list_errors(RIGHT.clear()) == ["unreadable"]
    for column in ("item_id", "rater_id"):
        assert list_errors(RIGHT.with_columns(pl.lit(1.5).alias(column))) == ["unreadable"]


def test_people_lack_nothing_that_describes_models() -> None:
    table = pl.DataFrame(
        {
            "item_id": ["1", "1"],
            "rater_id": ["ann", "tern"],
            "rater_kind": [None, "model"],
            "rater_model": [None, "tern-7b"],
            "rater_age": ["30", None],
            "Q_overall": ["Yes", "No"],
        }
    )
    assert [finding.column for finding in validate_table(table).findings] == ["rater_age"]
