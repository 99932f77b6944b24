"""Opening page: the check of a draft, and the confirmation before it opens."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.campaign.opening import CHANGEABLE_PARTS, FIXED_PARTS, Finding
from dissensus.web.core.responses import page
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffPage, StaffRequest
from dissensus.web.staff.campaigns import redirect_to_campaign
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.opening import check_draft

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningPage(StaffPage):
    """Confirmation before a draft opens, with the findings of its check."""

    template: ClassVar[str] = "staff/opening.html"

    name: str
    findings: tuple[Finding, ...]
    fixed: ClassVar[tuple[str, ...]] = FIXED_PARTS
    changeable: ClassVar[tuple[str, ...]] = CHANGEABLE_PARTS


@router.get("/campaigns/{name}/opening")
def show_opening(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("state"))], name: Name, _slot: SlowRequestSlot
) -> Response:
    """Show the check of a draft before it opens, or redirect to the page of a campaign that is not a draft."""
    campaign_row, _ = campaigns.load_campaign(site.platform, name, staff_id=caller.staff.id)
    if campaign_row.state != "draft":
        return redirect_to_campaign(name)
    findings = check_draft(site.platform, name, site.services, staff_id=caller.staff.id)
    return page(site, caller.page(OpeningPage, name=name, findings=findings))
