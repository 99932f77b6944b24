"""Withdrawal: erase a rater's data."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dissensus.errors import NotFound
from dissensus.schema.campaign.definition import Pay
from dissensus.schema.hints import format_value
from dissensus.store import assignments, campaigns, chats, erasure, events, monitoring, payments, raters, seats
from dissensus.store.lists import raters as rater_lists
from dissensus.store.lists import reports
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.conversations import erase_conversation_items
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.pay import record_prolific_payment
from dissensus.workflows.platform.platform import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalPreview:
    """Consequences of a withdrawal."""

    n_rated: int  # items or conversations whose answers would be erased
    withdrawn: bool  # True if the rater has withdrawn before
    paid: bool  # True if the working time is preserved for payment


def preview_withdrawal(platform: Platform, rater_id: str) -> WithdrawalPreview:
    """Return the consequences of a withdrawal."""
    with platform.database.reading() as tx:
        rater = _load_rater(tx, rater_id)
        campaign = platform.definitions.load(tx, campaigns.get_campaign(tx, rater.campaign_id))
        n_chats, _ = chats.count_chats(tx, rater_id)
        return WithdrawalPreview(
            n_rated=assignments.count_rated_items(tx, rater_id) + n_chats,
            withdrawn=rater.state == "withdrawn",
            paid=campaign.pay is not None and not rater.rehearsal,
        )


def preview_withdrawal_for(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> WithdrawalPreview:
    """Return the consequences of a withdrawal that a rater asked the staff for."""
    with platform.database.reading() as tx:
        _check_own_rater(tx, name, rater_id, staff_id)
    return preview_withdrawal(platform, rater_id)


def withdraw_rater_for(platform: Platform, name: str, rater_id: str, *, staff_id: str, now: datetime) -> int:
    """Withdraw a rater at their request and return the number of items or conversations."""
    with platform.database.reading() as tx:
        _check_own_rater(tx, name, rater_id, staff_id)
    return withdraw_rater(platform, rater_id, staff_id=staff_id, now=now)


def _check_own_rater(tx: Connection, name: str, rater_id: str, staff_id: str) -> None:
    campaign_row, _ = campaign_for_member(tx, name, staff_id)
    rater = raters.find_rater(tx, rater_id)
    if rater is None or rater.campaign_id != campaign_row.id or rater.rehearsal:
        raise NotFound(f"{name} has no rater {format_value(rater_id)}. The id is on the last page of the rater.")
    if rater.state == "withdrawn":
        raise NotFound("This rater has withdrawn already. None of their data are left to delete.")


def withdraw_rater(platform: Platform, rater_id: str, *, staff_id: str | None = None, now: datetime) -> int:
    """Erase a rater's data and return the number of items or conversations; idempotent.

    If the campaign pays, working time, completion and payments are preserved.
    """
    with platform.database.writing() as tx:
        campaign_row = campaigns.get_campaign(tx, _load_rater(tx, rater_id).campaign_id, lock=True)
        raters.mark_seen(tx, rater_id, now=now)
        # Read under the lock: a withdrawal on another device may have ended just now.
        rater = _load_rater(tx, rater_id)
        campaign = platform.definitions.load(tx, campaign_row)
        if campaign.pay is not None:
            _preserve_account(tx, rater, campaign.pay, now)
        if campaign.chat is not None:
            erase_conversation_items(tx, rater_id, campaign.chat, now=now)
        seats.release_seat(tx, rater_id, now=now)
        monitoring.delete_figures(tx, rater_id, rater.campaign_id)
        n = erasure.erase_rater(tx, rater)
        rater_lists.delete_rater_figures(tx, rater.campaign_id)
        reports.delete_reports(tx, rater.campaign_id)
        raters.set_rater_state(tx, rater_id, "withdrawn", now=now)
        if rater.state != "withdrawn" and not rater.rehearsal:
            # Without the rater, whose data were just erased; the subject id shows which events were.
            ids = {"subject_id": rater.subject_id, "staff_id": staff_id}
            events.append_event(tx, rater.campaign_id, "withdrawn", {}, **ids, now=now)
    # If a reader prevents it, a background job does it within a minute.
    platform.database.empty_log()
    return n


def _preserve_account(tx: Connection, rater: RaterRow, pay: Pay, now: datetime) -> None:
    for work in payments.load_work(tx, rater.campaign_id, rater_ids=[rater.id]):
        payments.set_work(tx, work)
        record_prolific_payment(tx, pay, work, now=now)


def _load_rater(tx: Connection, rater_id: str) -> RaterRow:
    rater = raters.find_rater(tx, rater_id)
    if rater is None:
        raise NotFound("There is no such rater.")
    return rater
