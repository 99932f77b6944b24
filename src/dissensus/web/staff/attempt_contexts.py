"""What the page about attempts shows; it is in English."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from dissensus.web.core.charts import Scale
from dissensus.web.core.translations import FIRST
from dissensus.workflows.campaign.attempts import AttemptSummary, RedTeamerActivity

if TYPE_CHECKING:
    from dissensus.pipeline.analyse.attempts.result import Cell

MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsPage:
    """What was tried in a campaign; None where nothing was yet, and why."""

    template: ClassVar[str] = "owner/attempts.html"
    share: ClassVar[Scale] = Scale(0.0, 1.0)
    agreement: ClassVar[Scale] = Scale(-0.5, 1.0)

    owner: str
    form_token: str
    name: str
    found: AttemptSummary | None
    why: str = ""
    language: str = FIRST

    @property
    def cells(self) -> "tuple[tuple[str, Cell], ...]":
        """Success of all attempts, by type, by size and by both, each with what it is of."""
        every = self.found.analysis.success if self.found else ()
        return tuple((", ".join(filter(None, (one.model_type, one.size))) or "All attempts", one) for one in every)

    @property
    def busiest(self) -> tuple[RedTeamerActivity, ...]:
        """Who tried most."""
        return self.found.red_teamers[:MOST_SHOWN] if self.found else ()
