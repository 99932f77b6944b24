"""Images page: add the images that items show, and see them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from starlette.datastructures import FormData, UploadFile

from dissensus.files.images import MAX_IMAGE_BYTES, MAX_PIXELS, RefusedImage, read_image_files
from dissensus.web.core.responses import image_response, page, redirect_to
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest
from dissensus.workflows.campaign import images

if TYPE_CHECKING:
    from dissensus.store.images import ImageRow

router = APIRouter()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesPage(StaffPage):
    """Images of a campaign, and the files that were refused."""

    template: ClassVar[str] = "staff/images.html"
    max_bytes: ClassVar[int] = MAX_IMAGE_BYTES
    max_pixels: ClassVar[int] = MAX_PIXELS

    name: str
    images: "tuple[ImageRow, ...]"
    is_draft: bool
    refused: tuple[RefusedImage, ...] = ()
    n_refused: int = 0
    n_added: int = 0


@router.get("/campaigns/{name}/images")
def show_images(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("items"))], name: Name) -> Response:
    """Show the images of a campaign."""
    campaign_row, rows = images.list_images(site.platform, name, staff_id=caller.staff.id)
    context = caller.page(ImagesPage, name=name, images=rows, is_draft=campaign_row.state == "draft")
    return page(site, context)


@router.post("/campaigns/{name}/images")
def add_images(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("items"))],
    name: Name,
    form: StaffForm,
    _slot: SlowRequestSlot,
) -> Response:
    """Add the images of a form, and name the files that are refused."""
    read = read_image_files(_read_uploads(form))
    rows = images.add_images(site.platform, name, read.images, staff_id=caller.staff.id, now=site.clock())
    context = caller.page(
        ImagesPage,
        name=name,
        images=rows,
        is_draft=True,
        refused=read.refused,
        n_refused=read.n_refused,
        n_added=len(read.images),
    )
    return page(site, context, 422 if read.refused else 200)


@router.post("/campaigns/{name}/images/remove")
def remove_images(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("items"))], name: Name, _form: StaffForm
) -> Response:
    """Remove all images of a draft without items."""
    images.remove_images(site.platform, name, staff_id=caller.staff.id, now=site.clock())
    return redirect_to(f"/campaigns/{name}/images")


@router.get("/campaigns/{name}/images/{image}")
def send_image(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("images"))], name: Name, image: Name
) -> Response:
    """Send an image."""
    return image_response(images.load_image(site.platform, name, image, staff_id=caller.staff.id))


def _read_uploads(form: FormData) -> list[tuple[str, bytes]]:
    files = [file for file in form.getlist("images") if isinstance(file, UploadFile) and file.filename]
    return [(str(file.filename), file.file.read()) for file in files]
