"""Report pages: requests, progress, sections with figures, and figures as files."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, get_args
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from dissensus.campaign.report_request import ReportRequest, parse_report_request
from dissensus.errors import InvalidInput, NotFound
from dissensus.schema.advice import site_message
from dissensus.web.core.responses import FIGURE_POLICY, SVG_TYPE, page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.workflows.report import reports
from dissensus.workflows.report.reports import FigureKind, ReportChoices

router = APIRouter()

Authorized = Annotated[StaffRequest, Depends(Require("small-numbers"))]
ReportId = Annotated[str, Path(max_length=36)]
PartName = Annotated[str, Path(max_length=200)]
FIGURE_KINDS: Final[tuple[FigureKind, ...]] = get_args(FigureKind)
MEDIA_TYPES: Final = {"png": "image/png", "csv": "text/csv; charset=utf-8"}
REFRESH_S: Final = 3
"""Interval at which the page of a report renews itself until it is done."""
MAX_TEXT_LENGTH: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsPage(StaffPage):
    """Reports of a campaign, with the form for another one."""

    template: ClassVar[str] = "staff/reports.html"

    name: str
    choices: ReportChoices
    typed: ReportRequest
    faults: tuple[str, ...] = ()

    def describe(self, request: str) -> str:
        """Return the options of a report in words."""
        return parse_report_request(request).description


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage(StaffPage):
    """First page of a report, or a section of it."""

    template: ClassVar[str] = "staff/reports-detail.html"

    name: str
    row: Any
    content: Any  # None until it is done
    section_name: str = ""
    section: Any = None

    @property
    def description(self) -> str:
        """The options in words."""
        return parse_report_request(self.row.request).description


@router.get("/campaigns/{name}/reports")
def show_reports(site: SiteOf, caller: Authorized, name: Name) -> Response:
    """Show the reports of a campaign."""
    return _reports_page(site, caller, name, ReportRequest())


@router.post("/campaigns/{name}/reports")
def request_report(site: SiteOf, caller: Authorized, name: Name, form: StaffForm) -> Response:
    """Ask for a report, or return to the form."""
    names = ("question", "attribute", "value")
    question, attribute, value = (str(form.get(field, "")).strip()[:MAX_TEXT_LENGTH] for field in names)
    axis, _, group = str(form.get("group", "")).partition("=")
    crossed = [str(form.get(field, "")) for field in ("cross_first", "cross_second")]
    request = ReportRequest(
        question=question,
        attribute=attribute,
        value=value,
        axes=tuple(dict.fromkeys(str(axis) for axis in form.getlist("axis"))),
        cross=("*".join(crossed),) if any(crossed) else (),
        axis=axis,
        group=group,
        exclude_flagged=form.get("exclude_flagged") == "yes",
        inference=form.get("inference") == "yes",
    )
    try:
        report_id = reports.request_report(
            site.platform,
            name,
            request,
            with_raters=_shows_raters(caller),
            staff_id=caller.staff.id,
            now=site.clock(),
        )
    except InvalidInput as error:
        return _reports_page(site, caller, name, request, tuple(site_message(error).splitlines()))
    return redirect_to(f"/campaigns/{name}/reports/{report_id}")


def _shows_raters(caller: StaffRequest) -> bool:
    """Return whether reports of a member show single raters and small groups."""
    return "raters" in caller.permissions


def _reports_page(
    site: Site, caller: StaffRequest, name: str, typed: ReportRequest, faults: tuple[str, ...] = ()
) -> Response:
    choices = reports.list_reports(site.platform, name, with_raters=_shows_raters(caller), staff_id=caller.staff.id)
    context = caller.page(ReportsPage, name=name, choices=choices, typed=typed, faults=faults)
    return page(site, context, 422 if faults else 200)


@router.get("/campaigns/{name}/reports/{report_id}")
def show_report(site: SiteOf, caller: Authorized, name: Name, report_id: ReportId) -> Response:
    """Show the first page of a report; until it is done, its progress, which renews itself."""
    return _report_page(site, caller, name, report_id)


@router.get("/campaigns/{name}/reports/{report_id}/{section}")
def show_section(site: SiteOf, caller: Authorized, name: Name, report_id: ReportId, section: PartName) -> Response:
    """Show a section of a report."""
    return _report_page(site, caller, name, report_id, section)


def _report_page(site: Site, caller: StaffRequest, name: str, report_id: str, section: str | None = None) -> Response:
    row, content, shown = reports.load_report(
        site.platform, name, report_id, section=section, with_raters=_shows_raters(caller), staff_id=caller.staff.id
    )
    if row.with_raters and content is not None:
        log_access(site, caller, name, "raters")
    response = page(
        site,
        caller.page(ReportPage, name=name, row=row, content=content, section_name=section or "", section=shown),
    )
    if row.state in ("waiting", "working"):
        response.headers["refresh"] = str(REFRESH_S)
    return response


@router.get("/campaigns/{name}/reports/{report_id}/figures/{figure}/png")
def show_png(
    site: SiteOf, caller: Authorized, name: Name, report_id: ReportId, figure: PartName, _slot: SlowRequestSlot
) -> Response:
    """Send a figure as PNG, which takes a second to draw."""
    return _figure_response(site, caller, name, report_id, figure, "png")


@router.get("/campaigns/{name}/reports/{report_id}/figures/{figure}/{kind}")
def show_figure(
    site: SiteOf, caller: Authorized, name: Name, report_id: ReportId, figure: PartName, kind: PartName
) -> Response:
    """Send a figure as a drawing, or its numbers."""
    figure_kind = next((known for known in FIGURE_KINDS if known == kind), None)
    if figure_kind is None:
        raise NotFound(f"Figures are sent as {', '.join(FIGURE_KINDS)}.")
    return _figure_response(site, caller, name, report_id, figure, figure_kind)


def _figure_response(
    site: Site, caller: StaffRequest, name: str, report_id: str, figure: str, kind: FigureKind
) -> Response:
    row, content = reports.load_figure(
        site.platform, name, report_id, figure, kind, with_raters=_shows_raters(caller), staff_id=caller.staff.id
    )
    if row.with_raters:
        log_access(site, caller, name, "raters")
    extension = kind.rpartition(".")[2]
    file_name = quote(f"{figure}.{extension}", safe="")
    headers = {"content-disposition": f"inline; filename*=UTF-8''{file_name}"}
    return Response(
        content,
        media_type=MEDIA_TYPES.get(extension, SVG_TYPE),
        headers={**headers, "content-security-policy": FIGURE_POLICY},
    )
