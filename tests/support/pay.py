"""Paid work, and the accounts that follow from it."""

from uuid import uuid4

from sqlalchemy import insert, select
from tests.support.campaigns import NOW
from tests.support.raters import enter

from dissensus.campaign.answer_drafts import AnswerSave
from dissensus.store import answer_drafts
from dissensus.store.assignments import AssignmentTable
from dissensus.store.core.orm import new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterRow
from dissensus.store.staff import StaffTable
from dissensus.workflows.campaign import pay
from dissensus.workflows.platform.platform import Platform

HOUR = 3_600_000


def add_work(platform: Platform, rater: RaterRow, items: list[list[tuple[str, int, int]]]) -> list[list[AnswerSave]]:
    """Store saves of a rater: for each item a visit, time in view and time without input."""
    saves = [
        [AnswerSave(revision=1, visit=visit, visible_ms=seen, idle_ms=idle, answers={}) for visit, seen, idle in one]
        for one in items
    ]
    with platform.database.writing() as tx:
        item_ids = tx.scalars(select(ItemTable.id).where(ItemTable.campaign_id == rater.campaign_id)).all()
        for position, (item_id, every) in enumerate(zip(item_ids, saves, strict=False)):
            row = {"id": new_id(NOW), "rater_id": rater.id, "item_id": item_id, "position": position}
            tx.execute(insert(AssignmentTable).values(**row, state="open", planned_at=NOW))
            for save in every:
                answer_drafts.add_save(tx, row["id"], str(uuid4()), save, final=False, now=NOW)  # type: ignore[arg-type]
    return saves


def worker(platform: Platform, key: str | None, ms: int) -> RaterRow:
    """An active rater who worked for this time."""
    rater = enter(platform, key)
    add_work(platform, rater, [[("a", ms, 0)]])
    return rater


def staff_of(platform: Platform) -> str:
    with platform.database.reading() as tx:
        return str(tx.scalar(select(StaffTable.id).where(StaffTable.name == "owner")))


def ledger(platform: Platform) -> pay.PayLedger:
    return pay.load_ledger(platform, "pilot", staff_id=staff_of(platform))


def history(platform: Platform, rater: RaterRow) -> pay.PayHistory:
    return pay.load_history(platform, "pilot", rater.id, staff_id=staff_of(platform))
