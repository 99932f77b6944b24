"""What an export holds, a part at a time, each of its own moment: who withdraws in between is in no later part."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dissensus.pipeline.annotate.export import Form, frame_of
from dissensus.store import exporting as store
from dissensus.workflows.exporting import Asked, columns_of, note_export, purposes_of, with_gold
from dissensus.workflows.membership import seen_by
from dissensus.workflows.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in an export somebody is.

    Parameters
    ----------
    last
        The id of the last assignment that they have; empty at the beginning.
    n
        How many rows they have.
    """

    last: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of an export.

    Parameters
    ----------
    form
        The columns.
    rows
        Values by column.
    next
        Where the next part begins; None where there is none.
    """

    form: Form
    rows: tuple[dict[str, Any], ...]
    next: Place | None


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
    """Return finished ratings of raters who agreed, after a place.

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
        form, gold = columns_of(tx, kept, campaign, asked)
        purposes = purposes_of(campaign, asked.purposes)
        found = store.rated_after(tx, kept.id, purposes, last=place.last, most=most + 1)
    shown, more = found[:most], len(found) > most
    rated = [replace(one, rater_id=public(one.rater_id), item=with_gold(one.item, gold)) for _, one in shown]
    rows = tuple(frame_of(rated, form, start=place.n).to_dicts())
    return Part(form=form, rows=rows, next=Place(last=shown[-1][0], n=place.n + len(rows)) if more else None)


def begin_export(platform: Platform, name: str, *, asked: Asked, staff_id: str, now: datetime) -> None:
    """Refuse purposes that the campaign has not, and keep in its log that somebody takes ratings out."""
    with platform.database.reading() as tx:
        purposes_of(platform.definitions.of(tx, seen_by(tx, name, staff_id)[0]), asked.purposes)
    note_export(platform, name, staff_id, asked, now)
