"""`dissensus work`: background jobs in a separate process."""

import signal
from queue import SimpleQueue

import typer

from dissensus.cli.platform.options import (
    SettingsOption,
    load_settings,
    open_site_platform,
    print_durability_risks,
    utc_now,
)
from dissensus.settings import load_mail_sender, load_secret_keys
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.webhooks import WebhookSigner
from dissensus.workflows.jobs import N_CONNECTIONS, build_runners
from dissensus.workflows.models.retraining import RetrainingJob
from dissensus.workflows.platform.mail_delivery import MailDelivery


def work(settings: SettingsOption = None) -> None:
    """Run the background jobs of the site until interrupted.

    They chain audit events, update monitoring, deliver webhooks and mails, make reports, and retrain models.

    The site runs them itself unless the setting `background_jobs` is false. Of several processes one holds the lease,
    and another takes over within seconds if it dies.

    Example: dissensus work
    """
    site_settings = load_settings(settings)
    mail_sender = load_mail_sender(site_settings)
    with open_site_platform(site_settings, threads=N_CONNECTIONS) as platform:
        keys = load_secret_keys(site_settings)
        signer = WebhookSigner(keys, WebhookSender(networks=site_settings.networks))
        retraining = RetrainingJob(site_settings.model_registry, interval_h=site_settings.retrain_hours)
        runners = build_runners(
            platform,
            signer=signer,
            clock=utc_now,
            retraining=retraining,
            mail=MailDelivery(sender=mail_sender, site=site_settings.address, keys=keys),
            security_log_days=site_settings.security_log_days,
        )
        # `SimpleQueue.put` is reentrant, as a signal handler requires; setting a `threading.Event` there can deadlock.
        interrupts: SimpleQueue[None] = SimpleQueue()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signal_number, lambda *_: interrupts.put(None))
        threads = [runner.start() for runner in runners]
        typer.echo("Working. Interrupt to stop.", err=True)
        print_durability_risks(site_settings.database_url)
        interrupts.get()
        for runner in runners:
            runner.stopped.set()
        for thread in threads:
            thread.join()
    typer.echo("Stopped.", err=True)
