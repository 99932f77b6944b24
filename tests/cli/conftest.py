"""Fixtures that run commands in this process or by the console script."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.pipeline.tables import simulate_frame
from tests.support.commands import SCRIPT, CompletedCommand, RunCommand, command_runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> RunCommand:
    """Run `dissensus` in this process, in an empty folder and without real data; faster than a process for each."""
    return command_runner(monkeypatch, capsys, tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> RunCommand:
    """Run the console script as a process."""

    def dissensus(*words: str | Path, **environment: str) -> CompletedCommand:
        inherited = {name: value for name, value in os.environ.items() if name != "DISSENSUS_DATA"}
        return subprocess.run(
            [SCRIPT, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**inherited, "COLUMNS": "200", **environment},
            timeout=120,
        )

    return dissensus


@pytest.fixture
def ratings_csv(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    simulate_frame(11, share_rated=0.9).write_csv(path)
    return path


@pytest.fixture
def foreign_csv(tmp_path: Path) -> Path:
    """The same ratings with other column and category names."""
    path = tmp_path / "posts.csv"
    frame = simulate_frame(11).rename({"item_id": "post", "rater_id": "worker", "rater_race": "country"})
    words = {"No": "fine", "Unsure": "rude", "Yes": "hateful"}
    answers = frame["Q_overall"].replace(words)
    frame.drop("Q_overall", "rater_gender").with_columns(label=answers).write_csv(path)
    return path
