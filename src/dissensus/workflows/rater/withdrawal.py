"""How a rater takes everything back."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import NotFound
from dissensus.schema.campaign.pay import Pay
from dissensus.schema.hints import format_value
from dissensus.store import answer_drafts, assignments, campaigns, chats, events, monitoring, raters, seats, work
from dissensus.store.raters import Rater
from dissensus.workflows.campaign.conversation_items import erase_conversation_items
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.pay import record_prolific_payment
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasable:
    """What a withdrawal would do."""

    n_rated: int  # Of how many items it would erase the answers, or how many conversations
    paid: bool  # Whether the time that the rater worked is kept, so that they are paid


def erasable(platform: Platform, rater_id: str) -> Erasable:
    """Return what a withdrawal would do."""
    with platform.database.reading() as tx:
        rater = _rater(tx, rater_id)
        campaign = platform.definitions.of(tx, campaigns.campaign_of(tx, rater.campaign_id))
        n_talked, _ = chats.count(tx, rater_id)
        return Erasable(
            n_rated=answer_drafts.n_rated(tx, rater_id) + n_talked,
            paid=campaign.pay is not None and not rater.rehearsal,
        )


def erasable_of(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> Erasable:
    """Return what a withdrawal would do that a rater of a campaign asked its staff for."""
    with platform.database.reading() as tx:
        _theirs(tx, name, rater_id, staff_id)
    return erasable(platform, rater_id)


def withdraw_for(platform: Platform, name: str, rater_id: str, *, staff_id: str, now: datetime) -> int:
    """Withdraw for a rater who asked for it, and return of how many items they had answered."""
    with platform.database.reading() as tx:
        _theirs(tx, name, rater_id, staff_id)
    return withdraw(platform, rater_id, staff_id=staff_id, now=now)


def _theirs(tx: Connection, name: str, rater_id: str, staff_id: str) -> None:
    kept, _ = campaign_for_member(tx, name, staff_id)
    rater = raters.rater_of(tx, rater_id)
    if rater is None or rater.campaign_id != kept.id or rater.rehearsal:
        raise NotFound(f"{name} has no rater {format_value(rater_id)}. Their id stands on the last page that they saw.")
    if rater.state == "withdrawn":
        raise NotFound("This rater has withdrawn already. Nothing of theirs is left to delete.")


def withdraw(platform: Platform, rater_id: str, *, staff_id: str | None = None, now: datetime) -> int:
    """Erase all that a rater said, and return of how many items or conversations it was; twice is once.

    By somebody of the staff it is on the rater's request.

    Where the campaign pays, how long they worked is kept, whether they had finished, and what they were paid.
    """
    with platform.database.writing() as tx:
        rater = _rater(tx, rater_id)
        kept = campaigns.campaign_of(tx, rater.campaign_id, lock=True)
        raters.seen(tx, rater_id, now=now)
        campaign = platform.definitions.of(tx, kept)
        if campaign.pay is not None:
            _keep_account(tx, rater, campaign.pay, now)
        if campaign.chat is not None:
            erase_conversation_items(tx, rater_id, campaign.chat, now=now)
        n = answer_drafts.erase(tx, rater_id) + chats.erase(tx, rater_id)
        seats.release(tx, rater_id, now=now)
        # Notices name the item that they are about.
        raters.erase(tx, rater_id)
        assignments.erase(tx, rater)
        monitoring.forget_snapshot(tx, rater.campaign_id)
        raters.set_standing(tx, rater_id, "withdrawn", now=now)
        if rater.state != "withdrawn" and not rater.rehearsal:
            # Of whom is not told: what they did was erased a moment ago.
            events.record(tx, rater.campaign_id, "withdraw", {}, staff_id=staff_id, now=now)
        return n


def _keep_account(tx: Connection, rater: Rater, pay: Pay, now: datetime) -> None:
    for one in work.work_of(tx, rater.campaign_id, rater_ids=[rater.id]):
        work.keep_work(tx, one)
        record_prolific_payment(tx, pay, one, now=now)


def _rater(tx: Connection, rater_id: str) -> Rater:
    found = raters.rater_of(tx, rater_id)
    if found is None:
        raise NotFound("There is no such rater.")
    return found
