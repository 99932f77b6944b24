"""What each page about webhooks shows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from dissensus.campaign.public_events import MEANINGS
from dissensus.web.core.translations import FIRST
from dissensus.workflows.campaign.webhooks import EVENT_KINDS, MAX_WEBHOOKS, NewWebhook

if TYPE_CHECKING:
    from dissensus.store.webhooks import Webhook

CHOICES: Final = tuple((kind, MEANINGS[kind]) for kind in EVENT_KINDS)
BLANK: Final = NewWebhook(address="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """Who is told what happens in a campaign."""

    template: ClassVar[str] = "owner/webhooks.html"

    owner: str
    form_token: str
    name: str
    webhooks: tuple["Webhook", ...]
    typed: NewWebhook = BLANK
    faults: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = CHOICES
    most: int = MAX_WEBHOOKS
    language: str = FIRST


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookMade:
    """A webhook with its secret, shown once."""

    template: ClassVar[str] = "owner/webhook-made.html"

    owner: str
    form_token: str
    name: str
    webhook: "Webhook"
    secret: str
    language: str = FIRST
