"""Settings of a campaign: clone, webhooks, withdrawal, permission for a judge, archive and deletion."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.schema.advice import site_message
from dissensus.schema.campaign.definition import Campaign
from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.workflows.campaign import campaign_deletion, campaigns
from dissensus.workflows.campaign.campaign_deletion import DeletionPreview
from dissensus.workflows.judge import permission

if TYPE_CHECKING:
    from dissensus.store.campaigns import CampaignRow

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSettingsPage(StaffPage):
    """Settings of a campaign."""

    template: ClassVar[str] = "staff/campaign-settings.html"

    campaign_row: "CampaignRow"
    campaign: Campaign
    deletion: DeletionPreview
    confirmation: str = ""
    judge_url: str | None = None  # Address of a judge that was refused, as typed
    faults: tuple[str, ...] = ()

    @property
    def fault_title(self) -> str:
        """Heading above the faults."""
        return "Nothing was deleted" if self.judge_url is None else "Nothing was permitted"


@router.get("/campaigns/{name}/settings")
def show_settings(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("revise"))], name: Name) -> Response:
    """Show the settings of a campaign."""
    return _settings_page(site, caller, name)


def _settings_page(
    site: Site, caller: StaffRequest, name: str, *faults: str, confirmation: str = "", judge_url: str | None = None
) -> Response:
    campaign_row, campaign = campaigns.load_campaign(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(
        CampaignSettingsPage,
        campaign_row=campaign_row,
        campaign=campaign,
        deletion=campaign_deletion.preview_deletion(site.platform, name, staff_id=caller.staff.id),
        confirmation=confirmation,
        judge_url=judge_url,
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)


@router.post("/campaigns/{name}/judge")
def permit_judge(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("judge"))], name: Name, form: StaffForm
) -> Response:
    """Permit that texts are sent to a judge at an address, or take the permission back."""
    url = None if form.get("revoke") == "yes" else str(form.get("url", "")).strip()
    try:
        permission.permit_judge(site.platform, name, url, staff_id=caller.staff.id, now=site.clock())
    except InvalidInput as error:
        return _settings_page(site, caller, name, site_message(error), judge_url=url)
    return redirect_to(f"/campaigns/{name}/settings#judge")


@router.post("/campaigns/{name}/archive")
def archive_campaign(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("archive"))], name: Name, form: StaffForm
) -> Response:
    """Archive a closed campaign, or take it out of the archive."""
    archived = form.get("archived") == "yes"
    campaign_deletion.archive_campaign(
        site.platform, name, archived=archived, staff_id=caller.staff.id, now=site.clock()
    )
    return redirect_to(f"/campaigns/{name}")


@router.post("/campaigns/{name}/delete")
def delete_campaign(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("delete"))], name: Name, form: StaffForm
) -> Response:
    """Delete a campaign once its name was typed."""
    confirmation = str(form.get("confirmation", ""))
    try:
        campaign_deletion.delete_campaign(
            site.platform, name, confirmation=confirmation, staff_id=caller.staff.id, now=site.clock()
        )
    except (Conflict, InvalidInput) as error:
        return _settings_page(site, caller, name, site_message(error), confirmation=confirmation)
    return redirect_to("/campaigns")
