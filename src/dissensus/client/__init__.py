"""Python client of a site: campaigns, raters and ratings."""

from dissensus.api_models.campaigns import (
    CampaignNumbersResource,
    CampaignResource,
    CampaignSummaryResource,
    QuotaCellResource,
    QuotaResource,
)
from dissensus.api_models.members import (
    InvitationResource,
    MemberLinkResource,
    MemberResource,
    MembersResource,
    RaterResource,
)
from dissensus.api_models.webhooks import EventResource, WebhookResource
from dissensus.client.client import Client
from dissensus.client.webhooks import VerifiedDelivery, verify_webhook

__all__ = [
    "CampaignNumbersResource",
    "CampaignResource",
    "CampaignSummaryResource",
    "Client",
    "EventResource",
    "InvitationResource",
    "MemberLinkResource",
    "MemberResource",
    "MembersResource",
    "QuotaCellResource",
    "QuotaResource",
    "RaterResource",
    "VerifiedDelivery",
    "WebhookResource",
    "verify_webhook",
]
