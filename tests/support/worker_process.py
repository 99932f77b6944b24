"""`dissensus work` as a real process."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.commands import SCRIPT


@contextmanager
def work_process(folder: Path, database_url: str) -> Iterator[subprocess.Popen[str]]:
    """A process for the background jobs of the site."""
    environment = {**os.environ, "DISSENSUS_DATABASE_URL": database_url, "DISSENSUS_SECRET_KEY": "k" * 32}
    process = subprocess.Popen([SCRIPT, "work"], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        assert process.stderr.readline().startswith("Working.")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
