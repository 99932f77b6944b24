"""An owner whom nobody knows, who looks at what came in and decides about raters who are flagged."""

from collections.abc import Callable
from datetime import datetime
from time import monotonic, sleep
from typing import Final
from uuid import uuid4

from dissensus.errors import Unavailable
from dissensus.workflows.campaign import flags
from dissensus.workflows.campaign.flags import FlagVerdict
from dissensus.workflows.campaign.monitoring import MonitoringView, load_monitoring
from dissensus.workflows.platform.platform import Platform

PATIENCE_S: Final = 120.0
"""Where the package is new, what is compiled is compiled first."""


def decide_flags(
    platform: Platform, name: str, n_raters: int, *, owner_id: str, clock: Callable[[], datetime]
) -> tuple[int, int]:
    """Decide about all raters who are flagged: who is fast is excluded, and who gave one answer throughout is kept."""
    seen = _seen(platform, name, n_raters, owner_id, clock)
    flagged = seen.snapshot.figures.flagged if seen.snapshot else ()
    excluded = 0
    for one in flagged:
        fast = any(reason.startswith("fast") for reason in one.reasons)
        why = "Nobody reads a conversation in so little time." if fast else "One answer throughout may be meant."
        given = FlagVerdict(id=str(uuid4()), verdict="exclude" if fast else "keep", reason=why)
        flags.decide_flag(platform, name, one.rater_id, given, staff_id=owner_id, now=clock())
        excluded += fast
    return len(flagged), excluded


def _seen(platform: Platform, name: str, n_raters: int, owner_id: str, clock: Callable[[], datetime]) -> MonitoringView:
    """Return the figures once all raters are in them, whom the site reads beside what it answers."""
    end = monotonic() + PATIENCE_S
    while monotonic() < end:
        found = load_monitoring(platform, name, staff_id=owner_id, now=clock())
        if found.snapshot is not None and found.snapshot.figures.pool.n_raters == n_raters:
            return found
        sleep(0.1)
    raise Unavailable(f"The site made no figures of all {n_raters} raters within {PATIENCE_S:.0f} seconds.")
