"""Whether there is a seat for a rater: their cell of the quota, by what they say of themselves."""

from collections.abc import Mapping
from datetime import datetime

from dissensus.errors import Conflict
from dissensus.store import raters, recruits, seats
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.journey import Step, check_here, claim_seat, in_cell, present, step


def screen(platform: Platform, rater: Rater, answers: Mapping[str, object], *, now: datetime) -> Step | None:
    """Keep what a rater says to the screener and give them a seat of their cell, and return where they are then.

    Where there is no seat, None: then nothing is kept of them, neither what they said nor that they came, but that one
    more was turned away of this cell.
    """
    with platform.database.writing() as tx:
        here = present(tx, platform, rater, plans=True, now=now)
        check_here(here.rater)
        quota, screener = here.campaign.quota, here.campaign.screener
        if quota is None or screener is None:
            raise Conflict("This campaign asks nothing before the items.")
        if here.rater.cell is not None:
            raise Conflict("You have answered this already. Reload the page to go on.")
        said = screener.check(answers, complete=True)
        here = in_cell(tx, here, quota.cell_of(said))
        if not rater.rehearsal and not claim_seat(tx, here, now=now):
            seats.turn_away(tx, rater.campaign_id, str(here.rater.cell))
            recruits.turn_away(tx, rater.id, now=now)
            raters.forget(tx, rater.id)
            return None
        raters.declare(tx, rater.id, said, now=now)
        log_rater_event(tx, here.rater, "declare", now, questions=sorted(said))
    return step(platform, rater, now=now)
