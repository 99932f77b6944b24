"""`dissensus serve` as a separate process."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.support.commands import SCRIPT

KEY = "for-tests-alone-and-nobody-else-0123456789"
PATIENCE_S = 60


@dataclass
class Served:
    """A site in a separate process."""

    process: subprocess.Popen[str]
    url: str
    http: httpx.Client
    printed: list[str]
    gathering: threading.Thread

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to end, and return the exit status."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE_S)


@contextmanager
def served(folder: Path, *words: str, source: Path | None = None, **settings: str) -> Iterator[Served]:
    """Start the site from this source or another folder, and wait until it answers."""
    environment = {**os.environ, **{f"DISSENSUS_{name.upper()}": value for name, value in settings.items()}}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    process = subprocess.Popen(
        [SCRIPT, "serve", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    assert process.stderr is not None
    printed: list[str] = []
    gathering = threading.Thread(target=_gather, args=(process, printed))
    gathering.start()
    with process:
        try:
            first = process.stderr.readline()
            match = re.search(r"at (http://[^ ]+?)\. ", first)
            assert match, first + process.stderr.read()
            # A connection for each request, so that any worker may take it.
            with httpx.Client(base_url=match[1], headers={"connection": "close"}, timeout=PATIENCE_S) as http:
                site = Served(process, match[1], http, printed, gathering)
                _wait_for(site)
                yield site
        finally:
            # Kill the workers too: a pipe that one still has open cannot be read to its end.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            gathering.join()


def _gather(process: subprocess.Popen[str], printed: list[str]) -> None:
    assert process.stdout is not None
    printed.extend(process.stdout)


def _wait_for(site: Served) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            site.get("/healthz")
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.1)
        else:
            return


def read_log(site: Served) -> list[dict[str, object]]:
    """Lines of the access log of a stopped site."""
    site.gathering.join(PATIENCE_S)
    return [json.loads(line) for line in site.printed]


def list_processes() -> dict[int, int]:
    """The parent of each live process."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent, *_ = path.read_text().rpartition(")")[2].split()
            if state != "Z":
                parents[int(path.parent.name)] = int(parent)
    return parents


def list_workers(supervisor: int) -> list[int]:
    """The worker processes of a site, without the resource tracker."""
    return [one for one, parent in list_processes().items() if parent == supervisor and "spawn_main" in _command(one)]


def _command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    return ""
