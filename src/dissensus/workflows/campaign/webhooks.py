"""Webhooks of a campaign: added and removed by owners, who let them go on where they were paused."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, get_args
from urllib.parse import urlsplit

from sqlalchemy import Connection

from dissensus.campaign.event_log import Kind
from dissensus.campaign.public_events import MEANINGS
from dissensus.campaign.webhook_signatures import secret_for
from dissensus.errors import Conflict, InvalidInput, NotFound
from dissensus.schema.hints import suggest, format_value
from dissensus.store import events
from dissensus.store import webhooks as store
from dissensus.store.core.ids import hashed, new_id
from dissensus.store.webhooks import Webhook
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

MAX_WEBHOOKS: Final = 10
"""Webhooks of a campaign."""
EVENT_KINDS: Final = tuple(kind for kind in get_args(Kind) if kind in MEANINGS)
ANOTHER_KEY: Final = (
    "The secret key of the site is another one since it was added, and so its secret holds no more. Remove it, and add "
    "it again."
)


@dataclass(frozen=True, slots=True)
class WebhookSigner:
    """How the site sends what happens.

    Parameters
    ----------
    secret
        Of the site; those of webhooks are derived from it.
    sender
        Sends, and knows where to.
    """

    secret: str = field(repr=False)
    sender: WebhookSender

    def secret_of(self, webhook_id: str) -> str:
        """Return the secret of a webhook."""
        return secret_for(self.secret, webhook_id)

    def knows(self, webhook: Webhook) -> bool:
        """Tell whether a webhook was added under the present secret of the site."""
        return hashed(self.secret_of(webhook.id)) == webhook.secret_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhook:
    """A webhook that somebody asks for.

    Parameters
    ----------
    address
        Where it is told.
    kinds
        Of events; none for all, also for those to come.
    after
        The place in the chain from which on it is told; None for what happens from now on.
    """

    address: str
    kinds: tuple[str, ...] = ()
    after: int | None = None


def list_webhooks(platform: Platform, name: str, *, staff_id: str) -> tuple[Webhook, ...]:
    """Return the webhooks of a campaign, the earliest first."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        return store.webhooks_of(tx, kept.id)


def add_webhook(
    platform: Platform, name: str, wanted: NewWebhook, *, post: WebhookSigner, staff_id: str, now: datetime
) -> tuple[Webhook, str]:
    """Return a new webhook, and its secret, which is told this once.

    Raises
    ------
    InvalidInput
        Something of it cannot be; the message has a line for each.
    Conflict
        The campaign has as many as it can have.
    """
    # Names are looked up before the transaction, which others wait for.
    faults = list(_find_faults(wanted, post))
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id, lock=True)
        if store.count(tx, kept.id) >= MAX_WEBHOOKS:
            raise Conflict(f"{name} has {MAX_WEBHOOKS} webhooks, and can have no more. Remove one first.")
        head, _ = events.end_of(tx, kept.id)
        if wanted.after is not None and not 0 <= wanted.after <= head:
            faults.append(f"after is {wanted.after:,}, and the log has {head:,} events. Give a place from 0 to that.")
        if faults:
            raise InvalidInput("\n".join(faults))
        one = new_id(now)
        secret = post.secret_of(one)
        kinds = [kind for kind in EVENT_KINDS if kind in wanted.kinds]
        place = head if wanted.after is None else wanted.after
        about = {"secret_hash": hashed(secret), "place": place, "created_at": now}
        store.add(tx, one, kept.id, staff_id, address=wanted.address, kinds=kinds, **about)
        return _log_change(tx, kept.id, one, "added", staff_id, now), secret


def remove_webhook(platform: Platform, name: str, webhook_id: str, *, staff_id: str, now: datetime) -> None:
    """Remove a webhook: it is told nothing more."""
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        _log_change(tx, kept.id, webhook_id, "removed", staff_id, now)
        store.remove(tx, webhook_id)


def resume_webhook(platform: Platform, name: str, webhook_id: str, *, post: WebhookSigner, staff_id: str, now: datetime) -> Webhook:
    """Let a webhook go on at once, from where it was; who does so answers for it from now on.

    Raises
    ------
    Conflict
        The secret of the site is another one since it was added.
    """
    with platform.database.writing() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        if not post.knows(_load_webhook(tx, kept.id, webhook_id)):
            raise Conflict(ANOTHER_KEY)
        store.go_on(tx, webhook_id, staff_id, now=now)
        return _log_change(tx, kept.id, webhook_id, "went on", staff_id, now)


def _find_faults(wanted: NewWebhook, post: WebhookSigner) -> Iterator[str]:
    try:
        post.sender.check(wanted.address)
    except InvalidInput as error:
        yield str(error)
    for kind in wanted.kinds:
        if kind not in EVENT_KINDS:
            yield f"{format_value(kind)} is no kind of event.{suggest(kind, list(EVENT_KINDS))}"


def _load_webhook(tx: Connection, campaign_id: str, webhook_id: str) -> Webhook:
    found = store.webhook_of(tx, campaign_id, webhook_id)
    if found is None:
        raise NotFound(f"There is no webhook {format_value(webhook_id)} here; it may have been removed.")
    return found


def _log_change(tx: Connection, campaign_id: str, webhook_id: str, to: str, staff_id: str, now: datetime) -> Webhook:
    """Keep what somebody did with a webhook, and return it."""
    found = _load_webhook(tx, campaign_id, webhook_id)
    log_staff_event(tx, campaign_id, "webhook", staff_id, now, **webhook_event_content(found, to))
    return found


def webhook_event_content(webhook: Webhook, to: str) -> dict[str, Any]:
    """Return what the log says of a webhook; of its address the host alone, since the rest may be secret."""
    return {"webhook": webhook.id, "to": to, "host": urlsplit(webhook.address).hostname}
