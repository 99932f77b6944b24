"""Working copies of definitions: begin, load, save and discard them."""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from sqlalchemy import Connection

from dissensus.campaign.builder.check import DefinitionCheck, check_definition, shorten_definition, write_definition
from dissensus.errors import Conflict, NotFound
from dissensus.schema.campaign.definition import CampaignState
from dissensus.schema.records.item import Item
from dissensus.store import campaigns as store
from dissensus.store import items as items_store
from dissensus.store.campaigns import CampaignRow, ListedWorkingCopy, WorkingCopyRow
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

_NAME: Final = re.compile(r'^name = "([^"\\\n]+)"', re.MULTILINE)
"""Name in the text of a definition, which lists find without parsing it."""

MAX_WORKING_COPIES: Final = 50
"""New campaigns that one member of staff may have begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyAddress:
    """Address of a working copy: its id for a new campaign, else the name of the campaign."""

    copy_id: str = ""
    campaign_name: str = ""


@dataclass(frozen=True, kw_only=True)
class WorkingCopy:
    """A definition that is being edited, and its check."""

    text: str
    revision: int  # 0 without edits
    state: CampaignState = "draft"  # of its campaign
    item: Item | None = None  # first item of its campaign
    is_outdated: bool = False  # True if the campaign changed after the last edit

    @cached_property
    def check(self) -> DefinitionCheck:
        """The check of the text."""
        return check_definition(self.text)

    @property
    def title(self) -> str:
        """Name of the definition, which may have faults."""
        return title_of(self.text)


def title_of(text: str) -> str:
    """Return the name of a definition that may have faults."""
    name = _NAME.search(text)
    return name[1] if name else "Untitled"


def begin_working_copy(platform: Platform, text: str, *, staff_id: str, now: datetime) -> str:
    """Begin a new campaign, and return the id of its working copy."""
    with platform.database.writing() as tx:
        if store.count_working_copies(tx, staff_id) >= MAX_WORKING_COPIES:
            raise Conflict(f"You have begun {MAX_WORKING_COPIES} campaigns that do not exist yet. Discard one first.")
        return store.add_working_copy(tx, text, staff_id=staff_id, campaign_id=None, now=now)


def list_working_copies(platform: Platform, *, staff_id: str) -> tuple[ListedWorkingCopy, ...]:
    """Return the new campaigns that a member of staff has begun."""
    with platform.database.reading() as tx:
        return store.list_working_copies(tx, staff_id)


def load_working_copy(platform: Platform, address: CopyAddress, *, staff_id: str) -> WorkingCopy:
    """Return a working copy, which is the definition of a campaign itself if nobody edits it."""
    with platform.database.reading() as tx:
        row, campaign_row = _find_copy(tx, address, staff_id)
        if campaign_row is None:
            return WorkingCopy(text=row.text if row else "", revision=row.revision if row else 0)
        if row is None:
            campaign = platform.definitions.load(tx, campaign_row)
            text = write_definition(shorten_definition(campaign.as_mapping()))
        else:
            text = row.text
        item = next(iter(items_store.iterate_items(tx, campaign_row.id, most=1)), None)
        return WorkingCopy(
            text=text,
            revision=row.revision if row else 0,
            state=campaign_row.state,
            item=item,
            is_outdated=row is not None and row.changed_at < campaign_row.changed_at,
        )


def save_working_copy(
    platform: Platform, address: CopyAddress, text: str, *, revision: int, staff_id: str, now: datetime
) -> None:
    """Save an edit, which does not change the campaign itself."""
    with platform.database.writing() as tx:
        row, campaign_row = _find_copy(tx, address, staff_id)
        if row is not None:
            store.update_working_copy(tx, row.id, text, revision=revision, now=now)
        elif revision or campaign_row is None:
            raise Conflict("The definition was saved or discarded elsewhere since this page was loaded.")
        else:
            store.add_working_copy(tx, text, staff_id=staff_id, campaign_id=campaign_row.id, now=now)


def discard_working_copy(platform: Platform, address: CopyAddress, *, revision: int, staff_id: str) -> None:
    """Discard the edits of a campaign up to a revision, or a new campaign."""
    with platform.database.writing() as tx:
        row, _ = _find_copy(tx, address, staff_id)
        if row is not None:
            store.delete_working_copy(tx, row.id, revision=revision)


def _find_copy(tx: Connection, address: CopyAddress, staff_id: str) -> tuple[WorkingCopyRow | None, CampaignRow | None]:
    """Return a working copy, and its campaign unless it is new."""
    if address.campaign_name:
        campaign_row, _ = campaign_for_member(tx, address.campaign_name, staff_id)
        if campaign_row.state not in ("draft", "paused"):
            raise Conflict(
                f"{campaign_row.name} is {campaign_row.state}, and cannot be changed now. Pause or clone it."
            )
        return store.find_campaign_copy(tx, campaign_row.id), campaign_row
    row = store.find_working_copy(tx, address.copy_id)
    if row is None or row.staff_id != staff_id:
        raise NotFound("There is no such draft. It was created, discarded, or belongs to somebody else.")
    return row, None
