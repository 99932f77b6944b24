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
from dissensus.store import events
from dissensus.store import export as store
from dissensus.store.campaigns import CampaignRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.consent_scope import required_purposes
from dissensus.workflows.export.ratings import ExportOptions, add_gold_attributes, load_export_columns
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """Position in a paginated export."""

    start_event: int  # number of the log event that records its start and columns
    last: str = ""  # id of the last assignment read; empty at the start
    n: int = 0  # rows read so far


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsPage:
    """One page of an export."""

    form: ExportForm  # columns, the same for all pages
    rows: tuple[dict[str, Any], ...]
    next: PageCursor | None  # None on the last page


def begin_export(platform: Platform, name: str, *, options: ExportOptions, staff_id: str, now: datetime) -> PageCursor:
    """Log the start of an export with its columns and return the first cursor."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.load(tx, campaign_row)
        required_purposes(campaign, options.purposes)
        columns, _ = load_export_columns(tx, campaign_row, campaign)
    content = {"purposes": list(options.purposes), "with_text": options.with_text, **columns}
    with platform.database.writing() as tx:
        return PageCursor(start_event=log_staff_event(tx, campaign_row.id, "exported", staff_id, now, **content))


def read_ratings_page(
    platform: Platform,
    name: str,
    *,
    options: ExportOptions,
    cursor: PageCursor,
    most: int,
    public: Callable[[str], str],
    staff_id: str,
) -> RatingsPage:
    """Return ratings finished before the export began, after a cursor; `public` maps rater ids to export ids."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.load(tx, campaign_row)
        event = _load_begin_event(tx, campaign_row, cursor)
        form = _export_form(campaign, options, event)
        purposes = required_purposes(campaign, options.purposes)
        # Without later ratings: else an old cursor would give access to all future ones.
        ratings_after = store.list_ratings_after(
            tx, campaign_row.id, purposes, last=cursor.last, until=event.at, most=most + 1
        )
        gold = gold_columns_by_item(tx, campaign, campaign_row, {rating.item.item_id for _, rating in ratings_after})
    page = ratings_after[:most]
    ratings = [
        replace(rating, rater_id=public(rating.rater_id), item=add_gold_attributes(rating.item, gold))
        for _, rating in page
    ]
    rows = tuple(to_frame(ratings, form, start=cursor.n).to_dicts())
    following = replace(cursor, last=page[-1][0], n=cursor.n + len(rows)) if len(ratings_after) > most else None
    return RatingsPage(form=form, rows=rows, next=following)


def _load_begin_event(tx: Connection, campaign_row: CampaignRow, cursor: PageCursor) -> AuditEvent:
    event = events.find_event(tx, campaign_row.id, cursor.start_event)
    if event is None:
        raise NotFound("This listing is not in the log. Leave `after` out to begin another one.")
    return event


def _export_form(campaign: Campaign, options: ExportOptions, event: AuditEvent) -> ExportForm:
    """Return the columns that the export began with, so that a page reads only its own rows."""
    attributes, with_flag = event.content["attributes"], event.content["with_flag"]
    return export_form(campaign, attributes, with_text=options.with_text, with_flag=with_flag)
