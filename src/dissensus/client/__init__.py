"""A client of the platform: campaigns, raters and ratings, from Python."""

from dissensus.client.client import Client
from dissensus.client.results import (
    Campaign,
    Cell,
    Delivery,
    Event,
    Invitation,
    Line,
    Member,
    Members,
    Numbers,
    Quota,
    Rater,
    Webhook,
)
from dissensus.client.webhooks import verify_webhook

__all__ = [
    "Campaign",
    "Cell",
    "Client",
    "Delivery",
    "Event",
    "Invitation",
    "Line",
    "Member",
    "Members",
    "Numbers",
    "Quota",
    "Rater",
    "Webhook",
    "verify_webhook",
]
