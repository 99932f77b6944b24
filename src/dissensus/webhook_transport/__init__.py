"""Outbound webhook requests, protected against server-side request forgery (SSRF).

Each host name is resolved once. All of its addresses must be public, or in a network that the operator of the site
allows, and the connection is made to an address that was checked.
"""

from dissensus.webhook_transport.sender import DeliveryResult, HostResolver, WebhookSender, resolve_host
from dissensus.webhook_transport.target import Network, parse_networks

__all__ = ["DeliveryResult", "HostResolver", "Network", "WebhookSender", "parse_networks", "resolve_host"]
