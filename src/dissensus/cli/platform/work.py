"""`dissensus work`: background jobs in a process of their own."""

import signal
from queue import SimpleQueue

import typer

from dissensus.cli.platform.options import SettingsOption, load_settings, open_site_platform, utc_now
from dissensus.settings import load_secret_key
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.webhooks import WebhookSigner
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.platform.jobs import N_RUNNERS, build_runners


def work(settings: SettingsOption = None) -> None:
    """Do what runs beside the site, until it is interrupted.

    It links events, watches what comes in, tells webhooks, and retrains registered models.

    The site does it itself unless the setting `background_jobs` is false. Where several processes could, one does, and
    another goes on within seconds if that one dies.

    Example: dissensus work
    """
    known = load_settings(settings)
    with open_site_platform(known, old=True, threads=N_RUNNERS) as platform:
        post = WebhookSigner(load_secret_key(known), WebhookSender(networks=known.networks))
        learning = RetrainingJob(known.model_registry, every_h=known.retrain_hours)
        runners = build_runners(platform, post=post, clock=utc_now, learning=learning)
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
