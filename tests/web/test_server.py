"""Sockets and worker processes of the server."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.support.served_site import PATIENCE_S, list_workers

from dissensus.errors import Unavailable
from dissensus.web import server


def test_responses_are_not_delayed_by_nagle() -> None:
    with server._open_socket("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_a_port_in_use_is_reported() -> None:
    with server._open_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port}"):
            server._open_socket("127.0.0.1", port)


SUPERVISOR = """
import uvicorn
from dissensus.web.server import WorkerSupervisor

config = uvicorn.Config(
    "starlette.applications:Starlette", factory=True, workers=2, log_level="critical", timeout_worker_healthcheck=3600
)
WorkerSupervisor(config, [config.bind_socket()]).run()
"""


@contextmanager
def supervised_workers() -> Iterator[int]:
    """Run a supervisor of two workers that waits an hour for their answers; yield its process."""
    with subprocess.Popen([sys.executable, "-c", SUPERVISOR], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_workers(supervisor: int, *, without: Collection[int] = ()) -> list[int]:
    end = time.monotonic() + PATIENCE_S
    while len(workers := list_workers(supervisor)) < 2 or set(workers) & set(without):
        assert time.monotonic() < end, f"{workers} are left"
        time.sleep(0.05)
    return workers


# Three starts of a process, and a pause.
@pytest.mark.slow
def test_a_frozen_worker_that_is_killed_is_replaced_at_once() -> None:
    with supervised_workers() as supervisor:
        frozen = wait_for_workers(supervisor)[0]
        # Until the supervisor waits for its answer.
        os.kill(frozen, signal.SIGSTOP)
        time.sleep(2)
        os.kill(frozen, signal.SIGKILL)
        wait_for_workers(supervisor, without=[frozen])
