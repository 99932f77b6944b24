"""Plan pages of a draft: questions, plans with their figures, and their adoption."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response

from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound, UndefinedEstimate
from dissensus.schema.advice import site_message
from dissensus.schema.ratings.columns import CROSSED
from dissensus.web.core.responses import FIGURE_POLICY, SVG_TYPE, page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.web.planning.plan_fields import PlanQuestion, build_questions
from dissensus.web.planning.plan_form import SIMULATIONS, compute_plan, read_texts
from dissensus.workflows.planning import campaign_plans
from dissensus.workflows.planning.campaign_plans import PlanListing, StoredPlan

router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("revise"))]
PlanId = Annotated[str, Path(max_length=36)]
PartName = Annotated[str, Path(max_length=200)]
DRAWINGS: Final = ("svg", "narrow.svg", "dark.svg", "narrow.dark.svg")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlansPage(StaffPage):
    """Plans of a campaign, with the form of a question."""

    template: ClassVar[str] = "staff/plans.html"
    simulations: ClassVar[int] = SIMULATIONS

    name: str
    listing: PlanListing
    questions: Mapping[str, PlanQuestion]
    question: PlanQuestion
    typed: Mapping[str, str]
    faults: tuple[str, ...] = ()

    def value(self, name: str) -> str:
        """Return the text of a field: what was typed, else its default."""
        default = next(field.default for field in self.question.fields if field.name == name)
        return self.typed.get(name, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPage(StaffPage):
    """A plan with its figures and tables."""

    template: ClassVar[str] = "staff/plans-detail.html"

    name: str
    plan: StoredPlan
    title: str
    faults: tuple[str, ...] = ()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Numbers for the campaign, with their labels."""
        numbers = self.plan.numbers
        quota = numbers.get("quota", {})
        cells = "".join(
            f"; {CROSSED.join(cell['groups'].values())} {cell['seats']:,}" for cell in quota.get("cells", ())
        )
        margin = f", and {quota['margin_percent']} % more" if quota.get("margin_percent") else ""
        facts = {
            "Ratings per item": _format_whole(numbers.get("replication")),
            "Items per rater, at most": _format_whole(numbers.get("max_items")),
            "Seats of a cell": _format_whole(quota.get("seats")) + margin + cells,
            "Seats outside all groups": _format_whole(quota.get("rest")),
        }
        return tuple((label, text) for label, text in facts.items() if text)


def _format_whole(number: int | None) -> str:
    return f"{number:,}" if number else ""


@router.get("/campaigns/{name}/plans")
def show_plans(
    site: SiteOf, caller: Authorized, name: Name, question: Annotated[str, Query(max_length=20)] = "groups"
) -> Response:
    """Show the plans of a campaign, and the form of a question."""
    return _plans_page(site, caller, name, question, {})


@router.post("/campaigns/{name}/plans")
def create_plan(site: SiteOf, caller: Authorized, name: Name, form: StaffForm, _slot: SlowRequestSlot) -> Response:
    """Compute and store a plan, or return to the form."""
    listing = campaign_plans.list_plans(site.platform, name, staff_id=caller.staff.id)
    question = _find_question(listing, str(form.get("question", "")))
    texts = read_texts(form, question, listing.campaign)
    try:
        campaign_plans.check_draft(listing.campaign_row)
        plan, tables = compute_plan(texts)
        plan_id = campaign_plans.add_plan(
            site.platform, name, plan, tables, question=question.name, staff_id=caller.staff.id, now=site.clock()
        )
    except (InvalidInput, UndefinedEstimate, NotFound, Conflict) as error:
        return _plans_page(site, caller, name, question.name, texts.values, error)
    return redirect_to(f"/campaigns/{name}/plans/{plan_id}")


def _plans_page(
    site: Site,
    caller: StaffRequest,
    name: str,
    question: str,
    typed: Mapping[str, str],
    error: DissensusError | None = None,
) -> Response:
    listing = campaign_plans.list_plans(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(
        PlansPage,
        name=name,
        listing=listing,
        questions=build_questions(listing.campaign, listing.n_items),
        question=_find_question(listing, question),
        typed=typed,
        faults=() if error is None else (site_message(error),),
    )
    return page(site, context, 200 if error is None else 409 if isinstance(error, Conflict) else 422)


def _find_question(listing: PlanListing, name: str) -> PlanQuestion:
    questions = build_questions(listing.campaign, listing.n_items)
    if name not in questions:
        raise NotFound(f"There is no such plan. Questions are {', '.join(questions)}.")
    return questions[name]


@router.get("/campaigns/{name}/plans/{plan_id}")
def show_plan(site: SiteOf, caller: Authorized, name: Name, plan_id: PlanId) -> Response:
    """Show a plan with its figures."""
    return _plan_page(site, caller, name, plan_id)


def _plan_page(site: Site, caller: StaffRequest, name: str, plan_id: str, *faults: str) -> Response:
    plan = campaign_plans.load_plan(site.platform, name, plan_id, staff_id=caller.staff.id)
    listing = campaign_plans.list_plans(site.platform, name, staff_id=caller.staff.id)
    question = build_questions(listing.campaign, listing.n_items).get(plan.row.question)
    title = question.title if question else "Plan"
    return page(site, caller.page(PlanPage, name=name, plan=plan, title=title, faults=faults), 422 if faults else 200)


@router.get("/campaigns/{name}/plans/{plan_id}/plan.json")
def download_plan(site: SiteOf, caller: Authorized, name: Name, plan_id: PlanId) -> Response:
    """Send a plan as a file, for `dissensus campaign new --plan`."""
    plan = campaign_plans.load_plan(site.platform, name, plan_id, staff_id=caller.staff.id)
    return site.downloads.respond(
        caller.staff.id, [plan.file.encode()], media_type="application/json", name=f"{name}-plan.json"
    )


@router.get("/campaigns/{name}/plans/{plan_id}/figures/{figure}/{kind}")
def show_figure(
    site: SiteOf, caller: Authorized, name: Name, plan_id: PlanId, figure: PartName, kind: PartName
) -> Response:
    """Send a figure as a drawing."""
    if kind not in DRAWINGS:
        raise NotFound(f"Figures are sent as {', '.join(DRAWINGS)}.")
    drawing = campaign_plans.load_figure(site.platform, name, plan_id, figure, kind, staff_id=caller.staff.id)
    return Response(drawing, media_type=SVG_TYPE, headers={"content-security-policy": FIGURE_POLICY})


@router.post("/campaigns/{name}/plans/{plan_id}/adoption")
def adopt_plan(site: SiteOf, caller: Authorized, name: Name, plan_id: PlanId, _form: StaffForm) -> Response:
    """Take the numbers of a plan into the draft, or show why they do not fit."""
    try:
        campaign_plans.adopt_plan(site.platform, name, plan_id, staff_id=caller.staff.id, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _plan_page(site, caller, name, plan_id, site_message(error))
    return redirect_to(f"/campaigns/{name}/plans/{plan_id}")
