"""Disturbances of the real site: the short form of `make chaos`."""

import json
import subprocess
import sys

import pytest
from tests.support.paths import ROOT

LONGEST_S = 300


# The real site starts, is killed, starts again and is frozen; two servers behind nginx are restarted; all under load.
@pytest.mark.slow
def test_acknowledged_saves_survive_a_killed_a_frozen_and_a_restarted_site() -> None:
    program = [sys.executable, str(ROOT / "benchmarks" / "web" / "chaos.py"), "--short"]
    run = subprocess.run(program, capture_output=True, text=True, check=False, cwd=ROOT, timeout=LONGEST_S)
    assert run.returncode == 0, run.stderr
    rows = json.loads(run.stdout)
    assert [row["disturbance"] for row in rows] == [
        "kill -9 of all processes",
        "SIGSTOP of one worker, 0.5–6 s",
        "servers restarted in turn",
    ]
    assert all(row["n"] > 0 and row["saves"] > 0 for row in rows)
    faults = {name: [row[name] for row in rows] for name in ("lost", "wrong", "doubled", "unknown", "unanswered")}
    assert faults == {name: [0] * len(rows) for name in faults}
