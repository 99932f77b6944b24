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
from dissensus.workflows.campaign.audit_log import by_staff
from dissensus.workflows.campaign.members import seen_by
from dissensus.workflows.export.ratings import Asked, purposes_of, with_gold
from dissensus.workflows.gold.labelling import columns_by_item
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in an export somebody is.

    Parameters
    ----------
    begun
        The number of the event in the log that tells when it began, and with which columns.
    last
        The id of the last assignment that they have; empty at the beginning.
    n
        How many rows they have.
    """

    begun: int
    last: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an export.

    Parameters
    ----------
    form
        The columns, those of all parts.
    rows
        Values by column.
    next
        Where the next part begins; None where there is none.
    """

    form: Form
    rows: tuple[dict[str, Any], ...]
    next: Place | None


def begin_export(platform: Platform, name: str, *, asked: Asked, staff_id: str, now: datetime) -> Place:
    """Keep in the log that somebody takes ratings out, and with which columns; return where the first part begins.

    Raises
    ------
    NotFound
        The campaign has no such purpose.
    """
    with platform.database.reading() as tx:
        kept, _ = seen_by(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        purposes_of(campaign, asked.purposes)
        gold = columns_by_item(tx, campaign, kept)
        attributes = store.attributes_of(tx, kept.id).union(*gold.values())
        columns = {"attributes": sorted(attributes), "with_flag": flags.any_decided(tx, kept.id)}
    what = {"purposes": list(asked.purposes), "with_text": asked.with_text, **columns}
    with platform.database.writing() as tx:
        return Place(begun=by_staff(tx, kept.id, "export", staff_id, now, **what))


def rated_part(
    platform: Platform,
    name: str,
    *,
    asked: Asked,
    place: Place,
    most: int,
    public: Callable[[str], str],
    staff_id: str,
) -> Part:
    """Return ratings that were finished when an export began, of raters who agreed, after a place.

    Parameters
    ----------
    platform, name, staff_id
        The campaign, and for whom.
    asked
        What it is to hold.
    place
        Where it begins.
    most
        How many rows it has at most.
    public
        Tells which id a rater has in this export alone.
    """
    with platform.database.reading() as tx:
        kept, _ = seen_by(tx, name, staff_id)
        campaign = platform.definitions.of(tx, kept)
        began = _began(tx, kept, place)
        form = _form(campaign, asked, began)
        purposes = purposes_of(campaign, asked.purposes)
        # Nothing that came later: else who keeps a place would take out all that ever comes.
        found = store.rated_after(tx, kept.id, purposes, last=place.last, until=began.at, most=most + 1)
        gold = columns_by_item(tx, campaign, kept, {one.item.item_id for _, one in found})
    shown, more = found[:most], len(found) > most
    rated = [replace(one, rater_id=public(one.rater_id), item=with_gold(one.item, gold)) for _, one in shown]
    rows = tuple(frame_of(rated, form, start=place.n).to_dicts())
    following = replace(place, last=shown[-1][0], n=place.n + len(rows)) if more else None
    return Part(form=form, rows=rows, next=following)


def _began(tx: Connection, kept: Kept, place: Place) -> Event:
    found = events.event_of(tx, kept.id, place.begun)
    if found is None:
        raise NotFound("This listing is not in the log. Leave `after` out to begin another one.")
    return found


def _form(campaign: Campaign, asked: Asked, began: Event) -> Form:
    """Return the columns that the export began with: a part costs its own rows, not those of all items."""
    attributes, with_flag = began.content["attributes"], began.content["with_flag"]
    return form_of(campaign, attributes, with_text=asked.with_text, with_flag=with_flag)
