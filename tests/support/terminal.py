"""Commands on a pseudo-terminal of a given width."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.support.commands import SCRIPT, CompletedCommand

STYLE = re.compile(r"\x1b\[[0-9;]*m")


def read_terminal(descriptor: int) -> Iterator[bytes]:
    """Read what a process writes while it runs, as a terminal holds four kilobytes."""
    # The end of a terminal is an error.
    with suppress(OSError):
        while piece := os.read(descriptor, 65_536):
            yield piece


def run_on_terminal(*words: str | Path, columns: int, folder: Path) -> CompletedCommand:
    """Run the console script with its output on a terminal, and return that without colours and line ends of rows."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [str(SCRIPT), *map(str, words)]
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.PIPE, text=True, cwd=folder, env={**inherited, "TERM": "xterm"}
    ) as process:
        os.close(theirs)
        output = b"".join(read_terminal(ours)).decode().replace("\r\n", "\n")
        _, errors = process.communicate(timeout=60)
    os.close(ours)
    return subprocess.CompletedProcess(command, process.returncode, STYLE.sub("", output), errors)
