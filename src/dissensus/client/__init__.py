"""A client of the platform: campaigns, raters and ratings, from Python."""

from dissensus.client.client import Client
from dissensus.client.results import Campaign, Cell, Event, Invitation, Line, Member, Members, Numbers, Quota, Rater

__all__ = [
    "Campaign",
    "Cell",
    "Client",
    "Event",
    "Invitation",
    "Line",
    "Member",
    "Members",
    "Numbers",
    "Quota",
    "Rater",
]
