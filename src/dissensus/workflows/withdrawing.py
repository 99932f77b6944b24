"""How a rater takes everything back."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import NotFound
from dissensus.schema.pay import Pay
from dissensus.store import assignments, campaigns, events, raters, saves, seats, work
from dissensus.store.raters import Rater
from dissensus.workflows.paying import keep_paid
from dissensus.workflows.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasable:
    """What a withdrawal would do.

    Parameters
    ----------
    n_rated
        Of how many items it would erase the answers.
    paid
        Whether the time that the rater worked is kept, so that they are paid.
    """

    n_rated: int
    paid: bool


def erasable(platform: Platform, rater_id: str) -> Erasable:
    """Return what a withdrawal would do."""
    with platform.database.reading() as tx:
        rater = _rater(tx, rater_id)
        campaign = platform.definitions.of(tx, campaigns.campaign_of(tx, rater.campaign_id))
        return Erasable(n_rated=saves.n_rated(tx, rater_id), paid=campaign.pay is not None and not rater.rehearsal)


def withdraw(platform: Platform, rater_id: str, *, staff_id: str | None = None, now: datetime) -> int:
    """Erase all that a rater said, and return of how many items they had answered; twice is once.

    By somebody of the staff it is on the rater's request.

    Where the campaign pays, how long they worked is kept, whether they had finished, and what they were paid.
    """
    with platform.database.writing() as tx:
        rater = _rater(tx, rater_id)
        kept = campaigns.campaign_of(tx, rater.campaign_id, lock=True)
        raters.seen(tx, rater_id, now=now)
        pay = platform.definitions.of(tx, kept).pay
        if pay is not None:
            _keep_account(tx, rater, pay, now)
        n = saves.erase(tx, rater_id)
        seats.release(tx, rater_id, now=now)
        # Notices name the item that they are about.
        raters.erase(tx, rater_id)
        assignments.erase(tx, rater)
        raters.set_standing(tx, rater_id, "withdrawn", now=now)
        if rater.state != "withdrawn" and not rater.rehearsal:
            # Of whom is not told: what they did was erased a moment ago.
            events.record(tx, rater.campaign_id, "withdraw", {}, staff_id=staff_id, now=now)
        return n


def _keep_account(tx: Connection, rater: Rater, pay: Pay, now: datetime) -> None:
    for one in work.work_of(tx, rater.campaign_id, rater_id=rater.id):
        work.keep_work(tx, one)
        keep_paid(tx, pay, one, now=now)


def _rater(tx: Connection, rater_id: str) -> Rater:
    found = raters.rater_of(tx, rater_id)
    if found is None:
        raise NotFound("There is no such rater.")
    return found
