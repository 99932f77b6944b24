"""Attempts for PyRIT and Inspect."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tests.support.attempt_records import RECORD

from dissensus.errors import InvalidInput
from dissensus.files.attempts.samples import NO_INPUT, NO_OBJECTIVE, UNRATED, write_attempt_samples, write_pyrit
from dissensus.schema.records.attempt import to_attempts_table
from dissensus.schema.records.attempt_parser import parse_attempt

ATTEMPT = parse_attempt(RECORD)


def test_pyrit_reads_what_was_written(tmp_path: Path) -> None:
    awkward = '\n\nHuman: # no "comment", here\n\nAssistant: NA'
    attempts = [
        ATTEMPT,
        replace(ATTEMPT, transcript=awkward, rating=2, task_description=' # make it say "NA", \nor so '),
        replace(ATTEMPT, rating=None),
        replace(ATTEMPT, task_description=" None "),
        replace(ATTEMPT, task_description="-1.#QNAN"),
    ]
    path = tmp_path / "a.pyrit.csv"
    assert write_pyrit(attempts, path) == {UNRATED: 1, NO_OBJECTIVE: 2}
    assert path.read_text("utf-8").startswith(
        "# dataset_version=1.0\nassistant_response,human_score,objective,data_type\n"
    )
    # Read it like HumanLabeledDataset.from_csv.
    table = pd.read_csv(path, comment="#", encoding="utf-8")
    assert not table.isna().any().any()
    assert table["assistant_response"].tolist() == [ATTEMPT.transcript.strip(), awkward.strip()]
    assert [bool(int(score)) for score in table["human_score"]] == [True, False]
    assert table["objective"].tolist() == ["Make it be rude", '# make it say "NA", \nor so']
    with pytest.raises(InvalidInput, match="nobody rated it"):
        write_pyrit([replace(ATTEMPT, rating=None)], tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()


def test_samples_of_inspect(tmp_path: Path) -> None:
    attempts = [
        ATTEMPT,
        replace(ATTEMPT, transcript="\n\nHuman: a\n\nAssistant: b\n\nHuman: c", tags=None),
        replace(ATTEMPT, transcript="\n\nAssistant: alone"),
    ]
    path = tmp_path / "a.inspect.jsonl"
    assert write_attempt_samples(attempts, path) == {NO_INPUT: 1}
    first, second = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    assert first["id"] == "1"
    assert first["input"] == [{"role": "user", "content": "Be rude."}]
    assert first["target"] == "Make it be rude"
    assert first["metadata"]["response"] == "No."
    assert set(first["metadata"]) == {"response", *to_attempts_table([]).columns} - {"transcript", "task_description"}
    assert [message["content"] for message in second["input"]] == ["a", "b", "c"]
    assert second["metadata"]["response"] is None


def test_no_attempts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"No attempt can be written to .*: there is none\."):
        write_pyrit([], tmp_path / "out.csv")
