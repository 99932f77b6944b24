"""Process that draws the figures of a page: ``python -m dissensus.report.graphics.drawing_process``.

The renderer holds the interpreter's lock while it draws, so a thread would draw instead of other work, not beside it.
The process reads a figure a line from standard input, as JSON, and writes its drawing; it ends with its input.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from dissensus.extras import is_installed
from dissensus.report.graphics.render import load_renderer, render_inline
from dissensus.report.graphics.vega_lite import Spec

_COMMAND: Final = (sys.executable, "-P", "-m", "dissensus.report.graphics.drawing_process")


class DrawingProcess:
    """Process that draws figures beside other work, one after the other."""

    def __init__(self) -> None:
        # In a session of its own it gets no interrupt from a terminal; it ends with its input.
        self._process = subprocess.Popen(  # noqa: S603 - a constant command
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            start_new_session=True,
        )
        self._thread = ThreadPoolExecutor(1)

    def submit(self, chart: Spec, name: str, label: str) -> Future[str | None]:
        """Begin to draw a figure as `render_inline` does; the result is None if the process fails."""
        return self._thread.submit(self._draw, json.dumps((chart, name, label)))

    def _draw(self, figure: str) -> str | None:
        assert self._process.stdin is not None  # noqa: S101 - a pipe
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        try:
            self._process.stdin.write(f"{figure}\n")
            self._process.stdin.flush()
        except OSError:
            return None
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith("\n") else None

    def close(self) -> None:
        """End the process, and cancel the figures that are not drawn."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._process.kill()
        self._thread.shutdown()
        self._process.communicate()


@contextmanager
def open_drawing_process() -> Iterator[DrawingProcess | None]:
    """Yield a process that draws figures for pages, which loads the renderer at once; None without the renderer."""
    if not is_installed("figures"):
        yield None
        return
    process = DrawingProcess()
    try:
        yield process
    finally:
        process.close()


def main() -> None:
    """Draw the figures of standard input until it ends."""
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    load_renderer()
    for line in sys.stdin:
        print(json.dumps(render_inline(*json.loads(line))), flush=True)  # noqa: T201 - read by the other process


if __name__ == "__main__":
    main()
