"""What owners see of who is still needed."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dissensus.web.owner_contexts import QuotaPage
from dissensus.web.routes.entering import SiteOf, page
from dissensus.web.routes.owner import By, Name, link
from dissensus.workflows.quota import filling, links

router = APIRouter()


@router.get("/campaigns/{name}/quota")
def see(site: SiteOf, visit: By, request: Request, name: Name) -> Response:
    """Show how the cells of a quota fill, and the links by which a recruiter fills them."""
    quota, cells = filling(site.platform, name, staff_id=visit.owner.id, now=site.clock())
    keys = links(site.platform, name, staff_id=visit.owner.id)
    context = QuotaPage(
        owner=visit.owner.name,
        form_token=visit.form_token,
        name=name,
        quota=quota,
        cells=cells,
        links={cell: link(site, request, name, key) for cell, key in keys.items()},
    )
    return page(site, context)
