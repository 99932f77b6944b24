"""Quota page: progress of each cell, and its entry link."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from dissensus.campaign.quota_progress import CellProgress
from dissensus.schema.campaign.quota import REST, Quota
from dissensus.schema.ratings.columns import CROSSED
from dissensus.web.core.responses import page
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffPage, StaffRequest
from dissensus.workflows.campaign.quota import load_quota_progress
from dissensus.workflows.rater.invite_links import load_entry_links

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPage(StaffPage):
    """Progress of the cells of a quota."""

    template: ClassVar[str] = "staff/quota.html"

    name: str
    quota: Quota
    cells: tuple[CellProgress, ...]
    links: Mapping[str, str]
    permissions: frozenset[str]

    @property
    def rows(self) -> tuple[tuple[str, tuple[CellProgress, ...]], ...]:
        """Cells as a table: a row for each combination of all axes but the last."""
        cells = [cell for cell in self.cells if cell.cell != REST]
        width = len(self.columns)
        starts = range(0, len(cells), width)
        return tuple(
            (CROSSED.join(cells[start].cell.split(CROSSED)[:-1]), tuple(cells[start : start + width]))
            for start in starts
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Groups of the last axis."""
        return tuple(list(self.quota.axes.values())[-1])

    @property
    def other_cell(self) -> CellProgress | None:
        """Cell of raters outside all groups."""
        return next((cell for cell in self.cells if cell.cell == REST), None)


@router.get("/campaigns/{name}/quota")
def show_quota(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("small-numbers"))], request: Request, name: Name
) -> Response:
    """Show the progress of each quota cell, with entry links for those who may see them."""
    quota, cells = load_quota_progress(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    address = site.address_for(request)
    links = (
        load_entry_links(site.platform, name, address, staff_id=caller.staff.id).cells
        if "links" in caller.permissions
        else {}
    )
    context = caller.page(QuotaPage, name=name, quota=quota, cells=cells, links=links, permissions=caller.permissions)
    return page(site, context)
