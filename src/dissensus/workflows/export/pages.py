"""What an export holds, a part at a time, each of its own moment: who withdraws in between is in no later part."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dissensus.campaign.event_log import Event
from dissensus.campaign.export_table import Form, form_of, frame_of
from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Campaign
from dissensus.store import events, flags
from dissensus.store import export as store
from dissensus.store.campaigns import Kept
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.export.ratings import ExportOptions, required_purposes, add_gold_attributes
from dissensus.workflows.gold.labelling import gold_columns_by_item
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """Where in an export somebody is."""

    begun: int  # The number of the event in the log that tells when it began, and with which columns
    last: str = ""  # The id of the last assignment that they have; empty at the beginning
    n: int = 0  # How many rows they have


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingsPage:
    """A part of an export."""

    form: Form  # The columns, those of all parts
    rows: tuple[dict[str, Any], ...]
    next: PageCursor | None  # Where the next part begins; None where there is none


def begin_export(platform: Platform, name: str, *, asked: ExportOptions, staff_id: str, now: datetime) -> PageCursor:
    """Keep in the log that somebody takes ratings out, and with which columns; return where the first part begins."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        required_purposes(campaign, asked.purposes)
        gold = gold_columns_by_item(tx, campaign, kept)
        attributes = store.attributes_of(tx, kept.id).union(*gold.values())
        columns = {"attributes": sorted(attributes), "with_flag": flags.any_decided(tx, kept.id)}
    what = {"purposes": list(asked.purposes), "with_text": asked.with_text, **columns}
    with platform.database.writing() as tx:
        return PageCursor(begun=log_staff_event(tx, kept.id, "export", staff_id, now, **what))


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
    """Return ratings that were finished when an export began, of raters who agreed, after a place."""
    with platform.database.reading() as tx:
        kept, _ = campaign_for_member(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        began = _load_begin_event(tx, kept, place)
        form = _export_form(campaign, asked, began)
        purposes = required_purposes(campaign, asked.purposes)
        # Nothing that came later: else who keeps a place would take out all that ever comes.
        found = store.rated_after(tx, kept.id, purposes, last=place.last, until=began.at, most=most + 1)
        gold = gold_columns_by_item(tx, campaign, kept, {one.item.item_id for _, one in found})
    shown, more = found[:most], len(found) > most
    rated = [replace(one, rater_id=public(one.rater_id), item=add_gold_attributes(one.item, gold)) for _, one in shown]
    rows = tuple(frame_of(rated, form, start=place.n).to_dicts())
    following = replace(place, last=shown[-1][0], n=place.n + len(rows)) if more else None
    return RatingsPage(form=form, rows=rows, next=following)


def _load_begin_event(tx: Connection, kept: Kept, place: PageCursor) -> Event:
    found = events.event_of(tx, kept.id, place.begun)
    if found is None:
        raise NotFound("This listing is not in the log. Leave `after` out to begin another one.")
    return found


def _export_form(campaign: Campaign, asked: ExportOptions, began: Event) -> Form:
    """Return the columns that the export began with: a part costs its own rows, not those of all items."""
    attributes, with_flag = began.content["attributes"], began.content["with_flag"]
    return form_of(campaign, attributes, with_text=asked.with_text, with_flag=with_flag)
