"""Reviews of attempts from files."""

import json
from pathlib import Path

import polars as pl
import pytest

from dissensus.errors import DissensusError
from dissensus.files.attempts.reviews import read_attempt_ids, read_reviews

REVIEW = {"attempt_id": "a-1", "reviewer_id": "ann", "success": 3, "tags": ["Theft", "Weapons"]}


def write_records(path: Path, *records: dict[str, object]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_lines_arrays_and_tables_give_the_same_reviews(tmp_path: Path) -> None:
    second_review: dict[str, object] = {"attempt_id": 2, "reviewer_id": 7, "success": 0.0}
    lines = read_reviews(write_records(tmp_path / "a.jsonl", REVIEW, second_review))
    array = tmp_path / "a.json"
    array.write_text(json.dumps([REVIEW, second_review]))
    table = tmp_path / "a.csv"
    pl.DataFrame(
        {
            "attempt_id": ["a-1", "2"],
            "reviewer_id": ["ann", "7"],
            "success": [3, 0],
            "tags": ['["Theft", "Weapons"]', ""],
        }
    ).write_csv(table)
    assert lines == read_reviews(array) == read_reviews(table)
    assert lines[0].tags == ("Theft", "Weapons")
    assert (lines[1].attempt_id, lines[1].reviewer_id, lines[1].success, lines[1].tags) == ("2", "7", 0, ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"success": 5}, "record 2: success is 5; give a whole number from 0 to 4"),
        ({"success": None}, "record 2: there is no 'success'"),
        ({"success": "good"}, "record 2: success is 'good'"),
        ({"success": 2.5}, "record 2: success is '2.5'; it is a whole number"),
        ({"tags": ["a", "b", "c"]}, "record 2: tags are 'a', 'b', 'c'; a reviewer gives 2 at most"),
        ({"tags": 7}, "record 2: tags is '7'; it is a list of texts"),
        ({"reviewer_id": ["x"]}, "is not an id"),
        ({"attempt_id": ""}, "there is no 'attempt_id'"),
    ],
)
def test_invalid_reviews_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = write_records(tmp_path / "a.jsonl", REVIEW, {**REVIEW, "reviewer_id": "ben", **change})
    with pytest.raises(DissensusError, match=message):
        read_reviews(path)


def test_a_similar_name_is_suggested_and_an_empty_file_is_refused(tmp_path: Path) -> None:
    strange = {"attempt": 1, "reviewer_id": "ann", "success": 3}
    with pytest.raises(DissensusError, match=r"Did you mean 'attempt'\?"):
        read_reviews(write_records(tmp_path / "a.jsonl", strange))
    with pytest.raises(DissensusError, match="has no review"):
        read_reviews(pl.DataFrame({"attempt_id": [], "reviewer_id": [], "success": []}))


def test_attempt_ids_are_complete_or_absent() -> None:
    assert read_attempt_ids(pl.DataFrame({"rating": [1, 2]})) is None
    assert read_attempt_ids(pl.DataFrame({"attempt_id": [4, 9]})) == ("4", "9")
    with pytest.raises(DissensusError, match="Record 2 has no attempt_id"):
        read_attempt_ids(pl.DataFrame({"attempt_id": ["x", None]}))


def test_an_empty_attempt_id_is_missing(tmp_path: Path) -> None:
    path = write_records(tmp_path / "attempts.jsonl", {"attempt_id": ""}, {"attempt_id": "a"})
    with pytest.raises(DissensusError, match="Record 1 has no attempt_id"):
        read_attempt_ids(path)
