"""How a rater takes everything back."""

from datetime import datetime

from dissensus.errors import NotFound
from dissensus.store import assignments, campaigns, raters, saves, seats
from dissensus.workflows.platform import Platform


def n_rated(platform: Platform, rater_id: str) -> int:
    """Return of how many items a withdrawal would erase the answers."""
    with platform.database.reading() as tx:
        if raters.rater_of(tx, rater_id) is None:
            raise NotFound("There is no such rater.")
        return saves.n_rated(tx, rater_id)


def withdraw(platform: Platform, rater_id: str, *, now: datetime) -> int:
    """Erase all that a rater said, and return of how many items they had answered; twice is once."""
    with platform.database.writing() as tx:
        rater = raters.rater_of(tx, rater_id)
        if rater is None:
            raise NotFound("There is no such rater.")
        campaigns.campaign_of(tx, rater.campaign_id, lock=True)
        raters.seen(tx, rater_id, now=now)
        n = saves.erase(tx, rater_id)
        seats.release(tx, rater_id, now=now)
        # Notices name the item that they are about.
        raters.erase(tx, rater_id)
        assignments.erase(tx, rater)
        raters.set_standing(tx, rater_id, "withdrawn", now=now)
        return n
