"""Server: listen with one or several worker processes."""

import ctypes
import gc
import os
import signal
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess

from dissensus.encryption import SecretKeys
from dissensus.errors import Unavailable
from dissensus.settings import Settings
from dissensus.web.app import create_app
from dissensus.web.core import oidc
from dissensus.web.core.metrics import MULTIPROCESS_VARIABLE
from dissensus.web.middleware.connection_timeout import TimedHttpProtocol

SHUTDOWN_TIMEOUT_S: Final = 30
"""Time for requests in progress at shutdown."""

WORKER_TIMEOUT_S: Final = 60
"""Time for a worker to answer the supervisor; importing the site takes longer than the default on a busy machine."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
MALLOC_OPTIONS: Final = {M_ARENA_MAX: 2, M_TRIM_THRESHOLD: 128 * 1024, M_MMAP_THRESHOLD: 128 * 1024}
"""Options of glibc. By default each of many threads gets an arena, which keeps its largest size for ever."""

LOG_CONFIG: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "%(levelname)s: %(message)s"},
        "lines": {"()": "dissensus.web.middleware.access_log.JsonLogFormatter"},
    },
    "handlers": {
        "plain": {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"},
        "lines": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stdout"},
    },
    "loggers": {
        "uvicorn": {"handlers": ["plain"], "level": "WARNING", "propagate": False},
        "dissensus.errors": {"handlers": ["plain"], "level": "ERROR", "propagate": False},
        "dissensus.access": {"handlers": ["lines"], "level": "INFO", "propagate": False},
        "dissensus.jobs": {"handlers": ["plain"], "level": "WARNING", "propagate": False},
        "dissensus.chat": {"handlers": ["plain"], "level": "WARNING", "propagate": False},
        "dissensus.models": {"handlers": ["plain"], "level": "INFO", "propagate": False},
        "dissensus.events": {"handlers": ["lines"], "level": "INFO", "propagate": False},
    },
}


class WorkerSupervisor(Multiprocess):
    """Supervisor that notices at once when a worker ends, even while waiting for its health check."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that ended or do not answer in time."""
        for worker in self.processes:
            # The worker has its own copy of this end; with ours open, the pipe would outlive a killed worker.
            worker.child_conn.close()
        super().keep_subprocess_alive()


def serve(settings: Settings, keys: SecretKeys, *, ready: Callable[[int], None] = lambda _port: None) -> None:
    """Serve the site until interrupted or terminated; requests in progress are finished."""
    oidc.check_oidc_settings(settings)
    with (
        _open_socket(settings.host, settings.port) as listener,
        tempfile.TemporaryDirectory(prefix="dissensus-metrics-") as folder,
    ):
        ready(listener.getsockname()[1])
        if settings.workers > 1:
            # The workers read it when they start.
            os.environ[MULTIPROCESS_VARIABLE] = folder
            workers = WorkerSupervisor(_config(settings, keys), [listener])
            workers.run()
            started = all(worker.exitcode != STARTUP_FAILURE for worker in workers.processes)
        else:
            started = _run(uvicorn.Server(_config(settings, keys)), listener)
    if not started:
        raise Unavailable("The site could not start; the log above says why.")


def serve_app(app: FastAPI, host: str, port: int, *, ready: Callable[[int], None] = lambda _port: None) -> None:
    """Serve an application in this process until interrupted or terminated."""
    with _open_socket(host, port) as listener:
        ready(listener.getsockname()[1])
        # Proxy headers are ignored: nothing here depends on the client address.
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=TimedHttpProtocol,
            ws="none",
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
        )
        started = _run(uvicorn.Server(config), listener)
    if not started:
        raise Unavailable("The service could not start; the log above says why.")


def _run(server: uvicorn.Server, listener: socket.socket) -> bool:
    """Run until a signal arrives; return whether the server started."""
    # The server re-raises the signal after shutdown, which is not an error.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        server.run([listener])
    return server.started


def _config(settings: Settings, keys: SecretKeys) -> uvicorn.Config:
    return uvicorn.Config(
        partial(_create_worker_app, settings, keys),
        factory=True,
        workers=settings.workers,
        access_log=False,
        log_config=LOG_CONFIG,
        log_level="warning",
        server_header=False,
        forwarded_allow_ips=settings.proxy_networks,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_S,
        timeout_worker_healthcheck=WORKER_TIMEOUT_S,
        http=TimedHttpProtocol,
        ws="none",
    )


def _create_worker_app(settings: Settings, keys: SecretKeys) -> FastAPI:
    _set_malloc_options()
    app = create_app(settings, keys, jobs=settings.background_jobs)
    # Collections visit objects of requests alone; with all modules they would block requests for a fifth of a second.
    gc.collect()
    gc.freeze()
    return app


def _set_malloc_options() -> None:
    """Set the options of malloc, unless the environment does or the C library has none."""
    if not any(name.startswith("MALLOC_") for name in os.environ):
        with suppress(AttributeError, OSError):
            mallopt = ctypes.CDLL(None).mallopt
            for option, value in MALLOC_OPTIONS.items():
                mallopt(option, value)


def _open_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise Unavailable(
            f"Cannot listen on {host}, port {port}: {error.strerror}. "
            "Free the port, or choose another with --host and --port."
        ) from None
    # Inherited by every connection; otherwise delayed acknowledgements add 40 ms to each response.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.set_inheritable(True)
    return listener
