"""Progress of the steps of the demo: a bar on a terminal, elsewhere a line every few seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic
from typing import Final

import typer

INTERVAL_S: Final = 4.0
"""Time between two lines."""


class Activity:
    """Current step of a long command, and the completed share of it, if it is known."""

    def __init__(self, label: str, display: Callable[[str, float | None], None] | None = None) -> None:
        self._label, self._display = label, display
        self._share: float | None = None
        self._start = monotonic()

    def begin(self, label: str) -> None:
        """Begin another step, and print its line."""
        typer.echo(f"   {label}.")
        self._label, self._share, self._start = label, None, monotonic()
        self._show()

    def report(self, share: float) -> None:
        """Set the completed share of the step."""
        self._share = share
        self._show()

    def describe(self) -> str:
        """Return the step, its completed share, and the seconds since its start."""
        share = "" if self._share is None else f" {self._share:.0%},"
        return f"{self._label}:{share} {monotonic() - self._start:.0f} s"

    def _show(self) -> None:
        if self._display is not None:
            self._display(self._label, self._share)


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
    """Call a function every `interval_s` seconds, in a thread, until the block ends."""
    end = Event()

    def run() -> None:
        while not end.wait(interval_s):
            write()

    thread = Thread(target=run, name="demo-activity", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
