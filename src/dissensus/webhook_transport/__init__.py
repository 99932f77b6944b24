"""Messages to addresses that somebody gave: only where they may go, within seconds, nothing of the answer kept.

Whoever names an address names a place that this machine connects to. So a name is resolved once, every address that it
has must be public, or in a network that whoever runs the site allows, and the connection is made to what was checked.
"""

from dissensus.webhook_transport.sender import DeliveryResult, HostResolver, WebhookSender, resolve_host
from dissensus.webhook_transport.target import Network, parse_networks

__all__ = ["DeliveryResult", "Network", "HostResolver", "WebhookSender", "parse_networks", "resolve_host"]
