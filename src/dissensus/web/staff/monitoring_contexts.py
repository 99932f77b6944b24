"""What the pages about a campaign under way show; these pages are in English."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

from dissensus.pipeline.monitor import Figures, Flagged, Stretch
from dissensus.pipeline.monitor.results import EDGES_S
from dissensus.web.core.charts import Column, Scale, columns, joined
from dissensus.web.core.translations import FIRST
from dissensus.workflows.campaign.flags import MAX_REASON_LENGTH, FlaggedRaterView
from dissensus.workflows.campaign.monitoring import MonitoringView

if TYPE_CHECKING:
    from dissensus.store.flags import Decision

LATE_S: Final = 60
"""Seconds after which figures are old: something keeps them from being made."""
HOUR_S, DAY_S = 3600, 86_400
MOST_STRETCHES: Final = 90
LOWEST: Final = -0.5
"""What reaches further down is drawn to here; few raters would leave no room for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPage:
    """A campaign under way, as somebody may see it.

    `n_raters` is None where there are too few to be shown; `hidden` tells whether groups are left out for being small.
    """

    template: ClassVar[str] = "owner/watch.html"

    owner: str
    form_token: str
    name: str
    watch: MonitoringView
    may: frozenset[str]
    now: datetime
    n_raters: int | None
    hidden: bool = False
    language: str = FIRST

    @property
    def figures(self) -> Figures | None:
        """What is shown, if anything is."""
        return None if self.watch.snapshot is None or self.n_raters is None else self.watch.snapshot.figures

    @property
    def age_s(self) -> int:
        """Seconds since the figures held."""
        return max(0, int((self.now - self.watch.snapshot.read_at).total_seconds())) if self.watch.snapshot else 0

    @property
    def late(self) -> bool:
        """Whether the figures should be newer."""
        return self.age_s > LATE_S and self.watch.kept.state != "closed"

    @property
    def loads(self) -> tuple[Column, ...]:
        """Items by how many ratings they have."""
        return columns(joined(self.figures.loads)) if self.figures else ()

    @property
    def hourly(self) -> bool:
        """Whether all ratings came within the hours that are known one by one."""
        found = self.figures
        return found is not None and sum(one.n_ratings for one in found.hours) == found.pool.n_ratings

    @property
    def pace(self) -> tuple[Column, ...]:
        """Ratings by hour, or by day where there are more hours than can be shown."""
        if not self.figures:
            return ()
        known, length = (self.figures.hours, HOUR_S) if self.hourly else (self.figures.days, DAY_S)
        # Days with few raters are left out for some, and must not look as if nothing had come.
        told = "small-numbers" in self.may
        numbers = _filled(known, length) if told else [(one.start, one.n_ratings) for one in known]
        return columns([(_when(start, length), n) for start, n in numbers])

    @property
    def times(self) -> tuple[Column, ...]:
        """Ratings by how long they took, without the ends where there are none."""
        if not self.figures:
            return ()
        names = [f"below {_seconds(EDGES_S[0])}", *(f"{_seconds(a)} to {_seconds(b)}" for a, b in pairwise(EDGES_S))]
        rows = list(zip([*names, f"from {_seconds(EDGES_S[-1])}"], self.figures.times, strict=True))
        some = [place for place, (_, n) in enumerate(rows) if n]
        return columns(rows[some[0] : some[-1] + 1] if some else [])

    @property
    def agreeing(self) -> Scale:
        """From what to what agreement is drawn: from 0 to 1, and lower where intervals are, to a limit."""
        found = self.figures
        every = [one.agreement for one in (found.pool, *found.groups)] if found else []
        every += [one.agreement for one in found.measures] if found else []
        ends = [one.low for one in every if one.low is not None]
        ends += [one.estimate for one in every if one.estimate is not None]
        return Scale(max(LOWEST, min(0.0, *ends, 0.0)), 1.0)

    @property
    def taking(self) -> Scale:
        """From what to what quartiles of answer times are drawn."""
        found = [one.times for one in (self.figures.pool, *self.figures.groups) if one.times] if self.figures else []
        low, high = min((one.low for one in found), default=1.0), max((one.high for one in found), default=2.0)
        return Scale(max(1.0, low * 0.8), max(2.0, high * 1.25), ratio=True)

    @property
    def gold_share(self) -> float | None:
        """Share of items with a gold label that most raters call the same; None where there is none."""
        if not self.figures or not self.figures.gold:
            return None
        n = sum(map(sum, self.figures.gold))
        return sum(row[place] for place, row in enumerate(self.figures.gold)) / n if n else None

    @property
    def cases(self) -> tuple[tuple[Flagged, "Decision | None"], ...]:
        """Raters who are flagged, with what holds about each, those first about whom nobody decided."""
        found = [
            (one, self.watch.decisions.get(one.rater_id)) for one in (self.figures.flagged if self.figures else ())
        ]
        return tuple(sorted(found, key=lambda case: (case[1] is not None, case[0].number)))

    @property
    def cleared(self) -> tuple["Decision", ...]:
        """Decisions about raters who meet no criterion any more."""
        known = {one.rater_id for one, _ in self.cases}
        return tuple(one for name, one in self.watch.decisions.items() if name not in known)


def _filled(known: tuple[Stretch, ...], length: int) -> list[tuple[int, int]]:
    """Return hours or days with those between in which nothing came, the last ones where they are many."""
    if not known:
        return []
    numbers = {one.start: one.n_ratings for one in known}
    last = known[-1].start
    first = max(known[0].start, last - (MOST_STRETCHES - 1) * length)
    return [(start, numbers.get(start, 0)) for start in range(first, last + 1, length)]


def _when(start: int, length: int) -> str:
    return f"{datetime.fromtimestamp(start, UTC):{'%Y-%m-%d %H:%M' if length == HOUR_S else '%Y-%m-%d'}}"


def _seconds(seconds: float) -> str:
    """Return a time in short.

    Examples
    --------
    >>> _seconds(45), _seconds(90), _seconds(3600)
    ('45 s', '1.5 min', '60 min')
    """
    return f"{seconds:g} s" if seconds < 60 else f"{seconds / 60:g} min"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedRater:
    """One rater about whom somebody decides, with what was typed and what is wrong with it."""

    template: ClassVar[str] = "owner/flagged.html"

    owner: str
    form_token: str
    name: str
    case: FlaggedRaterView
    decision_id: str
    verdict: str = ""
    reason: str = ""
    faults: tuple[str, ...] = ()
    language: str = FIRST
    longest: ClassVar[int] = MAX_REASON_LENGTH
