"""`dissensus demo`."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from subprocess import Popen
from threading import Thread

import httpx
import polars as pl
import pytest
from tests.support.commands import SCRIPT, RunCommand
from tests.support.ports import find_port

from dissensus.cli.demo import stages
from dissensus.cli.demo.activity import Activity, write_regularly
from dissensus.demo.visitor import REFUSALS
from dissensus.files.attempts.tables import read_attempts
from dissensus.files.pairs.reader import read_pairs
from dissensus.files.releases.verification import validate_release

SMALL = ("--items", "4", "--raters", "3")


@pytest.fixture
def port() -> str:
    return str(find_port())


@pytest.mark.slow
def test_every_stage_writes_what_it_says_and_the_site_runs_until_interrupted(
    run: RunCommand, tmp_path: Path, port: str
) -> None:
    folder = tmp_path / "dissensus-demo"
    folder.mkdir()
    (folder / "dissensus-demo.db").write_text("of an earlier demo")
    output = run_until_interrupted(tmp_path, port)
    check_announced_steps(output)
    check_ratings(output, folder)
    check_releases(output, folder)
    check_conversations(output, folder / "conversations")
    assert "12 usable raters of each gender need 17 seats" in output
    assert json.loads((folder / "plan.json").read_text())["campaign"]["quota"]["seats"] == 12
    audit_result = json.loads(run("audit", "demo", "--json", database_url=database_url(folder)).stdout)
    assert audit_result["holds"] is True
    assert audit_result["erased"] > 0
    is_promoted = check_versions(output)
    # Without a current version, nothing ranks the responses of an online conversation, and its pair is a base one.
    online = {"online" if any(is_promoted[:n_trained]) else "base" for n_trained in (2, 3)}
    for name, tranches in (("base", {"base"}), ("rejection-sampled", {"rejection-sampled"}), ("online", online)):
        exported = run("export", f"demo-{name}", "-o", tmp_path / name, database_url=database_url(folder))
        assert exported.returncode == 0, exported.stderr
        check_tranches(tmp_path / name, name, tranches)


def run_until_interrupted(folder: Path, port: str) -> str:
    """Run the demo, sign in to its site, interrupt it, and return its output."""
    words: list[str | Path] = [SCRIPT, "demo", "--port", port]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        output = ""
        while "Ctrl-C ends." not in output and (line := demo.stdout.readline()):
            output += line
        *_, sign_in = re.findall(r"http://\S+", output)
        with httpx.Client(follow_redirects=True) as owner:
            assert owner.get(sign_in).status_code == 200
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0
    with pytest.raises(httpx.TransportError):
        httpx.get(sign_in)
    return output


def check_announced_steps(output: str) -> None:
    """Check that each step that takes seconds has a line before its work."""
    steps = (
        *("Drawing the answers", "Planning the number", "Starting the site", "Rating.", "Labelling.", "Waiting for"),
        *(
            "Exporting.",
            "Analysing.",
            "Drawing the figures",
            "Talking.",
            "Picks 1 of 4 (base).",
            "Picks 1 of 4 (base): ",
        ),
        *("Picks 4 of 4 (online).", "Judging and writing the release of demo.", "Verifying the log of demo."),
    )
    positions = [output.find(f"\n   {step}") for step in steps]
    assert -1 not in positions
    assert positions == sorted(positions)


def database_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'dissensus-demo.db'}"


def check_ratings(output: str, folder: Path) -> None:
    assert "24 simulated raters judge 24 simulated conversations over HTTP" in output
    assert "One of them withdraws: 24 ratings are erased." in output
    assert "6 experts label them independently" in output
    assert re.search(r"Raters who are flagged: [1-9]\. The owner excludes [1-9]", output)
    assert re.search(r"The audit log is intact: [\d,]+ events in one chain, \d+ of them erased since\.", output)
    ratings = pl.read_csv(folder / "ratings.csv", infer_schema_length=None)
    assert ratings.height == 23 * 24
    assert ratings["rater_id"].n_unique() == 23
    assert ratings["answer_time_ms"].min() > 0  # type: ignore[operator]
    assert set(ratings["safety_gold"]) == {"No", "Yes"}
    assert ratings["safety_gold_reason"].null_count() == 0
    assert set(ratings["rater_flagged"]) == {True, False}
    assert "24 items" in (folder / "report.html").read_text("utf-8")
    assert "internal" in (folder / "ratings.csv.README.txt").read_text("utf-8")


def check_releases(output: str, folder: Path) -> None:
    assert "The first plan of demo is refused: anonymity, membership, texts, datasheet." in output
    assert "The first plan of demo-red-team is refused: with_text." in output
    assert re.search(r"demo-1.0 has \d+ ratings of \d+ raters", output)
    assert re.search(r"demo-red-team-1.0 has 24 ratings of 6 raters, \d+ pairs and 8 attempts", output)
    assert all(validate_release(folder / name).ok for name in ("demo-1.0", "demo-red-team-1.0"))


def check_conversations(output: str, folder: Path) -> None:
    assert re.search(r"conversations has \d+ pairs and 8 red-team attempts", output)
    assert len(read_attempts(folder / "red_team_attempts.jsonl.gz").attempts) == 8
    paths = list((folder / "pairs").rglob("*.jsonl.gz"))
    assert {"helpful" in str(path) for path in paths} == {True, False}
    for path in paths:
        for pair in read_pairs(path).pairs:
            helpful = "helpful" in str(path)
            assert any(word in pair.chosen for word in REFUSALS) is not helpful


def check_versions(output: str) -> list[bool]:
    """Check the versions of the model, and return which of them were promoted."""
    share = r"(0\.\d\d) \[(0\.\d\d), (\d\.\d\d)\]"
    row = rf"^(base|rejection-sampled|online) +(\d) +(promoted|kept back) +{share} +{share}$"
    rows = re.findall(row, output, re.MULTILINE)
    assert [cells[:2] for cells in rows] == [
        ("base", "1"),
        ("rejection-sampled", "2"),
        ("online", "3"),
        ("online", "4"),
    ]
    *_, last = rows
    # The simulated people differ with every run, so only intervals are checked.
    assert float(last[4]) > 0.7
    assert float(last[7]) > 0.8
    return [action == "promoted" for _, _, action, *_ in rows]


def check_tranches(folder: Path, name: str, tranches: set[str]) -> None:
    """Check the pairs of an export, and the versions that ranked responses."""
    assert {path.parent.name for path in (folder / "pairs").rglob("*.jsonl.gz")} == {
        f"helpful-{tranche}" for tranche in tranches
    }
    preferences = [json.loads(line) for line in (folder / "preferences.jsonl").read_text().splitlines()]
    rankers = {version for one in preferences for version in one["ranked_by"]}
    allowed: dict[str, set[str | None]] = {
        "base": {None},
        "rejection-sampled": {"demo/1"},
        "online": {"demo/1", "demo/2", "demo/3"} | ({None} if "base" in tranches else set()),
    }
    assert rankers
    assert rankers <= allowed[name]


def test_an_impossible_folder(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("demo", "--once", "--dir", "file")
    assert done.returncode == 1
    assert "--dir file cannot be a folder" in done.stderr


def test_files_of_others_are_not_replaced(run: RunCommand, tmp_path: Path) -> None:
    for name in ("dissensus.db", "ratings.csv"):
        (tmp_path / name).write_text("mine")
    done = run("demo", "--once", "--dir", ".")
    assert done.returncode == 1
    assert "ratings.csv would be replaced, but no demo wrote it" in done.stderr
    for name in ("dissensus.db", "ratings.csv"):
        assert (tmp_path / name).read_text() == "mine"


@pytest.mark.slow
def test_a_port_in_use(run: RunCommand) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        done = run("demo", "--once", "--port", str(listener.getsockname()[1]), *SMALL)
    assert done.returncode == 1
    assert "The site did not start" in done.stderr


def test_a_long_step_is_written_again_and_again() -> None:
    lines: Queue[str] = Queue()
    activity = Activity("Drawing the figures")
    with write_regularly(lambda: lines.put(activity.describe()), interval_s=0.001):
        assert lines.get(timeout=60).startswith("Drawing the figures: ")
        activity.report(0.5)
        while "50%" not in (line := lines.get(timeout=60)):
            assert line.startswith("Drawing the figures: ")


def test_no_line_is_written_after_the_work() -> None:
    lines: Queue[str] = Queue()
    with write_regularly(lambda: lines.put(""), interval_s=0.001):
        lines.get(timeout=60)
    assert not [thread for thread in threading.enumerate() if thread.name == "demo-activity"]


def test_a_step_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[tuple[str, float | None]] = []
    activity = Activity("Loading", lambda label, share: shown.append((label, share)))
    activity.begin("Rating")
    activity.report(0.25)
    assert capsys.readouterr().out == "   Rating.\n"
    assert shown == [("Rating", None), ("Rating", 0.25)]
    assert activity.describe().startswith("Rating: 25%, ")


def test_a_site_that_is_not_ready_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stages, "N_POLLS", 8)
    statuses: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            statuses.append(503 if len(statuses) < 2 else 200)
            self.send_response(statuses[-1])
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server, Popen(["sleep", "60"]) as process:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            stages._wait_for_site(process, f"http://127.0.0.1:{server.server_port}", tmp_path / "log")
        finally:
            process.kill()
            server.shutdown()
    assert statuses == [503, 503, 200]
