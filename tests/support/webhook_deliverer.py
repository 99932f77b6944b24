"""Webhooks of small campaigns, and requests at a receiver."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.support.campaigns import NOW
from tests.support.webhook_receiver import ReceivedRequest, Receiver

from dissensus.encryption import SecretKeys
from dissensus.store.campaigns import CampaignRow
from dissensus.store.webhooks import WebhookRow
from dissensus.webhook_transport import WebhookSender, parse_networks
from dissensus.workflows.campaign import audit, webhooks
from dissensus.workflows.campaign.webhooks import NewWebhook, WebhookSigner
from dissensus.workflows.jobs import WEBHOOK_LEASE, JobRunner
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.platform.webhook_delivery import WebhookDispatcher

SECRET = "for-tests-alone-and-nobody-else-0123456789"
HOME = parse_networks("127.0.0.0/8")
SIGNER = WebhookSigner(SecretKeys(SECRET), WebhookSender(networks=HOME))


@dataclass(slots=True)
class WebhookDeliverer:
    """One delivering process with a manual clock, which waits for every response."""

    platform: Platform
    holder: str = "one"
    at: datetime = NOW
    signer: WebhookSigner = SIGNER
    chance: float = 1.0
    dispatcher: WebhookDispatcher = field(init=False)
    runner: JobRunner = field(init=False)

    def __post_init__(self) -> None:
        self.dispatcher = WebhookDispatcher(signer=self.signer, chance=lambda: self.chance)
        self.runner = JobRunner(
            platform=self.platform,
            holder=self.holder,
            jobs={"deliver": self.dispatcher},
            clock=lambda: self.at,
            lease=WEBHOOK_LEASE,
        )

    def forward(self, **time: float) -> "WebhookDeliverer":
        self.at += timedelta(**time)
        return self

    def turn(self) -> bool:
        """Link pending events, send deliveries that are due and record their results."""
        audit.link_pending_events(self.platform)
        had_work = self.runner.run_once()
        self.dispatcher.finish(self.platform, self.at)
        return had_work

    def turn_hourly(self, **time: float) -> "WebhookDeliverer":
        """Run a turn every hour for the given time."""
        end = self.at + timedelta(**time)
        while self.at < end:
            self.turn()
            self.at += timedelta(hours=1)
        return self


def add_webhook(
    platform: Platform, campaign: CampaignRow, receiver: Receiver, path: str = "ok", **fields: Any
) -> tuple[WebhookRow, str]:
    """Add a webhook for all events of the campaign `pilot`."""
    webhook = NewWebhook(address=receiver.address(path), **{"after": 0, **fields})
    return webhooks.add_webhook(platform, "pilot", webhook, signer=SIGNER, staff_id=campaign.staff_id, now=NOW)


def load_webhook(platform: Platform, campaign: CampaignRow) -> WebhookRow:
    """The only webhook of the campaign, in its current state."""
    (webhook,) = webhooks.list_webhooks(platform, "pilot", staff_id=campaign.staff_id)
    return webhook


def data_of(request: ReceivedRequest) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(request.body)
    assert payload["type"] == "campaign.events"
    data: dict[str, Any] = payload["data"]
    return data


def sequence_numbers(request: ReceivedRequest) -> list[int]:
    return [one["sequence"] for one in data_of(request)["events"]]


def kinds(receiver: Receiver) -> list[str]:
    return [one["kind"] for request in receiver.requests for one in data_of(request)["events"]]


def is_signed(request: ReceivedRequest, secret: str) -> bool:
    """Verify the signature of a request as Standard Webhooks asks of a receiver, without code of the package."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = b".".join(
        [request.headers["webhook-id"].encode(), request.headers["webhook-timestamp"].encode(), request.body]
    )
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return request.headers["webhook-signature"] == f"v1,{expected}"
