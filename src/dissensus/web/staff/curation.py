"""How staff draw a sample of a corpus: pages that carry all they know, so that nothing is kept of it."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import InvalidInput
from dissensus.pipeline.curate import Selection
from dissensus.pipeline.curate.manifest import lines
from dissensus.pipeline.curate.strata import dividers
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.web.core.concurrency_limit import InTurn
from dissensus.web.core.responses import page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import May, Name, Sent, SiteOf, Visit
from dissensus.web.staff.campaign_form import Proposal, check_carried, read_rated
from dissensus.web.staff.curation_contexts import Corpus, Planning, SampleDrawn
from dissensus.web.staff.curation_form import Typed, draw, read_typed
from dissensus.workflows.campaign import conversation_items

router = APIRouter()

FILES: Final[Mapping[str, Callable[[Selection], str]]] = {
    "sample.jsonl": lambda selection: lines(selection.sample),
    "plan.json": Selection.to_json,
}
"""What can be downloaded, as the command writes it."""


@router.get("/curation")
def ask(site: SiteOf, visit: Annotated[Visit, Depends(May("create"))]) -> Response:
    """Show the form for a corpus."""
    return _choosing(site, visit, Proposal(), Typed())


@router.post("/curation")
def curate(site: SiteOf, visit: Annotated[Visit, Depends(May("create"))], sent: Sent, _turn: InTurn) -> Response:
    """Show the form for a plan, or what it draws, or send that as a file, or go back."""
    found, typed, do = read_rated(sent), read_typed(sent), str(sent.get("do"))
    if do == "corpus":
        return _choosing(site, visit, found, typed)
    if not found.items:
        none = "There are no items. Choose a file, or paste conversations."
        return _choosing(site, visit, found, typed, *(found.faults or (none,)))
    if do == "plan":
        return _planning(site, visit, found, typed)
    drawn = draw(typed, found.items)
    if drawn.selection is None:
        return _planning(site, visit, found, typed, *drawn.faults)
    if do not in FILES:
        return _drawn(site, visit, found, typed, drawn.selection)
    try:
        return _file(do, FILES[do](drawn.selection))
    except InvalidInput as error:
        return _planning(site, visit, found, typed, str(error))


@router.post("/campaigns/{name}/conversations")
def curate_conversations(
    site: SiteOf, visit: Annotated[Visit, Depends(May("items"))], name: Name, _turn: InTurn
) -> Response:
    """Show the form for a plan over the conversations that a campaign has collected."""
    found = conversation_items.list_conversation_items(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    check_carried(found)
    return _planning(site, visit, Proposal(items=found), Typed())


def _choosing(site: Site, visit: Visit, proposal: Proposal, typed: Typed, *faults: str) -> Response:
    context = Corpus(owner=visit.staff.name, form_token=visit.form_token, proposal=proposal, typed=typed, faults=faults)
    return page(site, context, 422 if faults else 200)


def _planning(site: Site, visit: Visit, proposal: Proposal, typed: Typed, *faults: str) -> Response:
    context = Planning(
        owner=visit.staff.name,
        form_token=visit.form_token,
        proposal=proposal,
        typed=typed,
        dividers=dividers(proposal.items),
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def _drawn(site: Site, visit: Visit, proposal: Proposal, typed: Typed, selection: Selection) -> Response:
    context = SampleDrawn(
        owner=visit.staff.name,
        form_token=visit.form_token,
        proposal=proposal,
        typed=typed,
        selection=selection,
        shipped=shipped(),
    )
    return page(site, context)


def _file(name: str, text: str) -> Response:
    kind = "application/json" if name.endswith(".json") else "application/x-ndjson"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(f"{text}\n".encode(), media_type=kind, headers=headers)
