"""Draft pages: items and dry runs of a campaign before it opens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.datastructures import FormData

from dissensus.errors import Conflict, InvalidInput
from dissensus.files.item_import import ColumnRole
from dissensus.files.items import Items
from dissensus.files.pairs.items import reader_for
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.schema.records.item import Item
from dissensus.web.core.forms import MAX_SEED, parse_whole_number
from dissensus.web.core.responses import page
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.campaign_form import NO_ITEMS, CampaignProposal, read_items
from dissensus.web.staff.campaigns import MAX_REHEARSAL_RATERS, redirect_to_campaign
from dissensus.web.staff.drafts.item_import import (
    MAX_LISTED,
    ROLE_LABELS,
    ItemTableProposal,
    holds_table,
    read_item_table,
)
from dissensus.workflows.campaign import campaigns, images, overview
from dissensus.workflows.campaign.rehearsal import run_rehearsal

router = APIRouter()

MAX_REHEARSED_RATINGS: Final = 2_000
"""Maximum ratings of a dry run that is started from a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddItemsPage(StaffPage):
    """Form for adding items to a draft."""

    template: ClassVar[str] = "staff/drafts-items.html"

    name: str
    proposal: CampaignProposal
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsPreviewPage(StaffPage):
    """Parsed items before they are added."""

    template: ClassVar[str] = "staff/drafts-items-preview.html"

    name: str
    proposal: CampaignProposal
    campaign: Campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTablePage(StaffPage):
    """Columns of a table of items, what would be added, and what is refused."""

    template: ClassVar[str] = "staff/drafts-items-table.html"
    role_labels: ClassVar[Mapping[ColumnRole, str]] = ROLE_LABELS
    max_listed: ClassVar[int] = MAX_LISTED

    name: str
    proposal: ItemTableProposal
    campaign: Campaign
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveItemsPage(StaffPage):
    """Confirmation before all items of a draft are removed."""

    template: ClassVar[str] = "staff/drafts-items-removal.html"

    name: str
    n_items: int
    n_rehearsals: int


@router.get("/campaigns/{name}/items/add")
def show_form(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("items"))], name: Name) -> Response:
    """Show the form for more items."""
    campaigns.load_draft_definition(site.platform, name, staff_id=caller.staff.id)
    return _add_items_page(site, caller, name, CampaignProposal())


@router.post("/campaigns/{name}/items")
def add_items(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("items"))],
    name: Name,
    form: StaffForm,
    _slot: SlowRequestSlot,
) -> Response:
    """Preview the items, add them, or return to the form."""
    campaign = campaigns.load_draft_definition(site.platform, name, staff_id=caller.staff.id)
    if holds_table(form) and form.get("action") != "change":
        return _import_table(site, caller, name, campaign, form)
    proposal, action = read_items(form, campaign), form.get("action")
    if action == "change":
        return _add_items_page(site, caller, name, proposal)
    if not proposal.items:
        return _add_items_page(site, caller, name, proposal, *(proposal.faults or (NO_ITEMS,)))
    if action != "add":
        context = caller.page(ItemsPreviewPage, name=name, proposal=proposal, campaign=campaign)
        return page(site, context)
    try:
        campaigns.add_items(site.platform, name, proposal.items, staff_id=caller.staff.id, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _add_items_page(site, caller, name, proposal, site_message(error))
    return redirect_to_campaign(name)


def _import_table(site: Site, caller: StaffRequest, name: str, campaign: Campaign, form: FormData) -> Response:
    """Preview the items of a table, return its refused rows as a file, or add its new items."""

    def compare(items: tuple[Item, ...]) -> campaigns.ItemComparison:
        return campaigns.compare_items(site.platform, name, items, staff_id=caller.staff.id)

    _, rows = images.list_images(site.platform, name, staff_id=caller.staff.id)
    names, reader = frozenset(row.name for row in rows), reader_for(campaign)

    def read_items_with_images(table: Any) -> Items:
        result = reader(table)
        images.check_item_images(result.items, names)
        return result

    try:
        proposal = read_item_table(form, read_items_with_images, compare)
    except InvalidInput as error:
        return _add_items_page(site, caller, name, CampaignProposal(), f"The items: {site_message(error)}")
    if form.get("action") == "refused":
        file = f"{name}-refused-rows.csv"
        return site.downloads.respond(caller.staff.id, [proposal.refused_csv], media_type="text/csv", name=file)
    faults = () if proposal.fault is None else (proposal.fault,)
    if form.get("action") == "add" and not faults:
        try:
            if not proposal.items:
                raise InvalidInput("There is no new item to add.")
            campaigns.add_items(site.platform, name, proposal.items, staff_id=caller.staff.id, now=site.clock())
            return redirect_to_campaign(name)
        except (InvalidInput, Conflict) as error:
            faults = (site_message(error),)
    context = caller.page(ItemTablePage, name=name, proposal=proposal, campaign=campaign, faults=faults)
    return page(site, context, 422 if faults else 200)


def _add_items_page(site: Site, caller: StaffRequest, name: str, proposal: CampaignProposal, *faults: str) -> Response:
    context = caller.page(AddItemsPage, name=name, proposal=proposal, faults=faults)
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}/items/remove")
def show_remove_form(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("items"))], name: Name) -> Response:
    """Ask for confirmation before all items are removed."""
    campaigns.load_draft_definition(site.platform, name, staff_id=caller.staff.id)
    numbers = overview.load_overview(site.platform, name, staff_id=caller.staff.id).numbers
    context = caller.page(
        RemoveItemsPage,
        name=name,
        n_items=numbers.n_items,
        n_rehearsals=numbers.n_rehearsals,
    )
    return page(site, context)


@router.post("/campaigns/{name}/items/remove")
def remove_items(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("items"))], name: Name, _form: StaffForm
) -> Response:
    """Remove all items of a draft."""
    campaigns.remove_items(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    return redirect_to_campaign(name)


@router.post("/campaigns/{name}/dry-run")
def perform_dry_run(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("rehearse"))],
    name: Name,
    form: StaffForm,
    _slot: SlowRequestSlot,
) -> Response:
    """Perform a dry run: simulated raters rate the items of a draft."""
    n_raters = parse_whole_number(str(form.get("raters", "")), "of raters", 1, MAX_REHEARSAL_RATERS)
    seed = parse_whole_number(str(form.get("seed", "")), "for a seed", 0, MAX_SEED)
    n_items = overview.load_overview(site.platform, name, staff_id=caller.staff.id).numbers.n_items
    if n_raters * n_items > MAX_REHEARSED_RATINGS:
        raise InvalidInput(
            f"{n_raters} raters of {n_items:,} items are more than the {MAX_REHEARSED_RATINGS:,} ratings that a page "
            f"allows. Use fewer raters, or the command: dissensus campaign rehearse {name} --raters {n_raters}"
        )
    run_rehearsal(site.platform, name, n_raters, staff_id=caller.staff.id, seed=seed, now=site.clock())
    return redirect_to_campaign(name)
