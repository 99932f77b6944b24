"""Notices of raters: pages for owners, and settlement."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dissensus.errors import Conflict, NotFound
from dissensus.schema.numbers import clamp_page
from dissensus.store import assignments
from dissensus.store import notices as store
from dissensus.store.notices import NoticeRow
from dissensus.workflows.campaign.audit_log import log_staff_event
from dissensus.workflows.campaign.members import campaign_for_member
from dissensus.workflows.platform.platform import Platform

PAGE_SIZE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeQueue:
    """A page of the open notices of a campaign, the latest first."""

    notices: tuple[NoticeRow, ...]
    n: int  # open notices on all pages
    page: int  # from 1
    pages: int


def load_notice_queue(platform: Platform, name: str, *, page: int, staff_id: str) -> NoticeQueue:
    """Return a page of open notices; pages beyond the end give the last page."""
    with platform.database.reading() as tx:
        campaign_row, _ = campaign_for_member(tx, name, staff_id)
        n = store.count_open_notices(tx, campaign_row.id)
        page, pages, start = clamp_page(page, n, PAGE_SIZE)
        notices = store.list_notices(tx, campaign_row.id, start=start, most=PAGE_SIZE)
        return NoticeQueue(notices=notices, n=n, page=page, pages=pages)


def settle_notice(
    platform: Platform, name: str, notice_id: str, *, show_again: bool = False, staff_id: str, now: datetime
) -> None:
    """Mark a rater's notice as settled; idempotent.

    A reported item is withheld from everybody unless `show_again`; its other reports are settled with it.
    """
    with platform.database.writing() as tx:
        # Locked as by a report, so that the two do not deadlock.
        campaign_row, _ = campaign_for_member(tx, name, staff_id, lock=True)
        subject = store.find_notice_subject(tx, campaign_row.id, notice_id)
        if subject is None:
            raise NotFound(f"{name} has no such notice of a rater. Reload the list.")
        settled: dict[str, None] = {notice_id: None}
        is_report = subject.kind == "illegal" and subject.item_id is not None
        shown_again = show_again if is_report else None
        if subject.settled and subject.shown_again == shown_again:
            return
        if is_report and subject.item_id is not None:
            if show_again and subject.erased:
                raise Conflict("The text of this item was erased when its author withdrew, so it stays withheld.")
            settled |= dict.fromkeys(store.list_open_reports(tx, subject.item_id))
            if show_again:
                assignments.release_item(tx, subject.item_id)
            else:
                assignments.withhold_item(tx, subject.item_id, now=now)
        store.settle_notices(tx, list(settled), shown_again=shown_again, staff_id=staff_id, now=now)
        for settled_id in settled:
            content = {"notice": settled_id, "show_again": show_again}
            log_staff_event(tx, campaign_row.id, "notice_settled", staff_id, now, **content)
