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

from dissensus.campaign.public_events import to_public_event
from dissensus.campaign.webhook_batches import PAUSE_AFTER, WebhookBatch, backoff_after, should_pause
from dissensus.campaign.webhook_signatures import sign_webhook
from dissensus.store import events
from dissensus.store import webhooks as store
from dissensus.store.webhooks import WebhookRow
from dissensus.webhook_transport import DeliveryResult, WebhookSender
from dissensus.workflows.campaign.webhooks import ANOTHER_KEY, WebhookSigner, webhook_event_content
from dissensus.workflows.platform.platform import Platform

MAX_CONCURRENT: Final = 16
MAX_SKIPPED_EVENTS: Final = 1_000
"""Events of other kinds that are looked at again rather than noted: else each of them would write."""
HTTP_GONE: Final = 410
NO_OWNER: Final = "Who answers for it is no owner of the campaign any more. Another owner can let it go on."

DeliveryOutcome: TypeAlias = Literal["taken", "refused", "unanswered"]

log = logging.getLogger("dissensus.jobs")


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A batch in delivery to a webhook."""

    webhook: WebhookRow  # state when the batch was sent
    batch: WebhookBatch
    answer: Future[DeliveryResult]


@dataclass(slots=True, kw_only=True)
class WebhookDispatcher:
    """Recurring job that dispatches webhook batches and records their outcomes.

    Its threads only send, so they hold no database connection while a receiver responds.
    """

    post: WebhookSigner
    count: Callable[[DeliveryOutcome], object] = lambda _: None  # called with the outcome of each delivery
    spell_s: float = 0.0  # how long one call goes on while there are further batches
    # Draws from 0 to 1, to spread those who try again
    chance: Callable[[], float] = field(
        default_factory=lambda: SystemRandom().random
    )  # random number in [0, 1] for the jitter of the backoff
    under_way: dict[str, WebhookDelivery] = field(default_factory=dict)  # by webhook, one each
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(MAX_CONCURRENT, "webhooks"))

    def __call__(self, platform: Platform, now: datetime) -> None:
        """Record finished deliveries and dispatch the batches that are due."""
        end = monotonic() + self.spell_s
        self._round(platform, now)
        while self.under_way and (left := end - monotonic()) > 0:
            wait([one.answer for one in self.under_way.values()], left, FIRST_COMPLETED)
            self._round(platform, now)

    def _round(self, platform: Platform, now: datetime) -> None:
        self._note(platform, now)
        with platform.database.reading() as tx:
            due = [one for one in store.list_due_webhooks(tx, now=now) if one.id not in self.under_way]
        for webhook in due:
            if len(self.under_way) == MAX_CONCURRENT:
                # What is sent is signed with the time; so nothing waits for a thread.
                return
            self._begin(platform, webhook, now)

    def finish(self, platform: Platform, now: datetime) -> None:
        """Wait for the deliveries in progress and record their outcomes."""
        wait([one.answer for one in self.under_way.values()])
        self._note(platform, now)

    def _begin(self, platform: Platform, webhook: WebhookRow, now: datetime) -> None:
        why = "" if webhook.owned and self.post.knows(webhook) else ANOTHER_KEY if webhook.owned else NO_OWNER
        if why:
            with platform.database.writing() as tx:
                if store.pause_webhook(tx, webhook, why):
                    _log_paused(tx, webhook, now)
            return
        batch = _load_batch(platform, webhook)
        if batch.events:
            headers = sign_webhook(self.post.secret_of(webhook.id), batch.id, batch.body, now=now)
            sent = {"Content-Type": "application/json", **headers}
            answer = self._threads.submit(_send, self.post.sender, webhook.address, sent, batch.body)
            self.under_way[webhook.id] = WebhookDelivery(webhook, batch, answer)
        elif webhook.retry_through is not None or batch.through - webhook.sequence >= MAX_SKIPPED_EVENTS:
            with platform.database.writing() as tx:
                store.advance_webhook(tx, webhook, batch.through, now=now, delivered=False)

    def _note(self, platform: Platform, now: datetime) -> None:
        done = [one for one in self.under_way.values() if one.answer.done()]
        if not done:
            return
        with platform.database.writing() as tx:
            for delivery in done:
                self._note_one(tx, delivery, now)
        # They are forgotten once it is written; else they would be sent again.
        for delivery in done:
            del self.under_way[delivery.webhook.id]
            self.count(_delivery_outcome(delivery.answer.result()))

    def _note_one(self, tx: Connection, delivery: WebhookDelivery, now: datetime) -> None:
        webhook, through, answer = delivery.webhook, delivery.batch.through, delivery.answer.result()
        if answer.taken:
            store.advance_webhook(tx, webhook, through, now=now)
            return
        pause = backoff_after(webhook.n_failures + 1, asked_s=answer.wait_s, chance=self.chance())
        since = webhook.failing_since or now
        why = {"failure_reason": answer.reason, "pause_reason": _pause_reason(answer, since, now)}
        if store.record_failure(tx, webhook, through, since=since, due_at=now + pause, **why) and why["pause_reason"]:
            _log_paused(tx, webhook, now)


def _log_paused(tx: Connection, webhook: WebhookRow, now: datetime) -> None:
    events.append_event(tx, webhook.campaign_id, "webhook_changed", webhook_event_content(webhook, "paused"), now=now)


def _load_batch(platform: Platform, webhook: WebhookRow) -> WebhookBatch:
    with platform.database.reading() as tx:
        entries = store.list_pending_entries(tx, webhook)
    # What failed is tried again as it was, so that who has it knows it.
    through = webhook.retry_through or (entries[-1].sequence if entries else webhook.head)
    return WebhookBatch(
        webhook_id=webhook.id,
        campaign=webhook.campaign,
        after=webhook.sequence,
        through=through,
        head=webhook.head,
        events=tuple(map(to_public_event, entries)),
    )


def _send(sender: WebhookSender, address: str, headers: Mapping[str, str], body: bytes) -> DeliveryResult:
    try:
        return sender.send(address, headers, body)
    except Exception:
        # Whatever it is, the webhook is tried again, and the others go on.
        log.exception("A delivery broke.")
        return DeliveryResult(None, "it could not be sent")


def _pause_reason(answer: DeliveryResult, since: datetime, now: datetime) -> str:
    """Return why a webhook is paused after a failure; empty if it will be retried."""
    if answer.status == HTTP_GONE:
        return "It answered HTTP 410: it is gone, and wants nothing more."
    days = PAUSE_AFTER // timedelta(days=1)
    return f"Nothing was taken for {days} days; the last time, {answer.reason}." if should_pause(since, now=now) else ""


def _delivery_outcome(answer: DeliveryResult) -> DeliveryOutcome:
    return "taken" if answer.taken else "unanswered" if answer.status is None else "refused"
