"""Simulated campaign owner, who decides about flagged raters."""

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

TIMEOUT_S: Final = 120.0
"""Includes compilation of kernels on first use."""


def decide_flags(
    platform: Platform, name: str, n_raters: int, *, owner_id: str, clock: Callable[[], datetime]
) -> tuple[int, int]:
    """Decide all flags: fast raters are excluded, straight-liners kept; return how many are flagged and excluded."""
    monitored = _wait_for_snapshot(platform, name, n_raters, owner_id, clock)
    flagged = monitored.snapshot.figures.flagged if monitored.snapshot else ()
    excluded = 0
    for rater in flagged:
        fast = any(reason.startswith("fast") for reason in rater.reasons)
        comment = "Nobody reads a conversation in so little time." if fast else "One answer throughout may be meant."
        decision = FlagVerdict(id=str(uuid4()), verdict="exclude" if fast else "keep", reason=comment)
        flags.decide_flag(platform, name, rater.rater_id, decision, staff_id=owner_id, now=clock())
        excluded += fast
    return len(flagged), excluded


def _wait_for_snapshot(
    platform: Platform, name: str, n_raters: int, owner_id: str, clock: Callable[[], datetime]
) -> MonitoringView:
    """Wait until background monitoring of the site covers all raters."""
    end = monotonic() + TIMEOUT_S
    while monotonic() < end:
        view = load_monitoring(platform, name, staff_id=owner_id, now=clock())
        if view.snapshot is not None and view.snapshot.figures.pool.n_raters == n_raters:
            return view
        sleep(0.1)
    raise Unavailable(f"The site made no figures of all {n_raters} raters within {TIMEOUT_S:.0f} seconds.")
