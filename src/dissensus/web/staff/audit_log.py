"""Audit log page of a campaign: its events in words."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffPage, StaffRequest
from dissensus.workflows.campaign import audit_log_page
from dissensus.workflows.campaign.audit_log_page import AuditPage

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLogPage(StaffPage):
    """Events of a campaign, the latest first."""

    template: ClassVar[str] = "staff/audit-log.html"

    name: str
    by: Literal["staff", "all"]
    audit: AuditPage
    is_later: bool  # True for a page after the first one


@router.get("/campaigns/{name}/log")
def show_audit_log(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("log"))],
    name: Name,
    by: Literal["staff", "all"] = "staff",
    before: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
) -> Response:
    """Show a page of the audit log: events of staff, or of everybody."""
    audit = audit_log_page.load_audit_page(
        site.platform, name, before=before, by_staff=by == "staff", staff_id=caller.staff.id
    )
    return page(site, caller.page(AuditLogPage, name=name, by=by, audit=audit, is_later=before is not None))
