"""`dissensus work`: what runs beside the site, in a process of its own."""

import signal
from queue import SimpleQueue

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, now, opened


def work(settings: SettingsOption = None) -> None:
    """Do what runs beside the site, until it is interrupted.

    It links events, watches what comes in, tells webhooks, and lets model lines learn.

    The site does it itself unless the setting `jobs` is false. Where several processes could, one does, and another
    goes on within seconds if that one dies.

    Example: dissensus work
    """
    from dissensus.settings import secret_of
    from dissensus.webhook_transport import WebhookSender
    from dissensus.workflows.campaign.webhooks import WebhookSigner
    from dissensus.workflows.models.retraining import RetrainingJob
    from dissensus.workflows.platform.jobs import N_RUNNERS, build_runners

    known = load_settings(settings)
    with opened(known, old=True, threads=N_RUNNERS) as platform:
        post = WebhookSigner(secret_of(known), WebhookSender(networks=known.networks))
        learning = RetrainingJob(known.models, every_h=known.retrain_h)
        runners = build_runners(platform, post=post, clock=now, learning=learning)
        # Of all that threads wait on, this alone may be touched by a signal that comes at any moment.
        told: SimpleQueue[None] = SimpleQueue()
        for sent in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sent, lambda *_: told.put(None))
        working = [runner.start() for runner in runners]
        typer.echo("Working. Interrupt to stop.", err=True)
        told.get()
        for runner in runners:
            runner.stopped.set()
        for thread in working:
            thread.join()
    typer.echo("Stopped.", err=True)
