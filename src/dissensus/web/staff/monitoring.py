"""Monitoring page of a campaign."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from dissensus.pipeline.monitor import CampaignFigures, RaterFigures, TimeBucket
from dissensus.pipeline.monitor.results import EDGES_S
from dissensus.web.core.charts import ChartColumn, ChartScale, bin_counts, make_columns
from dissensus.web.core.renderer import name_axis
from dissensus.web.core.responses import page
from dissensus.web.core.restrictions import restrict_monitoring
from dissensus.web.core.staff_auth import Live, Name, Require, SiteOf, StaffPage, StaffRequest, log_access
from dissensus.workflows.campaign.monitoring import MonitoringView, load_monitoring

if TYPE_CHECKING:
    from dissensus.store.flags import FlagDecisionRow


router = APIRouter()

STALE_S: Final = 60
"""Age of figures beyond which they are stale."""
HOUR_S, DAY_S = 3600, 86_400
MAX_BUCKETS: Final = 90
"""Maximum number of hours or days in the chart of ratings over time."""
MIN_AGREEMENT: Final = -0.5
"""Minimum of the agreement scale; lower values are drawn there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringPage(StaffPage):
    """Monitoring figures, restricted to the reader's permissions."""

    template: ClassVar[str] = "staff/monitoring.html"

    name: str
    view: MonitoringView
    permissions: frozenset[str]
    now: datetime

    @property
    def figures(self) -> CampaignFigures | None:
        """Figures that this reader may see."""
        return self.view.snapshot.figures if self.view.snapshot else None

    @property
    def age_s(self) -> int:
        """Age of the figures in seconds."""
        return max(0, int((self.now - self.view.snapshot.read_at).total_seconds())) if self.view.snapshot else 0

    @property
    def is_stale(self) -> bool:
        """True if the figures are stale."""
        return not self.is_published and self.age_s > STALE_S and self.view.campaign_row.state != "closed"

    @property
    def is_live(self) -> bool:
        """True if the figures change while the page is open."""
        return not self.is_published and self.view.campaign_row.state in ("open", "paused")

    @property
    def is_published(self) -> bool:
        """True for figures of a closed campaign without small groups."""
        return "small-numbers" not in self.permissions

    @property
    def ratings_per_item(self) -> tuple[ChartColumn, ...]:
        """Items by number of ratings."""
        return make_columns(bin_counts(self.figures.loads)) if self.figures else ()

    @property
    def is_hourly(self) -> bool:
        """True if the hours of the figures, which are the last ones, have all ratings."""
        figures = self.figures
        return figures is not None and sum(hour.n_ratings for hour in figures.hours) == figures.pool.n_ratings

    @property
    def pace(self) -> tuple[ChartColumn, ...]:
        """Ratings by hour, or by day if the hours of the figures do not have all of them; the latest `MAX_BUCKETS`."""
        if not self.figures:
            return ()
        buckets, length = (self.figures.hours, HOUR_S) if self.is_hourly else (self.figures.days, DAY_S)
        return make_columns([(_format_start(start, length), n) for start, n in _fill_gaps(buckets, length)])

    @property
    def times(self) -> tuple[ChartColumn, ...]:
        """Histogram of answer times, without empty bins at its ends."""
        if not self.figures:
            return ()
        names = [
            f"below {_format_seconds(EDGES_S[0])}",
            *(f"{_format_seconds(a)} to {_format_seconds(b)}" for a, b in pairwise(EDGES_S)),
        ]
        rows = list(zip([*names, f"from {_format_seconds(EDGES_S[-1])}"], self.figures.times, strict=True))
        filled = [index for index, (_, n) in enumerate(rows) if n]
        return make_columns(rows[filled[0] : filled[-1] + 1] if filled else [])

    @property
    def agreement_scale(self) -> ChartScale:
        """Scale of agreement: from 0 to 1, extended down to the lowest interval within a limit."""
        figures = self.figures
        estimates = [row.agreement for row in (figures.pool, *figures.groups)] if figures else []
        estimates += [measure.agreement for measure in figures.measures] if figures else []
        ends = [estimate.low for estimate in estimates if estimate.low is not None]
        ends += [estimate.estimate for estimate in estimates if estimate.estimate is not None]
        return ChartScale(max(MIN_AGREEMENT, min([0.0, *ends])), 1.0)

    @property
    def interval_warnings(self) -> Mapping[str, list[str]]:
        """Groups and coefficients by the warning of their intervals."""
        warned = defaultdict[str, list[str]](list)
        for row in (self.figures.pool, *self.figures.groups) if self.figures else ():
            name = f"{name_axis(row.axis)}: {row.group}" if row.axis else "all raters"
            warned[row.agreement.warning or ""].append(name)
        for measure in self.figures.measures if self.figures else ():
            warned[measure.agreement.warning or ""].append(measure.name)
        return {warning: names for warning, names in warned.items() if warning}

    @property
    def time_scale(self) -> ChartScale:
        """Logarithmic scale of answer-time quartiles, in milliseconds."""
        rows = (self.figures.pool, *self.figures.groups) if self.figures else ()
        times = [row.times for row in rows if row.times]
        low = min((quartiles.low for quartiles in times), default=1.0)
        high = max((quartiles.high for quartiles in times), default=2.0)
        return ChartScale(max(1.0, low * 0.8), max(2.0, high * 1.25), ratio=True)

    @property
    def gold_share(self) -> float | None:
        """Share of rated items with a gold label whose untied plurality equals it; None without any."""
        if not self.figures or not self.figures.gold:
            return None
        n = sum(map(sum, self.figures.gold))
        return sum(row[index] for index, row in enumerate(self.figures.gold)) / n if n else None

    @property
    def cases(self) -> tuple[tuple[RaterFigures, "FlagDecisionRow | None"], ...]:
        """Flagged raters with their decisions, undecided first."""
        flagged = self.figures.flagged if self.figures else ()
        cases = [(rater, self.view.decisions.get(rater.rater_id)) for rater in flagged]
        return tuple(sorted(cases, key=lambda case: (case[1] is not None, case[0].number)))

    @property
    def cleared(self) -> tuple["FlagDecisionRow", ...]:
        """Decisions about raters who are no longer flagged."""
        flagged_ids = {rater.rater_id for rater, _ in self.cases}
        return tuple(decision for rater_id, decision in self.view.decisions.items() if rater_id not in flagged_ids)


def _fill_gaps(buckets: tuple[TimeBucket, ...], length: int) -> list[tuple[int, int]]:
    """Return start and ratings of the latest hours or days, those without ratings included."""
    if not buckets:
        return []
    counts = {bucket.start: bucket.n_ratings for bucket in buckets}
    last = buckets[-1].start
    first = max(buckets[0].start, last - (MAX_BUCKETS - 1) * length)
    return [(start, counts.get(start, 0)) for start in range(first, last + 1, length)]


def _format_start(start: int, length: int) -> str:
    return f"{datetime.fromtimestamp(start, UTC):{'%Y-%m-%d %H:%M' if length == HOUR_S else '%Y-%m-%d'}}"


def _format_seconds(seconds: float) -> str:
    """Format a duration in seconds or minutes.

    Examples
    --------
    >>> _format_seconds(45), _format_seconds(90), _format_seconds(3600)
    ('45 s', '1.5 min', '60 min')
    """
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"


@router.get("/campaigns/{name}/monitoring")
def show_monitoring(
    site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("numbers"))], name: Name, live: Live = False
) -> Response:
    """Show monitoring figures."""
    now = site.clock()
    permissions = caller.permissions - {"flags"} if live else caller.permissions
    view = restrict_monitoring(load_monitoring(site.platform, name, staff_id=caller.staff.id, now=now), permissions)
    if view.snapshot is not None and view.snapshot.figures.flagged:
        log_access(site, caller, name, "flags")
    context = caller.page(MonitoringPage, name=name, permissions=permissions, now=now, view=view)
    return page(site, context)
