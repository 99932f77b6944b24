"""Responses and form data that routes of raters and of staff share."""

from typing import Annotated, Final

from fastapi import Depends
from fastapi.responses import HTMLResponse
from starlette.datastructures import FormData

from dissensus.web.core.forms import read_form_data
from dissensus.web.core.renderer import PageContext
from dissensus.web.core.site import Site

SEE_OTHER: Final = 303


SubmittedForm = Annotated[FormData, Depends(read_form_data)]


def page(site: Site, context: PageContext, status: int = 200) -> HTMLResponse:
    """Render a page as an HTML response."""
    return HTMLResponse(site.renderer.render(context), status)
