"""`dissensus serve` as a process, on both databases."""

import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, text
from tests.databases import sqlite_only
from tests.support.commands import RunCommand, command_runner
from tests.support.served_site import KEY, PATIENCE_S, list_processes, read_log, served

from dissensus.store.core.database import parse_url


def test_it_responds_logs_no_names_and_stops(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, database_url=database_url, secret_key=KEY) as site:
        assert site.get("/healthz").text == "ok\n"
        assert site.get("/readyz").status_code == 200
        assert site.get("/c/secret-campaign?key=secret-key").status_code == 403
        assert site.get("/static/x/staff.css").status_code == 200
        assert site.get("/secret-address").status_code == 404
        assert site.stop() == 0
        lines = read_log(site)
    assert {(line["method"], line["route"], line["status"]) for line in lines} == {
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/c/{name}", 403),
        ("GET", "/static/{digest}/{name}", 200),
        ("GET", "none", 404),
    }
    assert all(set(line) == {"at", "method", "route", "status", "ms"} for line in lines)
    assert "secret" not in str(lines)
    assert "127.0.0.1" not in str(lines)


@pytest.mark.slow
@sqlite_only
def test_two_workers_share_metrics_and_stop_together(tmp_path: Path, database_url: str) -> None:
    with served(tmp_path, "--workers", "2", database_url=database_url, secret_key=KEY) as site:
        for _ in range(20):
            assert site.get("/readyz").status_code == 200
        metrics = site.get("/metrics").text
        ready = [line for line in metrics.splitlines() if 'total{method="GET",route="/readyz"' in line]
        assert ready == ['dissensus_requests_total{method="GET",route="/readyz",status="200"} 20.0']
        assert "dissensus_database_up 1.0" in metrics
        workers = [pid for pid, parent in list_processes().items() if parent == site.process.pid]
        assert len(workers) >= 2
        assert site.stop() == 0
        with pytest.raises(httpx.TransportError):
            site.get("/healthz")
    end = time.monotonic() + PATIENCE_S
    while list_processes().keys() & set(workers):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_a_request_in_progress_is_completed_before_it_stops(tmp_path: Path) -> None:
    with served(tmp_path) as site:
        url = httpx.URL(site.url)
        with socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S) as connection:
            head = f"POST /sign-in/x HTTP/1.1\r\nHost: {url.host}\r\nConnection: close\r\n"
            kind = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 12\r\n"
            connection.sendall((head + kind + "Expect: 100-continue\r\n\r\nform_").encode())
            assert _read_head(connection) == b"HTTP/1.1 100 Continue\r\n\r\n"
            site.process.send_signal(signal.SIGTERM)
            _wait_until_nobody_is_let_in(url)
            connection.sendall(b"token=x")
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert answer.startswith(b"HTTP/1.1 403")
        assert site.process.wait(PATIENCE_S) == 0


def _read_head(connection: socket.socket) -> bytes:
    """Read to the blank line that ends a head, or to the end."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and (byte := connection.recv(1)):
        head += byte
    return head


def _wait_until_nobody_is_let_in(url: httpx.URL) -> None:
    end = time.monotonic() + PATIENCE_S
    with suppress(OSError):
        while True:
            assert time.monotonic() < end
            socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S).close()
            time.sleep(0.05)


@pytest.mark.slow
def test_ctrl_c_stops_it_without_an_error(tmp_path: Path) -> None:
    with served(tmp_path) as site:
        assert site.stop(signal.SIGINT) == 0
        assert site.process.stderr is not None
        assert [line for line in site.process.stderr if not line.startswith("Warning: SQLite")] == ["Stopped.\n"]


@pytest.mark.slow
def test_a_blank_sqlite_file_gets_its_tables_and_its_key(tmp_path: Path) -> None:
    with served(tmp_path, database_url="sqlite:///new.db") as site:
        assert site.get("/readyz").status_code == 200
        site.stop()
    first = (tmp_path / "new.db.key").read_text()
    with served(tmp_path, database_url="sqlite:///new.db") as site:
        assert site.get("/readyz").status_code == 200
    assert (tmp_path / "new.db.key").read_text() == first


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> RunCommand:
    """Run commands that fail before the server listens."""
    return command_runner(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize("blank_url", ["postgresql"], indirect=True)
def test_a_blank_postgresql_database_is_refused_with_the_remedy(run: RunCommand, blank_url: str) -> None:
    done = run("serve", database_url=blank_url, secret_key=KEY)
    assert (done.returncode, done.stdout) == (1, "")
    assert "The database is blank. Run: dissensus db upgrade" in done.stderr


def test_a_database_of_another_version_is_refused(run: RunCommand, database_url: str) -> None:
    engine = create_engine(parse_url(database_url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    done = run("serve", database_url=database_url, secret_key=KEY)
    assert done.returncode == 1
    assert "9999, which a later version made. Upgrade Dissensus" in done.stderr


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_with_postgresql_a_key_must_be_set(run: RunCommand, database_url: str) -> None:
    done = run("serve", database_url=database_url)
    assert done.returncode == 1
    assert "secret_key is required with PostgreSQL and not set" in done.stderr


def test_an_address_in_use(run: RunCommand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        done = run("serve", "--port", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Cannot listen on 127.0.0.1, port {port}: Address already in use" in done.stderr
    assert "Name or service not known" in run("serve", "--host", "nowhere.invalid").stderr


def test_invalid_settings(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("prot = 1")
    done = run("serve", "--settings", "bad.toml")
    assert done.returncode == 1
    assert "prot in bad.toml is not a setting. Did you mean 'port'?" in done.stderr
    assert run("serve", "--workers", "0").returncode == 2
