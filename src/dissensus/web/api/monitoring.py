"""API routes for monitoring, and for decisions about flagged raters."""

from typing import Annotated

from fastapi import APIRouter, Depends

from dissensus.api_models.monitoring import (
    FiguresResource,
    FlagCaseResource,
    FlagDecisionResource,
    FlagResource,
    ForecastResource,
    MonitoringResource,
    RaterEvidenceResource,
)
from dissensus.pipeline.monitor.pace import Forecast
from dissensus.pipeline.monitor.results import EDGES_S, CampaignFigures
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.idempotency import NewResourceId
from dissensus.web.api.members import RaterId
from dissensus.web.api.pagination import AfterCursor, CursorPage, Limit, paginate, read_cursor
from dissensus.web.api.requests import FlagVerdictRequest
from dissensus.web.api.results import refuse_chats
from dissensus.web.core.problem import ERROR_RESPONSES
from dissensus.web.core.restrictions import restrict_monitoring
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, StaffRequest
from dissensus.workflows.campaign import flags as flags_workflow
from dissensus.workflows.campaign.flags import FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringView, load_monitoring

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Monitoring"]
)

Authorized = Annotated[StaffRequest, Depends(RequireScope("flags"))]


@router.get("/figures", operation_id="get_figures")
def get_figures(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(RequireScope("numbers"))], name: Name
) -> MonitoringResource:
    """Return agreement, answers, times and pace; of a closed campaign, without small groups, for observers."""
    refuse_chats(site, caller, name)
    view = restrict_monitoring(
        load_monitoring(site.platform, name, staff_id=caller.staff.id, now=site.clock()), caller.permissions
    )
    snapshot, forecast = view.snapshot, view.forecast
    return MonitoringResource(
        raters=None if snapshot is None else snapshot.figures.pool.n_raters,
        hidden="small-numbers" not in caller.permissions,
        figures=None if snapshot is None else _to_figures(snapshot.figures),
        forecast=None if forecast is None else _to_forecast(forecast),
        updated_at=None if snapshot is None else snapshot.updated_at,
        read_at=None if snapshot is None else snapshot.read_at,
    )


def _to_forecast(forecast: Forecast) -> ForecastResource:
    return ForecastResource(
        target=forecast.target, missing=forecast.missing, per_hour=forecast.per_hour, completed_at=forecast.completed_at
    )


def _to_figures(figures: CampaignFigures) -> FiguresResource:
    fields = {name: getattr(figures, name) for name in FiguresResource.model_fields if name != "edges_s"}
    return FiguresResource.model_validate({**fields, "edges_s": EDGES_S})


@router.get("/flags", operation_id="list_flags")
def list_flags(
    site: SiteOf, caller: Authorized, name: Name, limit: Limit = 100, after: AfterCursor = ""
) -> CursorPage[FlagResource]:
    """List raters who meet a criterion, with the evidence, and raters with a decision."""
    list_name = f"flags of {name}"
    (last,) = read_cursor(site, list_name, after) or [""]
    view = load_monitoring(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    flags = [flag for flag in _to_resources(view) if flag.rater > last][: limit + 1]
    page, next_cursor = paginate(site, list_name, flags, limit, lambda flag: flag.rater)
    return CursorPage(data=list(page), next=next_cursor)


def _to_resources(view: MonitoringView) -> list[FlagResource]:
    flagged = (
        {} if view.snapshot is None else {evidence.rater_id: evidence for evidence in view.snapshot.figures.flagged}
    )
    return [
        FlagResource.model_validate(
            {"rater": rater, "evidence": flagged.get(rater), "decision": view.decisions.get(rater)}
        )
        for rater in sorted({*flagged, *view.decisions})
    ]


@router.get("/flags/{rater_id}", operation_id="get_flag")
def get_flag(site: SiteOf, caller: Authorized, name: Name, rater_id: RaterId) -> FlagCaseResource:
    """Return the evidence about a rater, and all decisions."""
    return _case(site, caller, name, rater_id)


@router.post("/flags/{rater_id}/decisions", operation_id="decide_flag", status_code=201)
def decide(
    site: SiteOf,
    caller: Authorized,
    name: Name,
    rater_id: RaterId,
    body: FlagVerdictRequest,
    decision_id: NewResourceId,
) -> FlagCaseResource:
    """Decide whether a flagged rater stays in analyses; the latest decision is in force."""
    verdict = FlagVerdict(id=decision_id, verdict=body.verdict, reason=body.reason)
    flags_workflow.decide_flag(site.platform, name, rater_id, verdict, staff_id=caller.staff.id, now=site.clock())
    return _case(site, caller, name, rater_id)


def _case(site: Site, caller: StaffRequest, name: str, rater_id: str) -> FlagCaseResource:
    view = flags_workflow.load_flag_case(site.platform, name, rater_id, staff_id=caller.staff.id)
    return FlagCaseResource(
        rater=view.rater_id,
        evidence=None if view.flagged is None else RaterEvidenceResource.model_validate(view.flagged),
        pool_median_ms=view.pool_median_ms,
        decisions=tuple(map(FlagDecisionResource.model_validate, view.decisions)),
    )
