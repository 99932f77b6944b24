"""nginx in front of the site, with the shipped configuration."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.prerequisites import report_missing

UPSTREAM = "    server 127.0.0.1:8000 max_fails=0;\n"


def configure(ports: Sequence[int], changes: Mapping[str, str]) -> str:
    """Return the shipped configuration with the sites on these ports, IPv4 alone, and these changes of its text."""
    text = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    sites = "".join(UPSTREAM.replace("8000", str(port)) for port in ports)
    without_ipv6 = re.sub(r"    listen \[::\].*\n", "", text)
    for old, new in {UPSTREAM: sites, **changes}.items():
        assert old in without_ipv6
        without_ipv6 = without_ipv6.replace(old, new)
    return without_ipv6


def configure_plain(ports: Sequence[int], port: int, redirect: int) -> str:
    """Return the shipped configuration without TLS, on one port; its redirection to HTTPS on another."""
    changes = {"listen 80;": f"listen 127.0.0.1:{redirect};", "listen 443 ssl http2;": f"listen 127.0.0.1:{port};"}
    return re.sub(r"    ssl_.*\n", "", configure(ports, changes))


def find_nginx() -> str:
    """Return the program; without it the test fails in continuous integration, and is skipped elsewhere."""
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    return program or report_missing("NGINX NOT TESTED: it is not installed")


@contextmanager
def running_nginx(configuration: str, folder: Path, port: int) -> Iterator[None]:
    """Run nginx until the end of the block; its port accepts connections."""
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi"))
    temporary += f"uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;"
    path = folder / "nginx.conf"
    path.write_text(
        f"pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}\n{configuration}}}\n"
    )
    command = [find_nginx(), "-p", str(folder), "-c", str(path), "-g", "daemon off; master_process off;"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("nginx does not listen")
