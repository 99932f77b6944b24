"""Directory page of operators: staff accounts, which they disable and enable."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.web.core.responses import page, redirect_to
from dissensus.web.core.staff_auth import Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.workflows.platform import directory
from dissensus.workflows.platform.directory import StaffAccount

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryPage(StaffPage):
    """All staff accounts."""

    template: ClassVar[str] = "staff/directory.html"

    accounts: tuple[StaffAccount, ...]


@router.get("/directory")
def show_directory(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("directory"))]) -> Response:
    """Show all staff accounts."""
    return page(site, caller.page(DirectoryPage, accounts=directory.list_accounts(site.platform)))


@router.post("/directory/disable")
def disable_account(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("directory", recent=True))], form: StaffForm
) -> Response:
    """Disable an account."""
    directory.disable_account(site.platform, str(form.get("person", "")), by=caller.staff, now=site.clock())
    return redirect_to("/directory")


@router.post("/directory/enable")
def enable_account(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("directory", recent=True))], form: StaffForm
) -> Response:
    """Enable a disabled account."""
    directory.enable_account(site.platform, str(form.get("person", "")), by=caller.staff, now=site.clock())
    return redirect_to("/directory")
