"""Monitoring pages, and decisions about flagged raters."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Final
from uuid import uuid4

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dissensus.errors import Conflict, InvalidInput
from dissensus.pipeline.monitor import CampaignFigures, FlaggedRater, TimeBucket
from dissensus.pipeline.monitor.results import EDGES_S
from dissensus.web.core.charts import ChartColumn, ChartScale, bin_counts, make_columns
from dissensus.web.core.responses import SEE_OTHER, page
from dissensus.web.core.site import Site
from dissensus.web.core.staff_auth import Name, Require, SiteOf, StaffForm, StaffPage, StaffRequest, log_access
from dissensus.web.core.suppression import restrict_monitoring
from dissensus.web.staff.pay import RaterId
from dissensus.workflows.campaign import flags
from dissensus.workflows.campaign.flags import MAX_REASON_LENGTH, FlaggedRaterView, FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringView, load_monitoring

if TYPE_CHECKING:
    from dissensus.store.flags import FlagDecisionRow


router = APIRouter()

By = Annotated[StaffRequest, Depends(Require("flags"))]


STALE_S: Final = 60
"""Age from which figures count as stale."""
HOUR_S, DAY_S = 3600, 86_400
MAX_BUCKETS: Final = 90
MIN_AGREEMENT: Final = -0.5
"""Lower end of the agreement scale; lower values are drawn here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringPage(StaffPage):
    """Monitoring figures, restricted to the reader's permissions.

    `n_raters` is None where there are too few to be shown; `hidden` tells whether groups are left out for being small.
    """

    template: ClassVar[str] = "staff/monitoring.html"

    name: str
    view: MonitoringView
    may: frozenset[str]
    now: datetime
    n_raters: int | None
    hidden: bool = False

    @property
    def figures(self) -> CampaignFigures | None:
        """Figures that may be shown."""
        return None if self.view.snapshot is None or self.n_raters is None else self.view.snapshot.figures

    @property
    def age_s(self) -> int:
        """Age of the figures in seconds."""
        return max(0, int((self.now - self.view.snapshot.read_at).total_seconds())) if self.view.snapshot else 0

    @property
    def late(self) -> bool:
        """True if the figures are stale."""
        return self.age_s > STALE_S and self.view.campaign_row.state != "closed"

    @property
    def loads(self) -> tuple[ChartColumn, ...]:
        """Items by how many ratings they have."""
        return make_columns(bin_counts(self.figures.loads)) if self.figures else ()

    @property
    def hourly(self) -> bool:
        """True if all ratings fall within the hours known one by one."""
        found = self.figures
        return found is not None and sum(one.n_ratings for one in found.hours) == found.pool.n_ratings

    @property
    def pace(self) -> tuple[ChartColumn, ...]:
        """Ratings by hour, or by day where there are more hours than can be shown."""
        if not self.figures:
            return ()
        known, length = (self.figures.hours, HOUR_S) if self.hourly else (self.figures.days, DAY_S)
        # Days with few raters are left out for some, and must not look as if nothing had come.
        told = "small-numbers" in self.may
        numbers = _filled(known, length) if told else [(one.start, one.n_ratings) for one in known]
        return make_columns([(_when(start, length), n) for start, n in numbers])

    @property
    def times(self) -> tuple[ChartColumn, ...]:
        """Histogram of answer times, without empty ends."""
        if not self.figures:
            return ()
        names = [f"below {_seconds(EDGES_S[0])}", *(f"{_seconds(a)} to {_seconds(b)}" for a, b in pairwise(EDGES_S))]
        rows = list(zip([*names, f"from {_seconds(EDGES_S[-1])}"], self.figures.times, strict=True))
        some = [place for place, (_, n) in enumerate(rows) if n]
        return make_columns(rows[some[0] : some[-1] + 1] if some else [])

    @property
    def agreeing(self) -> ChartScale:
        """Scale of agreement: from 0 to 1, extended down to the lowest interval within a limit."""
        found = self.figures
        every = [one.agreement for one in (found.pool, *found.groups)] if found else []
        every += [one.agreement for one in found.measures] if found else []
        ends = [one.low for one in every if one.low is not None]
        ends += [one.estimate for one in every if one.estimate is not None]
        return ChartScale(max(MIN_AGREEMENT, min(0.0, *ends, 0.0)), 1.0)

    @property
    def taking(self) -> ChartScale:
        """Scale of answer-time quartiles."""
        found = [one.times for one in (self.figures.pool, *self.figures.groups) if one.times] if self.figures else []
        low, high = min((one.low for one in found), default=1.0), max((one.high for one in found), default=2.0)
        return ChartScale(max(1.0, low * 0.8), max(2.0, high * 1.25), ratio=True)

    @property
    def gold_share(self) -> float | None:
        """Share of items with a gold label that most raters call the same; None where there is none."""
        if not self.figures or not self.figures.gold:
            return None
        n = sum(map(sum, self.figures.gold))
        return sum(row[place] for place, row in enumerate(self.figures.gold)) / n if n else None

    @property
    def cases(self) -> tuple[tuple[FlaggedRater, "FlagDecisionRow | None"], ...]:
        """Flagged raters with their decisions, undecided first."""
        found = [(one, self.view.decisions.get(one.rater_id)) for one in (self.figures.flagged if self.figures else ())]
        return tuple(sorted(found, key=lambda case: (case[1] is not None, case[0].number)))

    @property
    def cleared(self) -> tuple["FlagDecisionRow", ...]:
        """Decisions about raters who are no longer flagged."""
        known = {one.rater_id for one, _ in self.cases}
        return tuple(one for name, one in self.view.decisions.items() if name not in known)


def _filled(known: tuple[TimeBucket, ...], length: int) -> list[tuple[int, int]]:
    """Fill gaps between hours or days with zeros, keeping the latest buckets."""
    if not known:
        return []
    numbers = {one.start: one.n_ratings for one in known}
    last = known[-1].start
    first = max(known[0].start, last - (MAX_BUCKETS - 1) * length)
    return [(start, numbers.get(start, 0)) for start in range(first, last + 1, length)]


def _when(start: int, length: int) -> str:
    return f"{datetime.fromtimestamp(start, UTC):{'%Y-%m-%d %H:%M' if length == HOUR_S else '%Y-%m-%d'}}"


def _seconds(seconds: float) -> str:
    """Format a time in short.

    Examples
    --------
    >>> _seconds(45), _seconds(90), _seconds(3600)
    ('45 s', '1.5 min', '60 min')
    """
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedRaterPage(StaffPage):
    """One flagged rater with the decision form."""

    template: ClassVar[str] = "staff/monitoring-rater.html"

    name: str
    case: FlaggedRaterView
    decision_id: str
    verdict: str = ""
    reason: str = ""
    faults: tuple[str, ...] = ()
    longest: ClassVar[int] = MAX_REASON_LENGTH


@router.get("/campaigns/{name}/watch")
def see(site: SiteOf, caller: Annotated[StaffRequest, Depends(Require("numbers"))], name: Name) -> Response:
    """Show monitoring figures."""
    now = site.clock()
    visible = restrict_monitoring(load_monitoring(site.platform, name, staff_id=caller.staff.id, now=now), caller.may)
    if visible.view.snapshot is not None and visible.view.snapshot.figures.flagged:
        log_access(site, caller, name, "flags")
    who = {"name": name, "may": caller.may, "now": now}
    context = caller.page(MonitoringPage, **who, view=visible.view, n_raters=visible.n_raters, hidden=visible.hidden)
    return page(site, context)


@router.get("/campaigns/{name}/watch/raters/{rater_id}")
def see_one(site: SiteOf, caller: By, name: Name, rater_id: RaterId) -> Response:
    """Show one flagged rater."""
    return _one(site, caller, name, rater_id)


@router.post("/campaigns/{name}/watch/raters/{rater_id}")
def decide(site: SiteOf, caller: By, name: Name, rater_id: RaterId, sent: StaffForm) -> Response:
    """Store a decision, or return to the form."""
    fields = (str(sent.get(field, "")) for field in ("decision", "verdict", "reason"))
    given = FlagVerdict(**dict(zip(("id", "verdict", "reason"), fields, strict=True)))
    try:
        flags.decide_flag(site.platform, name, rater_id, given, staff_id=caller.staff.id, now=site.clock())
    except (InvalidInput, Conflict) as error:
        return _one(site, caller, name, rater_id, given, tuple(str(error).splitlines()))
    return RedirectResponse(f"/campaigns/{name}/watch/raters/{rater_id}", SEE_OTHER)


def _one(
    site: Site,
    caller: StaffRequest,
    name: str,
    rater_id: str,
    given: FlagVerdict | None = None,
    faults: tuple[str, ...] = (),
) -> Response:
    context = caller.page(
        FlaggedRaterPage,
        name=name,
        case=flags.load_flag_case(site.platform, name, rater_id, staff_id=caller.staff.id),
        decision_id=str(uuid4()),
        verdict=given.verdict if given else "",
        reason=given.reason if given else "",
        faults=faults,
    )
    return page(site, context, 422 if faults else 200)
