"""An export passes through memory part by part, however much was collected."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, String, cast, insert, literal, select
from tests.support.campaigns import NOW, definition, owner

from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store import consents
from dissensus.store.answer_drafts import AnswerTable, SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.consents import ConsentTable
from dissensus.store.core.ids import new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

FEW, MANY = 50, 300
"""Raters."""
N_ITEMS = 40
TURN = "What is said in such a conversation may be long. " * 120
MOST_MORE_MB = 20
"""What the many have more than the few is some 50 MB of conversations alone."""


def collected(platform: Platform, name: str, n_raters: int, staff_id: str) -> None:
    """A campaign in which so many have rated all."""
    talk = Conversation.from_turns([("human", "Hello"), ("bot", TURN)])
    made = [Item(f"item-{i}", talk, {}) for i in range(N_ITEMS)]
    campaigns.create_campaign(platform, definition(name), made, staff_id=staff_id, now=NOW)
    kept = campaigns.change_state(platform, name, "open", staff_id=staff_id, now=NOW)
    with platform.database.writing() as tx:
        text_id, _ = consents.ensure_consent_text(tx, kept.id, definition(name).consent, now=NOW)
        times = {"entered_at": NOW, "last_seen_at": NOW, "changed_at": NOW, "rehearsal": False}
        raters = [
            times | {"id": new_id(NOW), "campaign_id": kept.id, "number": n, "state": "finished", "language": "en"}
            for n in range(n_raters)
        ]
        tx.execute(insert(RaterTable), raters)
        said = {"consent_text_id": text_id, "purpose": "rating", "agreed": True, "at": NOW}
        tx.execute(insert(ConsentTable), [said | {"rater_id": rater["id"]} for rater in raters])
        # The databases make the rest of it themselves, in a tenth of the time.
        one = f"{name}-" + cast(RaterTable.number, String) + "-" + cast(ItemTable.position, String)
        of_this = RaterTable.campaign_id == kept.id
        copied(
            tx,
            AssignmentTable,
            select(RaterTable).join(ItemTable, ItemTable.campaign_id == RaterTable.campaign_id).where(of_this),
            {"id": one, "rater_id": RaterTable.id, "item_id": ItemTable.id, "position": ItemTable.position},
            {"state": "done", "planned_at": NOW, "offered_at": NOW, "closed_at": NOW},
        )
        copied(
            tx,
            SaveTable,
            select(AssignmentTable).join(RaterTable).where(of_this),
            {"key": AssignmentTable.id, "assignment_id": AssignmentTable.id},
            {"revision": 1, "final": True, "visit": "v", "visible_ms": 9, "idle_ms": 0, "received_at": NOW},
        )
        copied(
            tx,
            AnswerTable,
            select(SaveTable).join(AssignmentTable).join(RaterTable).where(of_this),
            {"save_number": SaveTable.number},
            {"question": "Q_safe", "value": '"No"', "first_ms": 1, "last_ms": 2, "changes": 0},
        )


def copied(tx: Connection, table: Any, rows: Any, columns: dict[str, Any], same: dict[str, Any]) -> None:
    """Insert a row for each that is selected."""
    fixed = {name: literal(value, getattr(table, name).type) for name, value in same.items()}
    tx.execute(
        insert(table).from_select([*columns, *fixed], rows.with_only_columns(*columns.values(), *fixed.values()))
    )


def peak_mb(url: str, name: str, path: Path) -> float:
    """Export in a process of its own, and return the most memory that it ever had."""
    words = [sys.executable, "-m", "dissensus", "export", name, "-o", str(path)]
    with subprocess.Popen(words, env={**os.environ, "DISSENSUS_DATABASE_URL": url}, stdout=subprocess.DEVNULL) as one:
        _, status, usage = os.wait4(one.pid, 0)
        one.returncode = os.waitstatus_to_exitcode(status)
    assert one.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.slow
def test_an_export_of_much_needs_no_more_memory(platform: Platform, database_url: str, tmp_path: Path) -> None:
    staff_id = owner(platform.database)
    collected(platform, "few", FEW, staff_id)
    collected(platform, "many", MANY, staff_id)
    few, many = (peak_mb(database_url, name, tmp_path / f"{name}.csv") for name in ("few", "many"))
    assert many < few + MOST_MORE_MB
