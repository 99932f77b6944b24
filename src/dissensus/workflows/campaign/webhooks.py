"""Webhooks of a campaign: add, list, remove and resume."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Connection

from dissensus.campaign.public_events import EVENT_KINDS
from dissensus.campaign.webhooks.signatures import derive_secret
from dissensus.encryption import SecretKeys
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value, suggest
from dissensus.store import audit_log
from dissensus.store import webhooks as store
from dissensus.store.core.orm import hash_key, new_id
from dissensus.store.webhooks import WebhookRow
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

MAX_WEBHOOKS: Final = 10
"""Webhooks per campaign."""
ANOTHER_KEY: Final = (
    "The secret key of the site has changed since it was added, so its secret is not valid any more. Remove it, and "
    "add it again."
)


@dataclass(frozen=True, slots=True)
class WebhookSigner:
    """Secrets of webhooks, derived from the secret keys of the site, and the sender of deliveries."""

    keys: SecretKeys
    sender: WebhookSender

    def derive_new_secret(self, webhook_id: str) -> str:
        """Return the secret of a new webhook."""
        return derive_secret(self.keys.current, webhook_id)

    def find_secret(self, webhook: WebhookRow) -> str | None:
        """Return the secret of a webhook; None if it was added under a key that the site has no more."""
        secrets = (derive_secret(key, webhook.id) for key in self.keys)
        return next((secret for secret in secrets if hash_key(secret) == webhook.secret_hash), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A webhook to be added."""

    address: str
    kinds: tuple[str, ...] = ()  # event kinds; empty for all, including future ones
    after: int | None = None  # sequence number after which delivery starts; None for new events only


def list_webhooks(platform: Platform, name: str, *, staff_id: str) -> tuple[WebhookRow, ...]:
    """Return the webhooks of a campaign, earliest first."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        return store.list_webhooks(tx, campaign_row.id)


def add_webhook(
    platform: Platform, name: str, new: NewWebhook, *, signer: WebhookSigner, staff_id: str, now: datetime
) -> tuple[WebhookRow, str]:
    """Add a webhook, and return it with its secret, which is shown only once."""
    # Host names are resolved before the transaction, which blocks others.
    faults = list(_find_faults(new, signer))
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        if store.count_webhooks(tx, campaign_row.id) >= MAX_WEBHOOKS:
            raise Conflict(f"{name} has {MAX_WEBHOOKS} webhooks, and can have no more. Remove one first.")
        head, _ = audit_log.get_chain_head(tx, campaign_row.id)
        if new.after is not None and not 0 <= new.after <= head:
            faults.append(f"after is {new.after:,}, and the log has {head:,} events. Give a number from 0 to that.")
        if faults:
            raise InvalidInput("\n".join(faults))
        webhook_id = new_id(now)
        secret = signer.derive_new_secret(webhook_id)
        kinds = [kind for kind in EVENT_KINDS if kind in new.kinds]
        sequence = head if new.after is None else new.after
        columns = {"secret_hash": hash_key(secret), "sequence": sequence, "created_at": now}
        store.add_webhook(tx, webhook_id, campaign_row.id, staff_id, address=new.address, kinds=kinds, **columns)
        return _log_change(tx, campaign_row.id, webhook_id, "added", staff_id, now), secret


def remove_webhook(platform: Platform, name: str, webhook_id: str, *, staff_id: str, now: datetime) -> None:
    """Remove a webhook; nothing more is delivered to it."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        _log_change(tx, campaign_row.id, webhook_id, "removed", staff_id, now)
        store.delete_webhook(tx, webhook_id)


def resume_webhook(
    platform: Platform, name: str, webhook_id: str, *, signer: WebhookSigner, staff_id: str, now: datetime
) -> WebhookRow:
    """Resume a paused webhook where it stopped; the caller becomes responsible for it."""
    with platform.database.writing() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if signer.find_secret(_load_webhook(tx, campaign_row.id, webhook_id)) is None:
            raise Conflict(ANOTHER_KEY)
        store.resume_webhook(tx, webhook_id, staff_id, now=now)
        return _log_change(tx, campaign_row.id, webhook_id, "resumed", staff_id, now)


def _find_faults(webhook: NewWebhook, signer: WebhookSigner) -> Iterator[str]:
    try:
        signer.sender.check(webhook.address)
    except InvalidInput as error:
        yield site_message(error)
    for kind in webhook.kinds:
        if kind not in EVENT_KINDS:
            yield f"{format_value(kind)} is not a kind of event.{suggest(kind, list(EVENT_KINDS))}"


def _load_webhook(tx: Connection, campaign_id: str, webhook_id: str) -> WebhookRow:
    webhook = store.find_webhook(tx, campaign_id, webhook_id)
    if webhook is None:
        raise NotFound(f"There is no webhook {format_value(webhook_id)} here; it may have been removed.")
    return webhook


def _log_change(
    tx: Connection, campaign_id: str, webhook_id: str, change: str, staff_id: str, now: datetime
) -> WebhookRow:
    """Log a change of a webhook and return the webhook."""
    webhook = _load_webhook(tx, campaign_id, webhook_id)
    log_staff_event(tx, campaign_id, "webhook_changed", staff_id, now, **webhook_event_content(webhook, change))
    return webhook


def webhook_event_content(webhook: WebhookRow, change: str) -> dict[str, Any]:
    """Return the logged content of a webhook event; only the host of the address, since the rest may be secret."""
    return {"webhook": webhook.id, "change": change, "host": urlsplit(webhook.address).hostname}
