"""Paginated export. Each page is read afresh, so raters who withdraw vanish from later pages."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.event_log import AuditEvent
from dissensus.campaign.export_table import ExportForm, export_form, to_frame
from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import events, flags
from dissensus.store import export as store
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.consent_scope import required_purposes
from dissensus.workflows.export.ratings import ExportOptions, add_gold_attributes
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """Position in a paginated export."""

    begun: int  # number of the log event that records its start and columns
    last: str = ""  # id of the last assignment read; empty at the start
    n: int = 0  # rows read so far


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsPage:
    """One page of an export."""

    form: ExportForm  # columns, the same for all pages
    rows: tuple[dict[str, Any], ...]
    next: PageCursor | None  # None on the last page


def begin_export(platform: Platform, name: str, *, asked: ExportOptions, staff_id: str, now: datetime) -> PageCursor:
    """Log the start of an export with its columns and return the first cursor."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, campaign_row)
        required_purposes(campaign, asked.purposes)
        gold = gold_columns_by_item(tx, campaign, campaign_row)
        attributes = store.list_item_attributes(tx, campaign_row.id).union(*gold.values())
        columns = {"attributes": sorted(attributes), "with_flag": flags.has_flag_decisions(tx, campaign_row.id)}
    what = {"purposes": list(asked.purposes), "with_text": asked.with_text, **columns}
    with platform.database.writing() as tx:
        return PageCursor(begun=log_staff_event(tx, campaign_row.id, "exported", staff_id, now, **what))


def read_ratings_page(
    platform: Platform,
    name: str,
    *,
    asked: ExportOptions,
    place: PageCursor,
    most: int,
    public: Callable[[str], str],
    staff_id: str,
) -> RatingsPage:
    """Return ratings finished before the export began, after a cursor; `public` maps rater ids to export ids."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, campaign_row)
        began = _load_begin_event(tx, campaign_row, place)
        form = _export_form(campaign, asked, began)
        purposes = required_purposes(campaign, asked.purposes)
        # Nothing that came later: else who keeps a place would take out all that ever comes.
        found = store.list_ratings_after(tx, campaign_row.id, purposes, last=place.last, until=began.at, most=most + 1)
        gold = gold_columns_by_item(tx, campaign, campaign_row, {one.item.item_id for _, one in found})
    shown, more = found[:most], len(found) > most
    rated = [replace(one, rater_id=public(one.rater_id), item=add_gold_attributes(one.item, gold)) for _, one in shown]
    rows = tuple(to_frame(rated, form, start=place.n).to_dicts())
    following = replace(place, last=shown[-1][0], n=place.n + len(rows)) if more else None
    return RatingsPage(form=form, rows=rows, next=following)


def _load_begin_event(tx: Connection, campaign_row: CampaignRow, place: PageCursor) -> AuditEvent:
    found = events.find_event(tx, campaign_row.id, place.begun)
    if found is None:
        raise NotFound("This listing is not in the log. Leave `after` out to begin another one.")
    return found


def _export_form(campaign: Campaign, asked: ExportOptions, began: AuditEvent) -> ExportForm:
    """Return the columns that the export began with, so that a page reads only its own rows."""
    attributes, with_flag = began.content["attributes"], began.content["with_flag"]
    return export_form(campaign, attributes, with_text=asked.with_text, with_flag=with_flag)
