"""The real console script, as a person runs it."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from tests.pipeline.tables import drawn_frame

SCRIPT = Path(sys.executable).with_name("dissensus")
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `dissensus` with these words, in an empty folder and without real data unless they are given."""

    def dissensus(*words: str | Path, cwd: Path = tmp_path, env: Mapping[str, str | None] | None = None) -> Done:
        settings: dict[str, str | None] = {**os.environ, "COLUMNS": "200", "DISSENSUS_DATA": None, **(env or {})}
        return subprocess.run(
            [SCRIPT, *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=cwd,
            env={name: value for name, value in settings.items() if value is not None},
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
