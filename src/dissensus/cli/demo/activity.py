"""Current activity of the demo: on a terminal a bar, elsewhere a line whenever some seconds have passed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final

import typer

INTERVAL_S: Final = 4.0
"""Longest time without a line."""


class Activity:
    """Step of a long command, with the share of it that is done, if it is known."""

    def __init__(self, label: str, shown: Callable[[str, float | None], None] | None = None) -> None:
        self._label, self._shown = label, shown
        self._share: float | None = None
        self._start = monotonic()

    def begin(self, label: str) -> None:
        """Begin another step, whose line is written at once."""
        typer.echo(f"   {label}.")
        self._label, self._share, self._start = label, None, monotonic()
        self._show()

    def report(self, share: float) -> None:
        """Set the share of the step that is done."""
        self._share = share
        self._show()

    def describe(self) -> str:
        """Return the step, the share of it that is done, and the seconds since its start."""
        share = "" if self._share is None else f" {self._share:.0%},"
        return f"{self._label}:{share} {monotonic() - self._start:.0f} s"

    def _show(self) -> None:
        if self._shown is not None:
            self._shown(self._label, self._share)


@contextmanager
def show_activity(label: str) -> Iterator[Activity]:
    """Show the current activity on standard error until the block ends."""
    if sys.stderr.isatty():
        with _bar(label) as activity:
            yield activity
    else:
        activity = Activity(label)
        with write_regularly(lambda: typer.echo(f"   {activity.describe()}", err=True)):
            yield activity


@contextmanager
def _bar(label: str) -> Iterator[Activity]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    # Lines of standard output go above the bar, but only where both are the terminal.
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()
    ) as progress:
        progress.add_task(label, total=None)

        def show(description: str, share: float | None) -> None:
            if share is None:  # A new task, since another one would keep its total.
                progress.remove_task(progress.task_ids[0])
                progress.add_task(description, total=None)
            else:
                progress.update(progress.task_ids[0], total=1.0, completed=share)

        yield Activity(label, show)


@contextmanager
def write_regularly(write: Callable[[], None], interval_s: float = INTERVAL_S) -> Iterator[None]:
    """Call a function again and again, from a thread, until the block ends."""
    ended = Event()

    def run() -> None:
        while not ended.wait(interval_s):
            write()

    thread = Thread(target=run, name="demo-activity", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
