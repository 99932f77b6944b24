"""Curation pages: sample a corpus; the forms carry all state, so nothing is stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import polars as pl
from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import InvalidInput
from dissensus.pipeline.curate import Selection
from dissensus.pipeline.curate.manifest import to_json_lines
from dissensus.pipeline.curate.selection import ExclusionCounts, count_exclusions
from dissensus.pipeline.curate.selection import sample_page as displayed
from dissensus.pipeline.curate.strata import StratumAttribute, list_stratum_attributes
from dissensus.pipeline.tables import Page
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.text.near_duplicates import LEAST
from dissensus.text.personal_data import KINDS
from dissensus.web.core.concurrency_limit import SlowRequestSlot
from dissensus.web.core.responses import page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.campaign_form import CampaignProposal, check_carried, read_items
from dissensus.web.staff.curation_form import BY_NUMBERS, EVERY_KIND, SamplePlanForm, draw_sample, read_plan_form
from dissensus.workflows.campaign import conversation_items

router = APIRouter()

FILES: Final[Mapping[str, Callable[[Selection], str]]] = {
    "sample.jsonl": lambda selection: to_json_lines(selection.sample),
    "plan.json": Selection.to_json,
}
"""Downloads, as the command writes them."""


MAX_OFFERED: Final = 50
"""Maximum item attributes that the form offers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusPage(StaffPage):
    """Form for a corpus."""

    template: ClassVar[str] = "staff/curation.html"

    proposal: CampaignProposal
    typed: SamplePlanForm
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlanPage(StaffPage):
    """Form for a sampling plan."""

    template: ClassVar[str] = "staff/curation-plan.html"
    kinds: ClassVar[tuple[str, ...]] = KINDS
    every: ClassVar[str] = EVERY_KIND
    by_numbers: ClassVar[str] = BY_NUMBERS
    least: ClassVar[float] = LEAST

    proposal: CampaignProposal
    typed: SamplePlanForm
    dividers: tuple[StratumAttribute, ...]
    faults: tuple[str, ...] = ()

    @property
    def offered(self) -> tuple[StratumAttribute, ...]:
        """Attributes that may divide the items, and those that were ticked."""
        good = [one for one in self.dividers if one.divides][:MAX_OFFERED]
        return tuple(one for one in self.dividers if one in good or one.name in self.typed.by)

    @property
    def others(self) -> tuple[str, ...]:
        """Attributes that are not offered."""
        offered = {one.name for one in self.offered}
        return tuple(one.name for one in self.dividers if one.name not in offered)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSamplePage(StaffPage):
    """A drawn sample."""

    template: ClassVar[str] = "staff/curation-drawn.html"

    proposal: CampaignProposal
    typed: SamplePlanForm
    selection: Selection
    shipped: tuple[str, ...]

    @property
    def told(self) -> Page:
        """The strata and the notes, in the words of the command."""
        return displayed(self.selection)

    @property
    def numbers(self) -> str:
        """Chosen number of items per stratum, as the plan form takes it."""
        chosen = self.selection.strata.filter(pl.col("stratum").is_not_null() & (pl.col("n_chosen") > 0))
        rows = chosen.select("stratum", "n_chosen").iter_rows() if self.selection.plan.by else ()
        return "\n".join(f"{name} = {n}" for name, n in rows)

    @property
    def left_out(self) -> tuple[ExclusionCounts, ...]:
        """Items that could not be drawn, with reasons."""
        return count_exclusions(self.selection)

    @property
    def sample(self) -> CampaignProposal:
        """The chosen items, as a form carries them."""
        return CampaignProposal(items=self.selection.sample)


@router.get("/curation")
def ask(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))]) -> Response:
    """Show the form for a corpus."""
    return _choosing(site, caller, CampaignProposal(), SamplePlanForm())


@router.post("/curation")
def curate(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))], sent: StaffForm, _turn: SlowRequestSlot
) -> Response:
    """Show the plan form or the drawn sample, or download it."""
    found, typed, do = read_items(sent), read_plan_form(sent), str(sent.get("do"))
    if do == "corpus":
        return _choosing(site, caller, found, typed)
    if not found.items:
        none = "There are no items. Choose a file, or paste conversations."
        return _choosing(site, caller, found, typed, *(found.faults or (none,)))
    if do == "plan":
        return _planning(site, caller, found, typed)
    drawn = draw_sample(typed, found.items)
    if drawn.selection is None:
        return _planning(site, caller, found, typed, *drawn.faults)
    if do not in FILES:
        return _drawn(site, caller, found, typed, drawn.selection)
    try:
        return _file(do, FILES[do](drawn.selection))
    except InvalidInput as error:
        return _planning(site, caller, found, typed, str(error))


@router.post("/campaigns/{name}/conversations")
def curate_conversations(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("items"))], name: Name, _turn: SlowRequestSlot
) -> Response:
    """Show the plan form for the conversations of a campaign."""
    found = conversation_items.list_conversation_items(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    check_carried(found)
    return _planning(site, caller, CampaignProposal(items=found), SamplePlanForm())


def _choosing(
    site: Site, caller: StaffRequest, proposal: CampaignProposal, typed: SamplePlanForm, *faults: str
) -> Response:
    context = caller.page(CorpusPage, proposal=proposal, typed=typed, faults=faults)
    return page(site, context, 422 if faults else 200)


def _planning(
    site: Site, caller: StaffRequest, proposal: CampaignProposal, typed: SamplePlanForm, *faults: str
) -> Response:
    context = caller.page(
        SamplePlanPage,
        proposal=proposal,
        typed=typed,
        dividers=list_stratum_attributes(proposal.items),
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def _drawn(
    site: Site, caller: StaffRequest, proposal: CampaignProposal, typed: SamplePlanForm, selection: Selection
) -> Response:
    context = caller.page(
        DrawnSamplePage,
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
