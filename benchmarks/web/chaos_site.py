"""The site as `dissensus serve` starts it, with its database, to be disturbed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from outbox_raters import CAMPAIGN, VALUES, Ledger
from tests.databases import Server, own_server
from tests.support.nginx import configure_plain, running_nginx
from tests.support.ports import find_port
from tests.support.served_site import list_processes
from typer.testing import CliRunner, Result

from dissensus.cli.app import app
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.core import schema
from dissensus.store.core.database import connect
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform import sign_in_links
from dissensus.workflows.platform.platform import Platform

SECRET = "a secret of no consequence, for disturbances alone"
OWNER, N_ITEMS = "owner", 350
PATIENCE_S, READINESS_S = 240, 20
"""Times for a start and for one answer about readiness, also on a busy machine."""
SMALL_DISK = "24m"
LIBFAKETIME = "LIBFAKETIME"
"""Environment variable with the path of libfaketime, if Debian's package is not installed."""
DEFINITION = {
    "name": CAMPAIGN,
    "languages": ["en"],
    "title": "Disturbances",
    "warning": "None.",
    "consent": {"text": "None.", "purposes": [{"name": "rating", "text": "All.", "required": True}]},
    "questionnaire": {
        "name": "two",
        "languages": ["en"],
        "title": "Two questions",
        "questions": [
            {"name": "Q_safe", "text": "Is it safe?", "scale": list(VALUES)},
            {"name": "note", "text": "Why?", "kind": "text"},
        ],
    },
}


@dataclass
class DisturbedSite:
    """The running site, its database, and its campaign."""

    folder: Path
    url: str
    environment: Mapping[str, str]
    port: int
    server: Server | None = None  # Of PostgreSQL
    disk: Path | None = None  # File system of the database, if it is small
    clock: Path | None = None  # File with the offset of the clock, if there is one
    entrance: int | None = None  # Port of a proxy before this server and its neighbours
    neighbours: "tuple[DisturbedSite, ...]" = ()  # Further servers on the same database
    key: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def base_url(self) -> str:
        """Address of the site."""
        return f"http://127.0.0.1:{self.entrance or self.port}"

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dissensus", "serve"],
                env={**os.environ, **self.environment},
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE_S
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"The site did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        with suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=READINESS_S).close()
            return True
        return False

    def processes(self) -> list[int]:
        """Return its processes, the first one first."""
        if self.process is None:
            return []
        parents, family = list_processes(), [self.process.pid]
        for parent in family:
            family.extend(child for child, by in parents.items() if by == parent)
        return family

    def workers(self) -> list[int]:
        """Return its worker processes."""
        return [pid for pid in self.processes() if "spawn_main" in _command(pid)]

    def kill(self) -> None:
        """Kill all its processes, as a container runtime does."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        while _has_members(self.process.pid):
            time.sleep(0.01)
        self.process = None

    def stop(self) -> int:
        """Stop it as an operator does; return the exit status."""
        if self.process is None:
            return 0
        self.process.terminate()
        status = self.process.wait(PATIENCE_S)
        self.process = None
        return status

    def memory_mib(self) -> float:
        """Return the resident memory of all its processes, and of those of its neighbours."""
        own = sum(read_resident_kib(pid) for pid in self.processes()) / 1024
        return own + sum(neighbour.memory_mib() for neighbour in self.neighbours)

    def n_files(self) -> int:
        """Return the number of open files and connections of all its processes."""
        return sum(map(count_files, self.processes()))

    def export(self) -> list[dict[str, Any]]:
        """Return the rows of `dissensus export`."""
        path = self.folder / "export.jsonl"
        run = self._command("export", CAMPAIGN, "-o", str(path), "--with-text", "--force")
        if run.exit_code:
            raise SystemExit(f"The export failed: {run.output} {run.exception}")
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def audit(self) -> int:
        """Return the exit status of `dissensus audit`."""
        run = self._command("audit", CAMPAIGN)
        if run.exit_code:
            print(run.output, run.exception, file=sys.stderr)
        return run.exit_code

    def check(self, ledger: Ledger) -> dict[str, int]:
        """Compare the export with the acknowledged saves, and verify the audit log."""
        for refusal in ledger.refusals:
            print(refusal, file=sys.stderr)
        others = {"unanswered": len(ledger.unanswered), "refused": len(ledger.refusals), "audit": self.audit()}
        return ledger.compare(self.export()) | others

    def _command(self, *words: str) -> Result:
        """Run another command of the program on the same database, here: its imports take longer than its work."""
        environment = {name: value for name, value in self.environment.items() if name.startswith("DISSENSUS_")}
        return CliRunner().invoke(app, list(words), env=environment)


def count_files(pid: int) -> int:
    """Return the number of open files and connections of a process."""
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return 0


def _has_members(group: int) -> bool:
    """Return whether a process of a group lives; those that nobody reaped do not."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if state != "Z" and int(its_group) == group:
                return True
    return False


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


def read_resident_kib(pid: int) -> int:
    """Return the resident memory of a process in KiB, 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
    return 0


@contextmanager
def running_site(
    backend: str, workers: int, *, small_disk: bool = False, clock: bool = False
) -> Iterator[DisturbedSite]:
    """Start the site on a new database with an open campaign."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dissensus-chaos-")))
        disk = stack.enter_context(_small_disk(folder / "disk")) if small_disk else None
        server = stack.enter_context(own_server(fsync=True)) if backend == "postgresql" else None
        url = f"sqlite:///{disk or folder}/chaos.db" if server is None else server.url.render_as_string()
        settings = {
            "DATABASE_URL": url,
            "SECRET_KEY": SECRET,
            "WORKERS": str(workers),
            "PORT": str(port := find_port()),
        }
        environment = {f"DISSENSUS_{name}": value for name, value in settings.items()}
        site = DisturbedSite(folder, url, environment, port, server, disk)
        if clock:
            site.clock = folder / "clock"
            site.clock.write_text("+0")
            site.environment = {**environment, **_clock_environment(site.clock)}
        site.key = _open_campaign(url)
        stack.callback(site.kill)
        site.start()
        yield site


@contextmanager
def running_servers(backend: str, workers: int) -> Iterator[DisturbedSite]:
    """Start two servers on one database, behind nginx."""
    with running_site(backend, workers) as site, ExitStack() as stack:
        port, entrance = find_port(), find_port()
        neighbour = replace(
            site, port=port, environment={**site.environment, "DISSENSUS_PORT": str(port)}, process=None
        )
        stack.callback(neighbour.kill)
        neighbour.start()
        configuration = configure_plain([site.port, port], entrance, find_port())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dissensus-nginx-")))
        stack.enter_context(running_nginx(configuration, folder, entrance))
        site.entrance, site.neighbours = entrance, (neighbour,)
        yield site


def find_libfaketime() -> str | None:
    """Return the path of libfaketime."""
    installed = (str(path) for path in Path("/usr/lib").glob("**/faketime/libfaketime.so.1"))
    return os.environ.get(LIBFAKETIME) or next(installed, None)


def _clock_environment(clock: Path) -> dict[str, str]:
    options = {
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    return {"LD_PRELOAD": find_libfaketime() or "", **options}


@contextmanager
def _small_disk(path: Path) -> Iterator[Path]:
    """Mount a small file system, where that is allowed; else yield a folder, whose files are limited instead."""
    path.mkdir()
    mounted = _mount(path)
    try:
        yield path
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(path)], check=True)


def can_mount() -> bool:
    """Return whether a file system can be mounted."""
    with tempfile.TemporaryDirectory() as folder, _small_disk(Path(folder) / "disk") as disk:
        return os.path.ismount(disk)


def _mount(path: Path) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(path)]
    return os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


def _open_campaign(url: str) -> str:
    database, now = connect(url, pool_size=1), datetime.now(UTC)
    schema.upgrade(database)
    platform = Platform(database)
    staff_id = sign_in_links.create_sign_in_link(platform, OWNER, now=now).staff.id
    items = [
        Item(f"{i}", Conversation.from_turns([("human", f"Q {i}"), ("bot", f"A {i}")]), {}) for i in range(N_ITEMS)
    ]
    campaigns.create_campaign(platform, parse_campaign(DEFINITION), items, staff_id=staff_id, now=now)
    key = str(campaigns.change_state(platform, CAMPAIGN, "open", staff_id=staff_id, now=now).key)
    database.dispose()
    return key


def sign_in_path(site: DisturbedSite) -> str:
    """Return the path of a sign-in link of the owner."""
    database = connect(site.url, pool_size=1)
    link = sign_in_links.create_sign_in_link(Platform(database), OWNER, now=datetime.now(UTC))
    database.dispose()
    return f"/sign-in/{link.key}"
