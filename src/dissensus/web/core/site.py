"""Shared state of one worker process: settings, platform, renderer, signers and limits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from argon2 import PasswordHasher
from fastapi import Request, Response

from dissensus.campaign.chatbot_access import parse_hosts
from dissensus.settings import Settings
from dissensus.web.core.chat_responder import ChatResponder
from dissensus.web.core.concurrency_limit import ConcurrencyLimit
from dissensus.web.core.downloads import DownloadSpool
from dissensus.web.core.oidc import MetadataCache
from dissensus.web.core.rate_limit import RateLimiter
from dissensus.web.core.renderer import PageRenderer
from dissensus.web.core.signed_tokens import TokenSigner
from dissensus.web.core.translations import languages
from dissensus.webhook_transport import WebhookSender
from dissensus.workflows.campaign.opening import SiteServices
from dissensus.workflows.campaign.webhooks import WebhookSigner
from dissensus.workflows.platform.passwords import make_hasher
from dissensus.workflows.platform.platform import Platform


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def load_services(settings: Settings) -> SiteServices:
    """Return the services that campaigns of a site can use."""
    return SiteServices(
        chatbot_hosts=parse_hosts(settings.chatbot_hosts or ""),
        model_registry=settings.model_registry,
        languages=languages(),
    )


@dataclass(frozen=True, slots=True)
class Site:
    """Shared state of one worker."""

    settings: Settings
    platform: Platform
    tokens: TokenSigner
    renderer: PageRenderer
    chat_responder: ChatResponder
    clock: Callable[[], datetime] = now
    rate_limiter: RateLimiter = field(default_factory=RateLimiter)
    slow_requests: ConcurrencyLimit = field(default_factory=ConcurrencyLimit)
    downloads: DownloadSpool = field(default_factory=DownloadSpool)
    oidc_metadata: MetadataCache = field(default_factory=MetadataCache)

    def set_cookie(self, response: Response, name: str, value: str, seconds: int) -> None:
        """Set an HTTP-only, same-site cookie; with HTTPS, middleware makes it secure."""
        response.set_cookie(name, value, max_age=seconds, path="/", httponly=True, samesite="lax")

    @property
    def provider_button(self) -> str | None:
        """Label of the button that leads to the OpenID provider; None without one."""
        return self.settings.oidc_button if self.settings.oidc_issuer else None

    @property
    def sends_mails(self) -> bool:
        """True if the site has a server for mails."""
        return self.settings.smtp_host is not None

    @property
    def webhook_signer(self) -> WebhookSigner:
        """Signer and sender of webhook deliveries."""
        return WebhookSigner(self.tokens.keys, WebhookSender(networks=self.settings.networks))

    @property
    def services(self) -> SiteServices:
        """Services that campaigns of the site can use."""
        return load_services(self.settings)

    def hasher(self) -> PasswordHasher:
        """Return a password hasher with the cost from the settings."""
        return make_hasher(passes=self.settings.password_passes, memory_mib=self.settings.password_memory_mib)

    def address_for(self, request: Request) -> str:
        """Return the base URL for links: the configured one, else that of the request."""
        return self.settings.base_url or str(request.base_url).rstrip("/")


def client_network(request: Request) -> str:
    """Return the client's network for rate limiting: an IPv4 address, an IPv6 /64, or the host if it is neither."""
    address = _client_address(request)
    if address is None:
        return "" if request.client is None else request.client.host
    return str(ip_network((address, 64), strict=False)) if address.version == 6 else str(address)


def truncated_network(request: Request) -> str | None:
    """Return the client's network for the security log: an IPv4 /24, or an IPv6 /48; None if it is unknown."""
    address = _client_address(request)
    if address is None:
        return None
    return str(ip_network((address, 24 if address.version == 4 else 48), strict=False))


def _client_address(request: Request) -> IPv4Address | IPv6Address | None:
    """Return the client's address; None if the connection has none, such as that of a Unix socket."""
    try:
        address = ip_address("" if request.client is None else request.client.host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        # Proxies that listen on one socket for both protocols forward ::ffff:192.0.2.7, all of which are in one /64.
        return address.ipv4_mapped
    return address


def address_digest(site: Site, request: Request) -> str:
    """Return the keyed digest of the client's network, by which requests are counted."""
    return site.tokens.keyed_digest("address", client_network(request))


def site_of(request: Request) -> Site:
    """Return the state of the worker that handles a request."""
    site: Site = request.app.state.site
    return site
