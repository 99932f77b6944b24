"""Interim page of a running campaign: intervals that hold at every look, and advice on the next ratings."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from dissensus.errors import InvalidInput
from dissensus.pipeline.plan.interim import MOST_COMPARED
from dissensus.schema.advice import site_message
from dissensus.schema.hints import format_value
from dissensus.web.core.charts import ChartScale
from dissensus.web.core.responses import page
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffPage, StaffRequest
from dissensus.web.planning.plan_form import parse_decimal
from dissensus.workflows.planning.interim import DEFAULT_HALF_WIDTH, InterimRequest, InterimView, load_interim

router = APIRouter()

Text = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterimPage(StaffPage):
    """An interim look."""

    template: ClassVar[str] = "staff/interim.html"
    share_scale: ClassVar[ChartScale] = ChartScale(0.0, 1.0)
    difference_scale: ClassVar[ChartScale] = ChartScale(-1.0, 1.0)
    most_compared: ClassVar[int] = MOST_COMPARED

    name: str
    view: InterimView
    answer: str
    half_width: str
    fault: str = ""


@router.get("/campaigns/{name}/monitoring/interim")
def show_interim(
    site: SiteOf,
    caller: Annotated[StaffRequest, Depends(Require("raters"))],
    name: Name,
    axis: Text = "",
    answer: Text = "",
    half_width: Text = str(DEFAULT_HALF_WIDTH),
    *,
    _slot: SlowRequestSlot,
) -> Response:
    """Show an interim look, or why it cannot be taken."""
    fault, staff_id = "", caller.staff.id
    try:
        request = InterimRequest(axis=axis, answer=answer, half_width=_parse_half_width(half_width))
        view = load_interim(site.platform, name, request, staff_id=staff_id)
    except InvalidInput as error:
        fault, answer = site_message(error), ""
        view = load_interim(site.platform, name, InterimRequest(), staff_id=staff_id)
    context = caller.page(
        InterimPage,
        name=name,
        view=view,
        answer=answer,
        half_width=half_width,
        fault=fault,
    )
    return page(site, context, 422 if fault else 200)


def _parse_half_width(text: str) -> float:
    width = parse_decimal(text)
    if width is None:
        raise InvalidInput(f"{format_value(text)} is not a half-width. Write one between 0 and 1, such as 0.05.")
    return width
