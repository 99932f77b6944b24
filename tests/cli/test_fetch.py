"""`dissensus fetch` from a server on loopback."""

import gzip
import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.commands import SCRIPT, CompletedCommand, RunCommand
from tests.support.file_server import Loopback, serving
from tests.support.terminal import read_terminal

GZ = "red_team_attempts.jsonl.gz"
BODIES = {
    GZ: gzip.compress(random.Random(1).randbytes(400_000), mtime=0),
}
PATIENCE_S = 60
WARNING = "Content warning: The conversations are adversarial. They may offend or distress."


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serving(dict(BODIES)) as server:
        yield server


@pytest.fixture
def fetch(run: RunCommand, server: Loopback) -> RunCommand:
    """Run `dissensus fetch` with the server as mirror."""

    def fetch(behaviour: str, *words: str | Path) -> CompletedCommand:
        return run("fetch", *words, "--mirror", server.address(behaviour))

    return fetch


def test_a_data_set_is_fetched_into_its_folder(fetch: RunCommand, tmp_path: Path) -> None:
    done = fetch("whole", "red-team")
    assert (done.returncode, done.stdout) == (0, f"data/red-team/{GZ}\n")
    assert done.stderr.splitlines() == [
        "Red-team attempts: 38,961 dialogues in which people tried to make a model do harm "
        "(Ganguli et al. 2022, arXiv 2209.07858)",
        "Licence: MIT, Anthropic",
        "From: https://github.com/anthropics/hh-rlhf/raw/c72f5cee8eb7b4d2ea5617657f4430d5e333af07/red-team-attempts/, "
        "by way of a mirror",
        "Content warning: The dialogues are attacks, with abuse, crime and self-harm. They may offend or distress.",
        f"{GZ}: downloaded, {len(BODIES[GZ]):,} bytes, SHA-256 was not known; recorded in fetched.json, to compare "
        "with from now on.",
    ]
    assert (tmp_path / "data" / "red-team" / GZ).read_bytes() == BODIES[GZ]
    again = fetch("missing", "red-team")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert again.stderr.endswith(
        f"{GZ}: already there, {len(BODIES[GZ]):,} bytes, SHA-256 is the one recorded in fetched.json.\n"
    )


def test_a_catalogued_file_is_fetched_into_the_given_folder(
    fetch: RunCommand, server: Loopback, real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    path = "harmless-base/test.jsonl.gz"
    server.bodies[path] = real_data("hh-rlhf/harmless-base-test.jsonl.gz").read_bytes()
    done = fetch("whole", "hh-rlhf", "--only", "harmless-base/te*", "-o", "here")
    assert (done.returncode, done.stdout) == (0, f"here/{path}\n")
    assert done.stderr.endswith(f"{path}: downloaded, 742,801 bytes, SHA-256 is the known one.\n")
    assert list(json.loads((tmp_path / "here" / "fetched.json").read_text())) == [path]


def test_licence_and_warning_precede_errors(fetch: RunCommand) -> None:
    done = fetch("missing", "dices-350")
    assert (done.returncode, done.stdout) == (1, "")
    *introduction, error = done.stderr.splitlines()
    assert "Licence: CC BY 4.0, Google LLC" in introduction
    assert WARNING in introduction
    assert error.startswith("Error: There is no file http://127.0.0.1:")


@pytest.mark.parametrize(
    ("behaviour", "says"), [("page", "is not the data: the response begins with"), ("corrupted", "SHA-256")]
)
def test_wrong_content_is_an_error(
    fetch: RunCommand, server: Loopback, behaviour: str, says: str, real_data: Callable[[str], Path]
) -> None:
    server.bodies["harmless-base/test.jsonl.gz"] = real_data("hh-rlhf/harmless-base-test.jsonl.gz").read_bytes()
    done = fetch(behaviour, "hh-rlhf", "--only", "harmless-base/test*")
    assert (done.returncode, done.stdout) == (1, "")
    error = done.stderr.splitlines()[-1]
    assert error.startswith("Error: http://127.0.0.1:")
    assert says in error
    assert "Traceback" not in done.stderr


def test_force_replaces_wrong_files(fetch: RunCommand, tmp_path: Path) -> None:
    (tmp_path / GZ).write_text("mine")
    done = fetch("whole", "red-team", "--to", ".")
    assert done.returncode == 1
    assert "Move it away, or replace it with --force." in done.stderr
    assert (tmp_path / GZ).read_text() == "mine"
    assert fetch("whole", "red-team", "--to", ".", "--force").returncode == 0
    assert (tmp_path / GZ).read_bytes() == BODIES[GZ]


def test_unknown_names(run: RunCommand) -> None:
    done = run("fetch", "dices")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: There is no data set 'dices'; there are 'dices-350', 'dices-990', 'hh-rlhf'")
    assert run("fetch").returncode == 2


def test_help_names_every_data_set_and_loads_no_http() -> None:
    from dissensus.files.catalogue import datasets

    code = (
        "import sys\nsys.argv = ['dissensus', 'fetch', '--help']\nfrom dissensus.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print('httpx' in sys.modules, end.code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Example: dissensus fetch dices-350" in done.stdout
    assert all(name in done.stdout for name in datasets())
    assert done.stdout.endswith("False 0\n")


def test_an_interrupted_fetch_is_resumed(fetch: RunCommand, server: Loopback, tmp_path: Path) -> None:
    part = tmp_path / "data" / "red-team" / f"{GZ}.part"
    words = [str(SCRIPT), "fetch", "red-team", "--mirror", server.address("stalling")]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not (part.exists() and part.stat().st_size):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0
    assert "Traceback" not in stderr
    size = part.stat().st_size
    assert fetch("ranges", "red-team").returncode == 0
    assert server.requests[-1].headers["range"] == f"bytes={size}-"
    assert part.with_suffix("").read_bytes() == BODIES[GZ]
    assert not part.exists()


def test_after_a_full_disk_the_fetch_is_resumed(fetch: RunCommand, server: Loopback, tmp_path: Path) -> None:
    command = f'ulimit -f 200 && "$0" fetch red-team --to . --mirror {server.address("ranges")}'
    done = subprocess.run(["bash", "-c", command, SCRIPT], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot be read or written: File too large. Make room there" in done.stderr
    assert "Traceback" not in done.stderr
    assert fetch("ranges", "red-team", "--to", ".").returncode == 0
    assert "range" in server.requests[-1].headers


@pytest.mark.slow
def test_the_progress_bar_is_only_for_terminals(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pty.openpty()
    words = [str(SCRIPT), "fetch", "red-team", "--mirror", server.address("drip")]
    monkeypatch.setenv("TERM", "xterm")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path) as process:
        os.close(theirs)
        output = b"".join(read_terminal(ours)).decode()
        stdout, _ = process.communicate(timeout=PATIENCE_S)
    os.close(ours)
    assert (process.returncode, stdout) == (0, f"data/red-team/{GZ}\n".encode())
    assert "Fetching" in output
    assert "%" in output
