"""Campaigns under way: their figures, and what is decided about raters who are flagged."""

from typing import Annotated

from fastapi import APIRouter, Depends

from dissensus.pipeline.monitor.results import EDGES_S, Figures
from dissensus.web.api.auth import RequireScope, TokenRoute
from dissensus.web.api.error_responses import ERROR_RESPONSES
from dissensus.web.api.idempotency import NewResourceId
from dissensus.web.api.monitoring_schemas import (
    Evidence,
    FiguresShown,
    FlagCase,
    FlagDecision,
    FlagShown,
    ForecastShown,
    Watched,
)
from dissensus.web.api.pagination import AfterCursor, Limit, CursorPage, read_cursor, paginate
from dissensus.web.api.people import RaterId
from dissensus.web.api.requests import FlagVerdictRequest
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, SiteOf, Visit
from dissensus.web.core.suppression import watch_for
from dissensus.workflows.campaign import flags as flags_workflow
from dissensus.workflows.campaign.flags import FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringView, load_monitoring

router = APIRouter(prefix="/api/v1/campaigns/{name}", route_class=TokenRoute, responses=ERROR_RESPONSES, tags=["Watching"])

By = Annotated[Visit, Depends(RequireScope("flags"))]


@router.get("/figures", operation_id="get_figures")
def get_figures(site: SiteOf, visit: Annotated[Visit, Depends(RequireScope("numbers"))], name: Name) -> Watched:
    """Return agreement, answers, times and pace so far; what is about few raters is hidden from analysts."""
    found = watch_for(load_monitoring(site.platform, name, staff_id=visit.staff.id, now=site.clock()), visit.may)
    snapshot, forecast = found.watch.snapshot, found.watch.forecast
    return Watched(
        raters=found.n_raters,
        hidden=found.hidden or found.n_raters is None,
        figures=None if snapshot is None else _figures(snapshot.figures),
        forecast=None if forecast is None else ForecastShown.model_validate(forecast),
        made_at=None if snapshot is None else snapshot.made_at,
        read_at=None if snapshot is None else snapshot.read_at,
    )


def _figures(found: Figures) -> FiguresShown:
    known = {name: getattr(found, name) for name in FiguresShown.model_fields if name != "edges_s"}
    return FiguresShown.model_validate({**known, "edges_s": EDGES_S})


@router.get("/flags", operation_id="list_flags")
def list_flags(site: SiteOf, visit: By, name: Name, limit: Limit = 100, after: AfterCursor = "") -> CursorPage[FlagShown]:
    """List raters who meet a criterion, with the evidence, and those about whom somebody decided."""
    of = f"flags of {name}"
    (last,) = read_cursor(site, of, after) or [""]
    found = load_monitoring(site.platform, name, staff_id=visit.staff.id, now=site.clock())
    flags = [flag for flag in _flags(found) if flag.rater > last][: limit + 1]
    shown, following = paginate(site, of, flags, limit, lambda flag: flag.rater)
    return CursorPage(data=list(shown), next=following)


def _flags(found: MonitoringView) -> list[FlagShown]:
    flagged = {} if found.snapshot is None else {one.rater_id: one for one in found.snapshot.figures.flagged}
    return [
        FlagShown.model_validate({"rater": one, "evidence": flagged.get(one), "decision": found.decisions.get(one)})
        for one in sorted({*flagged, *found.decisions})
    ]


@router.get("/flags/{rater_id}", operation_id="get_flag")
def get_flag(site: SiteOf, visit: By, name: Name, rater_id: RaterId) -> FlagCase:
    """Return the evidence about one rater, and all that was decided."""
    return _case(site, visit, name, rater_id)


@router.post("/flags/{rater_id}/decisions", operation_id="decide_flag", status_code=201)
def decide(site: SiteOf, visit: By, name: Name, rater_id: RaterId, sent: FlagVerdictRequest, decision_id: NewResourceId) -> FlagCase:
    """Keep whether a flagged rater stays in analyses, and why; it holds until the next decision."""
    given = FlagVerdict(id=decision_id, verdict=sent.verdict, reason=sent.reason)
    flags_workflow.decide_flag(site.platform, name, rater_id, given, staff_id=visit.staff.id, now=site.clock())
    return _case(site, visit, name, rater_id)


def _case(site: Site, visit: Visit, name: str, rater_id: str) -> FlagCase:
    found = flags_workflow.load_flag_case(site.platform, name, rater_id, staff_id=visit.staff.id)
    return FlagCase(
        rater=found.rater_id,
        evidence=None if found.flagged is None else Evidence.model_validate(found.flagged),
        pool_median_ms=found.pool_median_ms,
        decisions=[FlagDecision.model_validate(one) for one in found.decisions],
    )
