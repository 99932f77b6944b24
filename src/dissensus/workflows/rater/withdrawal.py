"""Withdrawal: erase a rater's data."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from dissensus.errors import DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.schema.hints import format_value
from dissensus.store import assignments, audit_log, campaigns, chats, erasure, monitoring, raters, seats
from dissensus.store.lists import raters as rater_lists
from dissensus.store.lists import reports
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.conversations import erase_conversation_items
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.campaign.pay import preserve_account
from dissensus.workflows.platform.platform import Platform

MAX_SELECTED: Final = 50
"""Most raters who withdraw at once: those of a page of the list."""


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
        return WithdrawalPreview(
            n_rated=_count_rated(tx, rater_id),
            withdrawn=rater.state == "withdrawn",
            paid=campaign.pay is not None and not rater.rehearsal,
        )


def _count_rated(tx: Connection, rater_id: str) -> int:
    """Count the items for which a rater saved answers, and their conversations."""
    n_chats, _ = chats.count_chats(tx, rater_id)
    return assignments.count_rated_items(tx, rater_id) + n_chats


def preview_withdrawal_for(platform: Platform, name: str, rater_id: str, *, staff_id: str) -> WithdrawalPreview:
    """Return the consequences of a withdrawal that a rater asked the staff for."""
    with platform.database.reading() as tx:
        _check_own_rater(tx, name, rater_id, staff_id)
    return preview_withdrawal(platform, rater_id)


def withdraw_rater_for(platform: Platform, name: str, rater_id: str, *, staff_id: str, now: datetime) -> int:
    """Withdraw a rater at their request and return the number of items or conversations whose answers were erased."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalPlan:
    """Selected raters of a campaign whose data are to be erased."""

    raters: tuple[tuple[RaterRow, int], ...]  # With the number of their rated items and conversations
    withdrawn: tuple[RaterRow, ...]  # Those who have withdrawn already
    paid: bool  # True if the working time is preserved for payment


def plan_withdrawals(platform: Platform, name: str, numbers: Sequence[int], *, staff_id: str) -> WithdrawalPlan:
    """Return what the withdrawal of the raters with the given zero-based entry numbers would erase."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        if not numbers:
            raise InvalidInput("No rater is selected. Go back to the list and select at least one.")
        if len(numbers) > MAX_SELECTED:
            raise InvalidInput(f"{len(numbers):,} raters are selected, and at most {MAX_SELECTED} withdraw at once.")
        selected = raters.list_raters_by_number(tx, campaign_row.id, numbers)
        present = [rater for rater in selected if rater.state != "withdrawn"]
        return WithdrawalPlan(
            raters=tuple((rater, _count_rated(tx, rater.id)) for rater in present),
            withdrawn=tuple(rater for rater in selected if rater.state == "withdrawn"),
            paid=platform.definitions.load(tx, campaign_row).pay is not None,
        )


def withdraw_raters_for(platform: Platform, name: str, numbers: Sequence[int], *, staff_id: str, now: datetime) -> int:
    """Withdraw raters at their request and return their number; each is erased in a transaction of their own."""
    plan = plan_withdrawals(platform, name, numbers, staff_id=staff_id)
    try:
        for n_done, (rater, _) in enumerate(plan.raters):
            try:
                _erase_rater(platform, rater.id, staff_id=staff_id, now=now)
            except DissensusError as error:
                raise Unavailable(
                    f"The data of {n_done:,} of {len(plan.raters):,} raters were deleted, and those of rater "
                    f"{rater.number + 1:,} were not. Select the others again."
                ) from error
    finally:
        platform.database.empty_log()
    return len(plan.raters)


def withdraw_rater(platform: Platform, rater_id: str, *, staff_id: str | None = None, now: datetime) -> int:
    """Erase a rater's data and return the number of items or conversations that had answers; idempotent.

    If the campaign pays, working time, completion and payments are preserved.
    """
    n = _erase_rater(platform, rater_id, staff_id=staff_id, now=now)
    # Erased rows are still in the write-ahead log of SQLite. If a reader keeps it, a background job empties it later.
    platform.database.empty_log()
    return n


def _erase_rater(platform: Platform, rater_id: str, *, staff_id: str | None, now: datetime) -> int:
    with platform.database.writing() as tx:
        campaign_row = campaigns.get_campaign(tx, _load_rater(tx, rater_id).campaign_id, lock=True)
        # Locks the rater. Read again under the lock: a withdrawal on another device may have ended just now.
        raters.mark_seen(tx, rater_id, now=now)
        rater = _load_rater(tx, rater_id)
        campaign = platform.definitions.load(tx, campaign_row)
        if campaign.pay is not None:
            preserve_account(tx, rater, campaign, now=now)
        if campaign.chat is not None:
            erase_conversation_items(tx, rater_id, campaign.chat, now=now)
        seats.release_seat(tx, rater_id)
        monitoring.delete_figures(tx, rater_id, rater.campaign_id)
        n = erasure.erase_rater(tx, rater)
        rater_lists.delete_rater_figures(tx, rater.campaign_id)
        reports.delete_reports(tx, rater.campaign_id)
        raters.set_rater_state(tx, rater_id, "withdrawn", now=now)
        if rater.state != "withdrawn" and not rater.rehearsal:
            # Without the rater, whose data were just erased; the subject id shows which events were.
            ids = {"subject_id": rater.subject_id, "staff_id": staff_id}
            audit_log.append_event(tx, rater.campaign_id, "withdrawn", {}, **ids, now=now)
    return n


def _load_rater(tx: Connection, rater_id: str) -> RaterRow:
    rater = raters.find_rater(tx, rater_id)
    if rater is None:
        raise NotFound("There is no such rater.")
    return rater
