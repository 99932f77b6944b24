"""What every request of one worker uses."""

from asyncio import Semaphore
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Final

from argon2 import PasswordHasher
from fastapi import Request, Response

from dissensus.settings import Settings
from dissensus.web.core.chat_responder import Answering
from dissensus.web.core.rate_limit import Meter
from dissensus.web.core.renderer import Pages
from dissensus.web.core.signed_tokens import Tokens
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.webhooks import WebhookSigner
from dissensus.workflows.platform.passwords import make_hasher
from dissensus.workflows.platform.platform import Platform

HEAVY: Final = 2
"""Requests that take long, of those that a worker answers at once."""


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Site:
    """One worker of the site.

    Parameters
    ----------
    settings
        How it runs.
    platform
        Its way to the database.
    tokens
        Signs what visitors carry.
    pages
        Renders what they see.
    answering
        Asks chatbots for what raters wait for.
    clock
        Tells the time.
    meter
        Counts what programs ask.
    turns
        For work that takes a while.
    """

    settings: Settings
    platform: Platform
    tokens: Tokens
    pages: Pages
    answering: Answering
    clock: Callable[[], datetime] = now
    meter: Meter = field(default_factory=Meter)
    turns: Semaphore = field(default_factory=lambda: Semaphore(HEAVY))

    def set_cookie(self, answer: Response, name: str, value: str, seconds: int) -> None:
        """Let a browser carry a key that no script reads and no other site sends."""
        secure = (self.settings.base_url or "").startswith("https://")
        answer.set_cookie(name, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")

    @property
    def provider_button(self) -> str | None:
        """What stands on the button that leads to a provider, None where there is none."""
        return self.settings.oidc_button if self.settings.oidc_issuer else None

    @property
    def post(self) -> WebhookSigner:
        """How it sends what happens to webhooks."""
        return WebhookSigner(self.tokens.secret, WebhookSender(networks=self.settings.networks))

    def hasher(self) -> PasswordHasher:
        """Return what hashes passwords, at the cost that the settings name."""
        return make_hasher(passes=self.settings.password_passes, memory_mib=self.settings.password_memory_mib)

    def address_for(self, request: Request) -> str:
        """Return the address of the site for links: the one that is set, else that by which a visitor came."""
        return self.settings.base_url or str(request.base_url).rstrip("/")


def network_of(request: Request) -> str:
    """Return where a visitor comes from, as far as one household or company has it: an IPv4 address, or a /64."""
    host = "" if request.client is None else request.client.host
    try:
        address = ip_address(host)
    except ValueError:
        return host
    return str(ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def site_of(request: Request) -> Site:
    """Return the site that a request came to."""
    site: Site = request.app.state.site
    return site
