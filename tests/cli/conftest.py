"""Commands within this process, and the real console script, as a person runs it."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.pipeline.tables import drawn_frame
from tests.support.commands import SCRIPT, CompletedCommand, RunCommand, command_runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> RunCommand:
    """Run `dissensus` with these words, in an empty folder and without real data unless they are given.

    A new interpreter for each would take the longest. What a process adds to it, once for each command, `script` shows.
    """
    return command_runner(monkeypatch, capsys, tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> RunCommand:
    """Run the console script, a process of its own, in the same way."""

    def dissensus(*words: str | Path, **environment: str) -> CompletedCommand:
        kept = {name: value for name, value in os.environ.items() if name != "DISSENSUS_DATA"}
        return subprocess.run(
            [SCRIPT, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**kept, "COLUMNS": "200", **environment},
            timeout=120,
        )

    return dissensus


@pytest.fixture
def ratings_csv(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    drawn_frame(11, share_rated=0.9).write_csv(path)
    return path


@pytest.fixture
def foreign_csv(tmp_path: Path) -> Path:
    """The same answers under other names."""
    path = tmp_path / "posts.csv"
    frame = drawn_frame(11).rename({"item_id": "post", "rater_id": "worker", "rater_race": "country"})
    words = {"No": "fine", "Unsure": "rude", "Yes": "hateful"}
    answers = frame["Q_overall"].replace(words)
    frame.drop("Q_overall", "rater_gender").with_columns(label=answers).write_csv(path)
    return path
