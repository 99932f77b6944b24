"""Readers of scores: tables wide and long, labels, scores that are 1 for safe, and bad input."""

import gzip
import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.paths import ROOT

from dissensus.errors import InvalidInput
from dissensus.files.scores.populations import read_population_labels
from dissensus.files.scores.reader import read_scores

WIDE = {"item_id": ["1", "2", "3"], "guard": [0.9, 0.2, None], "words": ["unsafe", "SAFE", "unsafe"]}


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "tsv", "csv.gz"])
def test_each_column_of_scores_or_labels_is_a_model(tmp_path: Path, kind: str) -> None:
    frame, path = pl.DataFrame({**WIDE, "text": ["a", "b", "c"]}), tmp_path / f"scores.{kind}"
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    scores = read_scores(path)
    assert scores.table.to_dict(as_series=False) == {
        "item_id": ["1", "2", "3"],
        "guard": [0.9, 0.2, None],
        "words": [1.0, 0.0, 1.0],
    }
    assert scores.label_models == ("words",)
    assert scores.notes == ("Columns that are neither scores nor labels are not read: 'text'.",)


def test_long_tables_and_several_files(tmp_path: Path) -> None:
    long = pl.DataFrame({"item_id": ["1", "1", "2", "2"], "model": ["a", "b", "a", "b"], "score": [0.1, 0.2, 0.3, 0.4]})
    plain = tmp_path / "llama-guard.csv"
    pl.DataFrame({"item_id": ["2", "9"], "score": [1, 0]}).write_csv(plain)
    scores = read_scores([long, plain])
    assert scores.models == ("a", "b", "llama-guard")
    assert scores.table.row(1) == ("2", 0.3, 0.4, 1.0)
    assert scores.table.row(2) == ("9", None, None, 0.0)
    for names in (["b"], ["llama-guard"], ["a", "llama-guard"]):
        assert read_scores([long, plain], models=names).models == tuple(names)
    assert read_scores(plain, models=["score"]).models == ("score",)
    attributed = pl.DataFrame({"item_id": ["1"], "model": ["gpt"], "guard": [0.5]})  # Of one row an item
    assert read_scores(attributed, models=["guard"]).models == ("guard",)
    with pytest.raises(InvalidInput, match=r"no column 'c' of scores.*'llama-guard'"):
        read_scores([long, plain], models=["a", "c"])


def test_answers_to_the_question_may_be_labels() -> None:
    frame = pl.DataFrame({"item_id": ["1", "2", "3"], "judge": ["Yes", "Unsure", "No"]})
    assert read_scores(frame, labels={"Yes": 1, "Unsure": 0, "No": 0}).table["judge"].to_list() == [1, 0, 0]


def test_answers_that_are_numbers_are_not_read_as_probabilities() -> None:
    scale = {str(answer): float(answer == 4) for answer in range(5)}

    def read(judge: Sequence[float], labels: dict[str, float]) -> list[float | None]:
        return (
            read_scores(
                pl.DataFrame({"item_id": ["1", "2", "3"], "judge": [float(answer) for answer in judge]}), labels=labels
            )
            .table["judge"]
            .to_list()
        )

    assert read([0, 3, 4], scale) == [0, 0, 1]
    assert read([0, 0.5, 1], scale) == [0, 0.5, 1]
    assert read([0, 1, 1], {"0": 0, "1": 1}) == [0, 1, 1]
    for judge, labels in (([0, 1, 1], scale), ([0, 1, 1], {"0": 1.0, "1": 0.0})):
        with pytest.raises(InvalidInput, match="may be a probability or an answer"):
            read(judge, labels)
    german = {"Unmäßig": 1.0, "Mäßig": 0.0}
    frame = pl.DataFrame({"item_id": ["1", "2"], "judge": ["Unmäßig", "mäßig"]})
    assert read_scores(frame, labels=german).table["judge"].to_list() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,us,.5,abc", "the share 'abc' of 'Yes'"),
        ("1,us,.5,", "the share '' of 'Yes'"),
        ("1,us,.5,.5\n1,us,.1,.9", "several rows of the population 'us'"),
        ("1,,.5,.5", "A model is named ''"),
        ("1,item_id,.5,.5", "A model is named 'item_id'"),
    ],
)
def test_bad_labels_of_populations_are_named(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"item_id,population,No,Yes\n{rows}\n")
    with pytest.raises(InvalidInput, match=message):
        read_population_labels(path, ["Yes"])


def test_shares_in_lists_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    pl.DataFrame({"item_id": ["1"], "population": ["us"], "Yes": [[0.5]]}).write_parquet(path)
    with pytest.raises(InvalidInput, match=r"the share .* of 'Yes'; give a number"):
        read_population_labels(path, ["Yes"])


def test_scores_that_are_1_for_safe_are_reversed_and_named() -> None:
    frame = pl.DataFrame({"item_id": ["1", "2"], "guard": [0.9, None], "is_safe": [True, False], "words": ["safe"] * 2})
    scores = read_scores(frame, reverse=["guard", "is_safe"])
    assert scores.table["guard"].to_list() == [pytest.approx(0.1), None]
    assert scores.table["is_safe"].to_list() == [0, 1]
    assert scores.table["words"].to_list() == [0, 0]
    assert scores.notes == ("Reversed, since 1 means safe: 'guard', 'is_safe'.",)
    for name, message in (("words", "has the label 'safe', which tells by itself"), ("gaurd", "Did you mean 'guard'")):
        with pytest.raises(InvalidInput, match=message):
            read_scores(frame, reverse=[name])
    with pytest.raises(InvalidInput, match="no column 'is_safe' of scores"):
        read_scores(frame, models=["guard"], reverse=["is_safe"])
    with pytest.raises(InvalidInput, match="has the label 'yes'"):
        read_scores(frame.with_columns(words=pl.lit("Yes")), labels={"Yes": 1, "No": 0}, reverse=["words"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guard": [0.9, 1.2, 0.1]}, r"Item '2' has the score 1.2 of 'guard'; .* from 0 to 1"),
        ({"guard": [0.9, -0.1, 0.1]}, "has the score -0.1"),
        ({"guard": [0.9, float("nan"), 0.1]}, "has the score nan"),
        ({"guard": ["0.9", "inf", "0.1"]}, "has the score inf"),
        ({"words": ["unsafe", "saef", "safe"]}, "has the label 'saef' of 'words'.*Did you mean 'safe'"),
        ({"item_id": ["1", "1", "3"]}, "Item '1' has several rows"),
        ({"item_id": ["1", None, "3"]}, "Row 2 of the scores has no id"),
        ({"guard": ["a", "b", "c"], "words": ["x", "y", "z"]}, "No column holds scores"),
    ],
    ids=str,
)
def test_bad_scores_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_scores(pl.DataFrame({**WIDE, **change}))


def test_bad_tables_are_named() -> None:
    frame = pl.DataFrame(WIDE)
    cases: tuple[tuple[Any, dict[str, Any], str], ...] = (
        (frame.rename({"item_id": "id"}), {}, "no column 'item_id'"),
        (frame, {"models": ["gaurd"]}, "Did you mean 'guard'"),
        ([frame, frame], {}, "Two files have scores of 'guard'"),
        ([], {}, "There are no scores"),
        (pl.DataFrame({"item_id": ["1", "1"], "model": ["a", "a"], "score": [0, 1]}), {}, "several scores of 'a'"),
        (pl.DataFrame({"item_id": ["1"], "model": ["a"], "text": ["b"]}), {}, "one row an item and model"),
    )
    for source, options, message in cases:
        with pytest.raises(InvalidInput, match=message):
            read_scores(source, **options)
    for model in ("item_id", None, " "):
        with pytest.raises(InvalidInput, match="A model is named"):
            read_scores(pl.DataFrame({"item_id": ["1", "2"], "model": ["a", model], "score": [0, 1]}))


def test_a_named_model_without_a_value_is_refused() -> None:
    table = pl.DataFrame({"item_id": ["1", "2"], "guard": [0.5, None], "words": [None, " "]})
    with pytest.raises(InvalidInput, match=r"'words' has no value.*--score-column"):
        read_scores(table, models=["guard", "words"])
    assert read_scores(table, models=["guard"]).models == ("guard",)


QUERY = re.compile(r'sqlite3 -header -csv pyrit\.db "(.*?)" > scores\.csv')


@pytest.mark.parametrize("name_key", ["class_name", "__type__"])
def test_the_query_of_the_documentation_reads_scores_from_a_memory_of_pyrit(tmp_path: Path, name_key: str) -> None:
    """By the columns of ScoreEntries in the source of PyRIT, of which 0.x named a scorer by __type__."""
    page = (ROOT / "docs" / "scorecards.md").read_text("utf-8")
    (query,) = QUERY.findall(page)
    rows = [
        ("s1", "true", "true_false", "m1", "Refusal"),
        ("s2", "False", "true_false", "m2", "Refusal"),
        ("s3", "0.25", "float_scale", "m1", "Likert"),
        ("s4", "1", "float_scale", "m2", "Likert"),
        ("s5", None, "float_scale", "m3", "Likert"),  # No verdict was reached
        ("s6", "0.5", "float_scale", None, "Likert"),  # Of a text that is no message
    ]
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(
            "CREATE TABLE ScoreEntries (id, score_value, score_type, prompt_request_response_id, "
            "scorer_class_identifier JSON)"
        )
        for *row, scorer in rows:
            memory.execute("INSERT INTO ScoreEntries VALUES (?, ?, ?, ?, ?)", (*row, json.dumps({name_key: scorer})))
        cursor = memory.execute(query)
        names = [column[0] for column in cursor.description]
        table = pl.DataFrame(cursor.fetchall(), schema=names, orient="row")
    table.write_csv(tmp_path / "scores.csv")
    scores = read_scores(tmp_path / "scores.csv")
    assert scores.table.sort("item_id").to_dicts() == [
        {"item_id": "m1", "Refusal": 1.0, "Likert": 0.25},
        {"item_id": "m2", "Refusal": 0.0, "Likert": 1.0},
    ]


def test_shares_that_exceed_1_by_rounding_are_read(tmp_path: Path) -> None:
    """In floating point .33 + .56 + .11 is above 1."""
    path = tmp_path / "labels.csv"
    path.write_text("item_id,population,A,B,C,D\n1,all,0.33,0.56,0.11,0\n2,all,0.1,0.2,0.3,0.4\n")
    assert read_population_labels(path, ["A", "B", "C"]).table["all"].to_list() == pytest.approx([1, 0.6])
    path.write_text("item_id,population,A,B,C,D\n1,all,0.5,0.56,0.11,0\n")
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        read_population_labels(path, ["A", "B", "C"])


def test_labels_may_be_categories() -> None:
    labels = pl.Series(["unsafe", "safe"], dtype=pl.Categorical)
    scores = read_scores(pl.DataFrame({"item_id": ["1", "2"], "words": labels}))
    assert scores.table["words"].to_list() == [1.0, 0.0]
