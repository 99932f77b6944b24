"""Webhook delivery: at least once, in chain order, with retries and backoff, each webhook independently."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import SystemRandom
from time import monotonic
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from dissensus.campaign.backoff import backoff_after
from dissensus.campaign.public_events import to_public_event
from dissensus.campaign.webhooks.batches import PAUSE_AFTER, WebhookBatch, should_pause
from dissensus.campaign.webhooks.signatures import sign_webhook
from dissensus.store import audit_log
from dissensus.store import webhooks as store
from dissensus.store.webhooks import WebhookRow
from dissensus.webhook_transport import DeliveryResult, WebhookSender
from dissensus.workflows.campaign.webhooks import ANOTHER_KEY, WebhookSigner, webhook_event_content
from dissensus.workflows.platform.platform import Platform

MAX_CONCURRENT: Final = 16
MAX_SKIPPED_EVENTS: Final = 1_000
"""Events of other kinds that are skipped without a write; more are recorded as delivered."""
HTTP_GONE: Final = 410
NO_OWNER: Final = "The person responsible for it is no longer an owner of the campaign. Another owner can resume it."

DeliveryOutcome: TypeAlias = Literal["taken", "refused", "unanswered"]

log = logging.getLogger("dissensus.jobs")


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A batch in delivery to a webhook."""

    webhook: WebhookRow  # state when the batch was sent
    batch: WebhookBatch
    result: Future[DeliveryResult]


@dataclass(slots=True, kw_only=True)
class WebhookDispatcher:
    """Recurring job that dispatches webhook batches and records their outcomes.

    Its threads only send, so they hold no database connection while a receiver responds.
    """

    signer: WebhookSigner
    count: Callable[[DeliveryOutcome], object] = lambda _: None  # called with the outcome of each delivery
    max_duration_s: float = 0.0  # time for which one call waits for deliveries, and begins further ones
    # Random number in [0, 1] for the jitter of the backoff
    chance: Callable[[], float] = field(default_factory=lambda: SystemRandom().random)
    deliveries: dict[str, WebhookDelivery] = field(default_factory=dict)  # in progress, one per webhook
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(MAX_CONCURRENT, "webhooks"))

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Record finished deliveries and dispatch the batches that are due."""
        end = monotonic() + self.max_duration_s
        self._round(platform, now)
        while self.deliveries and (remaining_s := end - monotonic()) > 0:
            wait([delivery.result for delivery in self.deliveries.values()], remaining_s, FIRST_COMPLETED)
            self._round(platform, now)

    def _round(self, platform: Platform, now: datetime) -> None:
        self._record_results(platform, now)
        with platform.database.reading() as tx:
            due = [webhook for webhook in store.list_due_webhooks(tx, now=now) if webhook.id not in self.deliveries]
        for webhook in due:
            if len(self.deliveries) == MAX_CONCURRENT:
                # A signature includes the time, so no batch may wait for a thread.
                return
            self._begin(platform, webhook, now)

    def finish(self, platform: Platform, now: datetime) -> None:
        """Wait for the deliveries in progress and record their outcomes."""
        wait([delivery.result for delivery in self.deliveries.values()])
        self._record_results(platform, now)

    def _begin(self, platform: Platform, webhook: WebhookRow, now: datetime) -> None:
        secret = self.signer.find_secret(webhook)
        if not webhook.owned or secret is None:
            reason = ANOTHER_KEY if webhook.owned else NO_OWNER
            with platform.database.writing() as tx:
                if store.pause_webhook(tx, webhook, reason):
                    _log_paused(tx, webhook, now)
            return
        batch = _load_batch(platform, webhook)
        if batch.events:
            signature = sign_webhook(secret, batch.id, batch.body, now=now)
            headers = {"Content-Type": "application/json", **signature}
            result = self._threads.submit(_send, self.signer.sender, webhook, headers, batch.body)
            self.deliveries[webhook.id] = WebhookDelivery(webhook, batch, result)
        elif webhook.retry_through is not None or batch.through - webhook.sequence >= MAX_SKIPPED_EVENTS:
            with platform.database.writing() as tx:
                store.advance_webhook(tx, webhook, batch.through, now=now, delivered=False)

    def _record_results(self, platform: Platform, now: datetime) -> None:
        done = [delivery for delivery in self.deliveries.values() if delivery.result.done()]
        if not done:
            return
        with platform.database.writing() as tx:
            for delivery in done:
                self._record_result(tx, delivery, now)
        # Removed only after the commit: else they would be sent again.
        for delivery in done:
            del self.deliveries[delivery.webhook.id]
            self.count(_delivery_outcome(delivery.result.result()))

    def _record_result(self, tx: Connection, delivery: WebhookDelivery, now: datetime) -> None:
        webhook, through, result = delivery.webhook, delivery.batch.through, delivery.result.result()
        if result.accepted:
            store.advance_webhook(tx, webhook, through, now=now)
            return
        backoff = backoff_after(webhook.n_failures + 1, retry_after_s=result.retry_after_s, chance=self.chance())
        since = webhook.failing_since or now
        pause_reason = _pause_reason(result, since, now)
        reasons = {"failure_reason": result.reason, "pause_reason": pause_reason}
        if store.record_failure(tx, webhook, through, since=since, due_at=now + backoff, **reasons) and pause_reason:
            _log_paused(tx, webhook, now)


def _log_paused(tx: Connection, webhook: WebhookRow, now: datetime) -> None:
    audit_log.append_event(
        tx, webhook.campaign_id, "webhook_changed", webhook_event_content(webhook, "paused"), now=now
    )


def _load_batch(platform: Platform, webhook: WebhookRow) -> WebhookBatch:
    with platform.database.reading() as tx:
        entries = store.list_pending_entries(tx, webhook)
    # A failed batch is retried unchanged, so that the receiver can recognise it.
    through = webhook.retry_through or (entries[-1].sequence if entries else webhook.last_sequence)
    return WebhookBatch(
        webhook_id=webhook.id,
        campaign=webhook.campaign,
        after=webhook.sequence,
        through=through,
        last_sequence=webhook.last_sequence,
        events=tuple(map(to_public_event, entries)),
    )


def _send(sender: WebhookSender, webhook: WebhookRow, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
    try:
        return sender.send(webhook.address, headers, body)
    except Exception:
        # The webhook is retried, and the others go on.
        log.exception("The delivery of webhook %s of campaign %s failed unexpectedly.", webhook.id, webhook.campaign)
        return DeliveryResult(None, "it could not be sent")


def _pause_reason(result: DeliveryResult, since: datetime, now: datetime) -> str:
    """Return the reason to pause a webhook after a failure; empty if it will be retried."""
    if result.status == HTTP_GONE:
        return "It answered HTTP 410 Gone."
    days = PAUSE_AFTER // timedelta(days=1)
    return f"No delivery succeeded for {days} days: {result.reason}." if should_pause(since, now=now) else ""


def _delivery_outcome(result: DeliveryResult) -> DeliveryOutcome:
    return "taken" if result.accepted else "unanswered" if result.status is None else "refused"
