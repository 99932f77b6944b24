"""Notices of an export: the content warning of the campaign, and those of the datasets of its items."""

from sqlalchemy import Connection

from dissensus.files.catalogue import load_source_notice
from dissensus.pipeline.release.source_notices import describe_warnings
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.source_notice import SourceNotice
from dissensus.store import export as export_store
from dissensus.store.campaigns import CampaignRow


def load_source_notices(tx: Connection, campaign_row: CampaignRow) -> tuple[SourceNotice, ...]:
    """Return the notices of the datasets that items of a campaign are from."""
    return tuple(map(load_source_notice, export_store.list_item_sources(tx, campaign_row.id)))


def list_warnings(tx: Connection, campaign_row: CampaignRow, campaign: Campaign) -> tuple[str, ...]:
    """Return the lines of the content warning and of all notices."""
    return tuple(describe_warnings(campaign, load_source_notices(tx, campaign_row)))
