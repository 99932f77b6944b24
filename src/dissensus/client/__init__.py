"""A client of the platform: campaigns, raters and ratings, from Python."""

from dissensus.client.campaigns import Campaign, Cell, Line, Numbers, Quota
from dissensus.client.client import Client
from dissensus.client.events import Delivery, Event, Webhook
from dissensus.client.people import Invitation, Member, Members, Rater
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
