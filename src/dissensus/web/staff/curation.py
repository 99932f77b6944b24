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
from dissensus.pipeline.curate.strata import StratumAttribute, list_stratum_attributes
from dissensus.pipeline.tables import Page
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.shipped import campaigns as shipped
from dissensus.text.near_duplicates import MIN_THRESHOLD
from dissensus.text.personal_data import KINDS
from dissensus.web.core.responses import page
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.staff.campaign_form import NO_ITEMS, CampaignProposal, check_items, read_items
from dissensus.web.staff.curation_form import ALL_KINDS, BY_NUMBERS, SamplePlanForm, draw_sample, read_plan_form
from dissensus.workflows.export.conversations import list_conversation_items

router = APIRouter()

FILES: Final[Mapping[str, Callable[[Selection], str]]] = {
    "sample.jsonl": lambda selection: to_json_lines(selection.sample),
    "plan.json": Selection.to_json,
}
"""Downloads, in the formats of the command."""
MAX_OFFERED: Final = 50
"""Maximum number of item attributes that the form offers, unless more are ticked."""


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
    all_kinds: ClassVar[str] = ALL_KINDS
    by_numbers: ClassVar[str] = BY_NUMBERS
    min_similarity: ClassVar[float] = MIN_THRESHOLD

    proposal: CampaignProposal
    typed: SamplePlanForm
    attributes: tuple[StratumAttribute, ...]
    faults: tuple[str, ...] = ()

    @property
    def offered_attributes(self) -> tuple[StratumAttribute, ...]:
        """The first `MAX_OFFERED` attributes that can define strata, and those that were ticked."""
        usable = [attribute for attribute in self.attributes if attribute.divides][:MAX_OFFERED]
        return tuple(
            attribute for attribute in self.attributes if attribute in usable or attribute.name in self.typed.by
        )

    @property
    def omitted_attributes(self) -> tuple[str, ...]:
        """Names of the attributes that are not offered."""
        offered_names = {attribute.name for attribute in self.offered_attributes}
        return tuple(attribute.name for attribute in self.attributes if attribute.name not in offered_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSamplePage(StaffPage):
    """A drawn sample."""

    template: ClassVar[str] = "staff/curation-drawn.html"

    proposal: CampaignProposal
    typed: SamplePlanForm
    selection: Selection
    shipped: tuple[str, ...]

    @property
    def summary(self) -> Page:
        """Strata and notes, as the command prints them."""
        return self.selection.page()

    @property
    def numbers(self) -> str:
        """Chosen number of items per stratum, in the format of the plan form."""
        chosen = self.selection.strata.filter(pl.col("stratum").is_not_null() & (pl.col("n_chosen") > 0))
        rows = chosen.select("stratum", "n_chosen").iter_rows() if self.selection.plan.by else ()
        return "\n".join(f"{name} = {n}" for name, n in rows)

    @property
    def exclusions(self) -> tuple[ExclusionCounts, ...]:
        """Items that could not be drawn, with reasons."""
        return count_exclusions(self.selection)

    @property
    def sample(self) -> CampaignProposal:
        """The chosen items, as a form carries them."""
        return CampaignProposal(items=self.selection.sample)


@router.get("/curation")
def show_form(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))]) -> Response:
    """Show the form for a corpus."""
    return _corpus_page(site, caller, CampaignProposal(), SamplePlanForm())


@router.post("/curation")
def curate_corpus(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("create"))], form: StaffForm, _slot: SlowRequestSlot
) -> Response:
    """Show the plan form or the drawn sample, or download it."""
    proposal, typed, action = read_items(form), read_plan_form(form), str(form.get("action"))
    if action == "corpus":
        return _corpus_page(site, caller, proposal, typed)
    if not proposal.items:
        return _corpus_page(site, caller, proposal, typed, *(proposal.faults or (NO_ITEMS,)))
    if action == "plan":
        return _plan_page(site, caller, proposal, typed)
    result = draw_sample(typed, proposal.items)
    if result.selection is None:
        return _plan_page(site, caller, proposal, typed, *result.faults)
    if action not in FILES:
        return _sample_page(site, caller, proposal, typed, result.selection)
    try:
        return _file_response(action, FILES[action](result.selection))
    except InvalidInput as error:
        return _plan_page(site, caller, proposal, typed, site_message(error))


@router.post("/campaigns/{name}/conversations")
def curate_conversations(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("items"))],
    name: Name,
    _form: StaffForm,
    _slot: SlowRequestSlot,
) -> Response:
    """Show the plan form for the conversations of a campaign."""
    items = list_conversation_items(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    check_items(items)
    return _plan_page(site, caller, CampaignProposal(items=items), SamplePlanForm())


def _corpus_page(
    site: Site, caller: StaffRequest, proposal: CampaignProposal, typed: SamplePlanForm, *faults: str
) -> Response:
    context = caller.page(CorpusPage, proposal=proposal, typed=typed, faults=faults)
    return page(site, context, 422 if faults else 200)


def _plan_page(
    site: Site, caller: StaffRequest, proposal: CampaignProposal, typed: SamplePlanForm, *faults: str
) -> Response:
    context = caller.page(
        SamplePlanPage,
        proposal=proposal,
        typed=typed,
        attributes=list_stratum_attributes(proposal.items),
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


def _sample_page(
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


def _file_response(name: str, text: str) -> Response:
    media_type = "application/json" if name.endswith(".json") else "application/x-ndjson"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(f"{text}\n".encode(), media_type=media_type, headers=headers)
