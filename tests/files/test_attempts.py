"""Red-team attempts: the published form, tables, and invalid files."""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.support.attempt_records import RECORD

from dissensus.errors import Conflict, DissensusError, InvalidInput
from dissensus.files.attempts.tables import conversation_of, read_attempts, stream_attempts, write_attempts
from dissensus.schema.records.attempt import Attempt, to_attempts_table
from dissensus.schema.records.attempt_parser import DESCRIPTION_SCORE, RELEASED_SPELLING, parse_attempt

NAMES = ("a.json", "a.json.gz", "a.jsonl", "a.jsonl.gz", "a.csv", "a.csv.gz", "a.tsv", "a.parquet")


@pytest.fixture
def attempts() -> list[Attempt]:
    attempt = parse_attempt(RECORD)
    awkward = "\n\nHuman: 'é', \"Human: no\"\t\n\nAssistant: =1+1 # not a comment\n\nHuman: \n\nAssistant: "
    return [
        attempt,
        replace(attempt, transcript=awkward, tags=None, is_upworker=None, rating=None, num_params=None),
        replace(attempt, min_harmlessness_score_transcript=0.1 + 0.2, task_description="", tags=("a, b", '"')),
    ]


@pytest.fixture
def sample(real_data: Callable[[str], Path]) -> Path:
    return real_data("red-team/red_team_attempts.sample.jsonl")


def test_the_real_attempts_are_written_back_except_for_the_corrected_key(sample: Path, tmp_path: Path) -> None:
    released = [json.loads(line) for line in sample.read_text("utf-8").splitlines()]
    result = read_attempts(sample)
    assert (len(result.attempts), result.notes) == (10, ())
    path = tmp_path / "red_team_attempts.jsonl.gz"
    write_attempts(result.attempts, path)
    records = json.loads(gzip.decompress(path.read_bytes()))
    corrected = [{DESCRIPTION_SCORE if key == RELEASED_SPELLING else key: row[key] for key in row} for row in released]
    assert records == corrected
    assert [list(row) for row in records] == [list(row) for row in corrected]


def test_as_released_keeps_every_byte_of_a_record(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "attempts.json"
    write_attempts(read_attempts(sample).attempts, path, as_released=True)
    text = path.read_text("utf-8")
    assert text.startswith("[")
    assert text[1:].removesuffix("]\n").split(",\n") == sample.read_text("utf-8").splitlines()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("as_released", [False, True])
def test_every_encoding_holds_attempts(attempts: list[Attempt], tmp_path: Path, name: str, as_released: bool) -> None:
    path = tmp_path / name
    write_attempts(attempts, path, as_released=as_released)
    assert list(read_attempts(path).attempts) == attempts
    first = path.read_bytes()
    write_attempts(attempts, path, as_released=as_released, overwrite=True)
    assert path.read_bytes() == first
    with pytest.raises(Conflict):
        write_attempts(attempts, path)


def test_json_is_an_array_unless_the_name_ends_in_jsonl(attempts: list[Attempt], tmp_path: Path) -> None:
    for name, start in (("a.json", "[{"), ("a.jsonl", "{"), ("red_team_attempts.jsonl", "[{")):
        write_attempts(attempts, tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").startswith(start)
    assert len((tmp_path / "a.jsonl").read_text("utf-8").splitlines()) == len(attempts)


def test_tables_in_memory_are_read(attempts: list[Attempt]) -> None:
    table = to_attempts_table(attempts)
    assert list(read_attempts(table).attempts) == attempts
    assert list(read_attempts(table.to_pandas()).attempts) == attempts
    extra = table.with_columns(comment=pl.lit("x"))
    assert read_attempts(extra).notes == ("Left out, because attempts do not have it: 'comment'.",)


def test_an_attempt_has_a_conversation(attempts: list[Attempt]) -> None:
    assert [turn.text for turn in conversation_of(attempts[0]).turns] == ["Be rude.", "No."]


def test_the_reader_holds_one_record_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([RECORD])[:-1] + ', {"broken": ')
    stream = stream_attempts(path)
    assert next(stream) == parse_attempt(RECORD)
    with pytest.raises(InvalidInput, match="record 2"):
        next(stream)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": 9}, "a.jsonl, record 2: rating is 9; give a whole number from 0 to 4"),
        ({"transcript": "hello"}, "record 2: A transcript of hh-rlhf begins with a blank line"),
        ({"transcript": None}, "record 2: transcript is null; it is text"),
        ({"red_team_member_id": "ann"}, "record 2: red_team_member_id is 'ann'"),
    ],
)
def test_errors_name_the_record(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (RECORD, {**RECORD, **change})))
    with pytest.raises(DissensusError) as caught:
        read_attempts(path)
    assert message in str(caught.value)


def test_an_empty_file_of_attempts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(InvalidInput, match="has no attempt"):
        read_attempts(tmp_path / "a.json")
    with pytest.raises(InvalidInput, match="no attempt to write"):
        write_attempts([], tmp_path / "b.json")
    assert not (tmp_path / "b.json").exists()


def test_a_failure_leaves_no_file(attempts: list[Attempt], tmp_path: Path) -> None:
    def failing_rows() -> Any:
        yield attempts[0]
        raise InvalidInput("no more")

    for name in ("a.json", "a.parquet", "a.csv"):
        with pytest.raises(InvalidInput, match="no more"):
            write_attempts(failing_rows(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
