"""`dissensus work`: what runs beside the site, in a process of its own."""

import signal
from queue import SimpleQueue
from uuid import uuid4

import typer

from dissensus.cli.opening import SettingsOption, load_settings, now, opened


def work(settings: SettingsOption = None) -> None:
    """Do what runs beside the site, until it is interrupted: link events, and watch what comes in.

    The site does it itself unless the setting `jobs` is false. Where several processes could, one does, and another
    goes on within seconds if that one dies.

    Example: dissensus work
    """
    from dissensus.workflows.jobs import Runner, every_job

    with opened(load_settings(settings), old=True) as platform:
        runner = Runner(platform=platform, holder=str(uuid4()), jobs=every_job(), clock=now)
        # Of all that threads wait on, this alone may be touched by a signal that comes at any moment.
        told: SimpleQueue[None] = SimpleQueue()
        for sent in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sent, lambda *_: told.put(None))
        working = runner.start()
        typer.echo("Working. Interrupt to stop.", err=True)
        told.get()
        runner.stopped.set()
        working.join()
    typer.echo("Stopped.", err=True)
