"""Disturbances of the real site: the short form of `make chaos`."""

import json
import signal
import subprocess
import sys

import pytest
from tests.support.paths import ROOT

LONGEST_S, CLEANUP_S = 450, 90
"""Limits for a busy machine, together below the timeout of a test."""


def run_short_form() -> tuple[int, str, str]:
    """Return the exit status, the output and the progress."""
    program = [sys.executable, str(ROOT / "benchmarks" / "web" / "chaos.py"), "--short"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            output, progress = process.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            # Killed, it would leave the servers that it started.
            process.send_signal(signal.SIGINT)
            _, progress = process.communicate(timeout=CLEANUP_S)
            pytest.fail(f"It was not done after {LONGEST_S} seconds: {progress}")
        finally:
            process.kill()
    return process.returncode, output, progress


# The real site starts, is killed, starts again and is frozen; two servers behind nginx are restarted; all under load.
@pytest.mark.slow
def test_acknowledged_saves_survive_a_killed_a_frozen_and_a_restarted_site() -> None:
    status, output, progress = run_short_form()
    assert status == 0, progress
    rows = json.loads(output)
    assert [row["disturbance"] for row in rows] == [
        "kill -9 of all processes",
        "SIGSTOP of one worker, 0.5–6 s",
        "servers restarted in turn",
    ]
    assert all(row["n"] > 0 and row["saves"] > 0 for row in rows)
    faults = {name: [row[name] for row in rows] for name in ("lost", "wrong", "doubled", "unknown", "unanswered")}
    assert faults == {name: [0] * len(rows) for name in faults}
