"""Webhooks of small campaigns, and what came to a receiver."""

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.support.campaigns import NOW
from tests.webhook_transport.receiver import Got, Receiver

from dissensus.store.campaigns import CampaignRow
from dissensus.store.webhooks import WebhookRow
from dissensus.webhook_transport import WebhookSender, parse_networks
from dissensus.workflows.campaign import audit, webhooks
from dissensus.workflows.campaign.webhook_delivery import WebhookDispatcher
from dissensus.workflows.campaign.webhooks import NewWebhook, WebhookSigner
from dissensus.workflows.platform.jobs import WEBHOOK_LEASE, JobRunner
from dissensus.workflows.platform.platform import Platform

SECRET = "for-tests-alone-and-nobody-else-0123456789"
HOME = parse_networks("127.0.0.0/8")
POST = WebhookSigner(SECRET, WebhookSender(networks=HOME))


@dataclass(slots=True)
class Office:
    """One process that delivers, at times that a test sets; it waits for every answer."""

    platform: Platform
    holder: str = "one"
    at: datetime = NOW
    post: WebhookSigner = POST
    chance: float = 1.0
    postman: WebhookDispatcher = field(init=False)
    runner: JobRunner = field(init=False)

    def __post_init__(self) -> None:
        self.postman = WebhookDispatcher(post=self.post, chance=lambda: self.chance)
        self.runner = JobRunner(
            platform=self.platform,
            holder=self.holder,
            jobs={"deliver": self.postman},
            clock=lambda: self.at,
            lease=WEBHOOK_LEASE,
        )

    def forward(self, **time: float) -> "Office":
        self.at += timedelta(**time)
        return self

    def turn(self) -> bool:
        """Link what happened, deliver what is due, and note what came of it."""
        audit.link_pending_events(self.platform)
        mine = self.runner.turn()
        self.postman.finish(self.platform, self.at)
        return mine

    def until_failed(self, **time: float) -> "Office":
        """Try again at each time that is due, until so much time has passed."""
        end = self.at + timedelta(**time)
        while self.at < end:
            self.turn()
            self.at += timedelta(hours=1)
        return self


def added(
    platform: Platform, kept: CampaignRow, receiver: Receiver, path: str = "ok", **wanted: Any
) -> tuple[WebhookRow, str]:
    """A webhook of the campaign `pilot`, which is told all of it."""
    asked = NewWebhook(address=receiver.address(path), **{"after": 0, **wanted})
    return webhooks.add_webhook(platform, "pilot", asked, post=POST, staff_id=kept.staff_id, now=NOW)


def now_is(platform: Platform, kept: CampaignRow) -> WebhookRow:
    """The one webhook of the campaign, as it is."""
    (found,) = webhooks.list_webhooks(platform, "pilot", staff_id=kept.staff_id)
    return found


def data_of(got: Got) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(got.body)
    assert said["type"] == "campaign.events"
    data: dict[str, Any] = said["data"]
    return data


def places(got: Got) -> list[int]:
    return [one["sequence"] for one in data_of(got)["events"]]


def kinds(receiver: Receiver) -> list[str]:
    return [one["kind"] for got in receiver.got for one in data_of(got)["events"]]


def is_signed(got: Got, secret: str) -> bool:
    """Whether a request is signed, by nothing of ours: what Standard Webhooks asks of a receiver."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = b".".join([got.headers["webhook-id"].encode(), got.headers["webhook-timestamp"].encode(), got.body])
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return got.headers["webhook-signature"] == f"v1,{expected}"
