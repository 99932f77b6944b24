"""Attempts page: success of red teaming."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.web.core.charts import ChartScale
from dissensus.web.core.responses import page
from dissensus.web.core.slow_requests import SlowRequestSlot
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffPage, StaffRequest
from dissensus.workflows.campaign import attempts
from dissensus.workflows.campaign.attempts import AttemptSummary, RedTeamerActivity

if TYPE_CHECKING:
    from dissensus.pipeline.analyse.attempts.result import AttemptCell


router = APIRouter()

MAX_RED_TEAMERS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsPage(StaffPage):
    """Attempts of a campaign; None where there is none yet."""

    template: ClassVar[str] = "staff/attempts.html"
    share_scale: ClassVar[ChartScale] = ChartScale(0.0, 1.0)
    agreement_scale: ClassVar[ChartScale] = ChartScale(-0.5, 1.0)

    name: str
    summary: AttemptSummary | None

    @property
    def cells(self) -> "tuple[tuple[str, AttemptCell], ...]":
        """Success of attempts in total and by type and size of the model, each with its label."""
        success = self.summary.analysis.success if self.summary else ()
        return tuple(
            (", ".join(filter(None, (cell.model_type, cell.size))) or "All attempts", cell) for cell in success
        )

    @property
    def busiest(self) -> tuple[RedTeamerActivity, ...]:
        """Red-teamers with most attempts."""
        return self.summary.red_teamers[:MAX_RED_TEAMERS] if self.summary else ()


@router.get("/campaigns/{name}/attempts")
def show_attempts(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("raters"))], name: Name, _slot: SlowRequestSlot
) -> Response:
    """Show the attempts so far and their success."""
    summary = attempts.summarise_attempts(site.platform, name, staff_id=caller.staff.id)
    return page(site, caller.page(AttemptsPage, name=name, summary=summary))
