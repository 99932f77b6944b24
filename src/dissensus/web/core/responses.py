"""Responses that routes share: pages, redirects, and images."""

import re
from typing import Annotated, Final

from fastapi import Depends
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData

from dissensus.schema.records.image import StoredImage
from dissensus.web.core.forms import read_form_data
from dissensus.web.core.renderer import PageContext
from dissensus.web.core.site import Site

SEE_OTHER: Final = 303
LOCAL_PATH: Final = re.compile(r"/|(/[\w.~%@:+,-]+)+(\?[\w.~%@:+,=&-]*)?", re.ASCII)
"""Paths of pages of this site; `//host` and `/\\host` would lead to another one."""
MAX_PATH_LENGTH: Final = 500
IMAGE_HEADERS: Final = {"content-security-policy": "default-src 'none'; sandbox", "content-disposition": "inline"}
SVG_TYPE: Final = "image/svg+xml"
FIGURE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""Content security policy of drawings, whose texts have styles of their own."""


SubmittedForm = Annotated[FormData, Depends(read_form_data)]


def page(site: Site, context: PageContext, status: int = 200) -> HTMLResponse:
    """Render a page as an HTML response."""
    return HTMLResponse(site.renderer.render(context), status)


def redirect_to(path: str) -> RedirectResponse:
    """Redirect to the page that follows a processed form, which the browser requests with GET."""
    return RedirectResponse(path, SEE_OTHER)


def image_response(image: StoredImage) -> Response:
    """Return a response with an image, which a browser can only show as one."""
    return Response(image.content, media_type=image.media_type, headers=IMAGE_HEADERS)


def is_local_path(path: str) -> bool:
    """Return whether a path, with its query, leads to a page of this site.

    Examples
    --------
    >>> is_local_path("/campaigns/pilot?page=2"), is_local_path("//example.org"), is_local_path("https://example.org")
    (True, False, False)
    """
    return len(path) <= MAX_PATH_LENGTH and LOCAL_PATH.fullmatch(path) is not None
