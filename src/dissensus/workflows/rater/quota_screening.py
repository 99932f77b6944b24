"""Screening: assign a rater to a quota cell and claim a seat."""

from collections.abc import Mapping
from datetime import datetime

from dissensus.campaign.audit_replay import digest_declaration
from dissensus.errors import Conflict
from dissensus.store import audit_log, erasure, raters, recruits, seats
from dissensus.store.raters import RaterRow
from dissensus.workflows.campaign.audit_log import log_rater_event
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater.context import check_not_withdrawn, load_rater
from dissensus.workflows.rater.next_step import RaterStep, assign_cell, claim_seat, find_next_step


def screen_rater(
    platform: Platform, rater: RaterRow, answers: Mapping[str, object], *, now: datetime
) -> RaterStep | None:
    """Store the screening answers, claim a seat and return the rater's step.

    Without a free seat the rater is deleted, only the cell's count of screened-out raters grows, and None is returned.
    """
    with platform.database.writing() as tx:
        context = load_rater(tx, platform, rater, lock_campaign=True, now=now)
        check_not_withdrawn(context.rater)
        quota, screener = context.campaign.quota, context.campaign.screener
        if quota is None or screener is None:
            raise Conflict("This campaign asks nothing before the items.")
        if context.rater.cell is not None:
            raise Conflict("You have answered this already. Reload the page to go on.")
        checked = screener.check(answers, complete=True)
        context = assign_cell(tx, context, quota.cell_of(checked))
        if not rater.rehearsal and not claim_seat(tx, context, now=now):
            seats.count_screen_out(tx, rater.campaign_id, str(context.rater.cell))
            recruits.turn_away_recruit(tx, rater.id)
            erasure.delete_rater(tx, rater)
            content, subject_id = {"cell": context.rater.cell}, context.rater.subject_id
            audit_log.append_event(tx, rater.campaign_id, "turned_away", content, subject_id=subject_id, now=now)
            return None
        row = raters.add_declaration(tx, rater.id, checked, now=now)
        commitment = {"declaration": row.id, "digest": digest_declaration(row.content, row.at)}
        cell = context.rater.cell
        log_rater_event(tx, context.rater, "declared", now, questions=sorted(checked), cell=cell, **commitment)
    return find_next_step(platform, rater, now=now)
