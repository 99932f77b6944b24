"""What owners do to a campaign before raters come: its items, and a dry run."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import DissensusError, InvalidInput
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.forms import LARGEST_SEED, whole_number
from dissensus.web.core.responses import page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.campaign_contexts import Adding, AddingUnderstood, Removing
from dissensus.web.staff.campaign_form import Proposal, read_rated
from dissensus.web.staff.campaigns import MOST_REHEARSING, back
from dissensus.workflows.campaign import campaigns, overview
from dissensus.workflows.campaign.rehearsal import run_rehearsal

router = APIRouter()

MOST_REHEARSED: Final = 2_000
"""Items that all raters of a dry run rate together: a page does not wait longer."""


@router.get("/campaigns/{name}/items")
def ask(site: SiteOf, visit: Annotated[Visit, Depends(May("items"))], name: Name) -> Response:
    """Show the form for more items."""
    campaigns.load_draft_definition(site.platform, name, staff_id=visit.staff.id)
    return _adding(site, visit, name, Proposal())


@router.post("/campaigns/{name}/items")
def add(
    site: SiteOf, visit: Annotated[Visit, Depends(May("items"))], name: Name, sent: Sent, _turn: InTurn
) -> Response:
    """Show what was understood, or add the items, or go back to the form."""
    campaign = campaigns.load_draft_definition(site.platform, name, staff_id=visit.staff.id)
    found, do = read_rated(sent, campaign), sent.get("do")
    if do == "change":
        return _adding(site, visit, name, found)
    if not found.items:
        none = "There are no items. Choose a file, or paste conversations."
        return _adding(site, visit, name, found, *(found.faults or (none,)))
    if do != "add":
        context = AddingUnderstood(
            owner=visit.staff.name, form_token=visit.form_token, name=name, proposal=found, preview=campaign.preview
        )
        return page(site, context)
    try:
        campaigns.add_items(site.platform, name, found.items, staff_id=visit.staff.id, now=site.clock())
    except DissensusError as error:
        return _adding(site, visit, name, found, str(error))
    return back(name)


def _adding(site: Site, visit: Visit, name: str, proposal: Proposal, *faults: str) -> Response:
    context = Adding(owner=visit.staff.name, form_token=visit.form_token, name=name, proposal=proposal, faults=faults)
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}/items/remove")
def ask_to_remove(site: SiteOf, visit: Annotated[Visit, Depends(May("items"))], name: Name) -> Response:
    """Ask before all items go."""
    campaigns.load_draft_definition(site.platform, name, staff_id=visit.staff.id)
    numbers = overview.load_overview(site.platform, name, staff_id=visit.staff.id).numbers
    context = Removing(
        owner=visit.staff.name,
        form_token=visit.form_token,
        name=name,
        n_items=numbers.n_items,
        n_rehearsals=numbers.n_rehearsals,
    )
    return page(site, context)


@router.post("/campaigns/{name}/items/remove")
def remove(site: SiteOf, visit: Annotated[Visit, Depends(May("items"))], name: Name, _sent: Sent) -> Response:
    """Take all items out of a draft."""
    campaigns.remove_items(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    return back(name)


@router.post("/campaigns/{name}/dry-run")
def run(
    site: SiteOf, visit: Annotated[Visit, Depends(May("run_rehearsal"))], name: Name, sent: Sent, _turn: InTurn
) -> Response:
    """Let simulated raters go the whole way."""
    n_raters = whole_number(str(sent.get("raters", "")), "of raters", 1, MOST_REHEARSING)
    seed = whole_number(str(sent.get("seed", "")), "for a seed", 0, LARGEST_SEED)
    n_items = overview.load_overview(site.platform, name, staff_id=visit.staff.id).numbers.n_items
    if n_raters * n_items > MOST_REHEARSED:
        raise InvalidInput(
            f"{n_raters} raters of {n_items:,} items are more than the {MOST_REHEARSED:,} ratings that a page waits "
            f"for. Take fewer raters, or the command: dissensus campaign rehearse {name} --raters {n_raters}"
        )
    run_rehearsal(site.platform, name, n_raters, staff_id=visit.staff.id, seed=seed, now=site.clock())
    return back(name)
