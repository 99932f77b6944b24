"""Memory use of exports."""

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
from dissensus.store.core.orm import new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform

FEW, MANY = 50, 200
"""Raters."""
N_ITEMS = 40
TURN = "What is said in such a conversation may be long. " * 120
MOST_MORE_MB = 20
"""The conversations of the larger campaign alone are 35 MB more."""


def create_rated_campaign(platform: Platform, name: str, n_raters: int, staff_id: str) -> None:
    """Create a campaign with raters who rated every item."""
    talk = Conversation.from_turns([("human", "Hello"), ("bot", TURN)])
    rated_items = [Item(f"item-{i}", talk, {}) for i in range(N_ITEMS)]
    campaigns.create_campaign(platform, definition(name), rated_items, staff_id=staff_id, now=NOW)
    campaign = campaigns.change_state(platform, name, "open", staff_id=staff_id, now=NOW)
    with platform.database.writing() as tx:
        text_id, _ = consents.ensure_consent_text(tx, campaign.id, definition(name).consent, now=NOW)
        times = {"entered_at": NOW, "last_seen_at": NOW, "changed_at": NOW, "rehearsal": False}
        raters = [
            times | {"id": new_id(NOW), "campaign_id": campaign.id, "number": n, "state": "finished", "language": "en"}
            for n in range(n_raters)
        ]
        tx.execute(insert(RaterTable), raters)
        consent = {"consent_text_id": text_id, "purpose": "rating", "agreed": True, "at": NOW}
        tx.execute(insert(ConsentTable), [consent | {"rater_id": rater["id"]} for rater in raters])
        # The database generates the remaining rows itself, in a tenth of the time.
        assignment_id = f"{name}-" + cast(RaterTable.number, String) + "-" + cast(ItemTable.position, String)
        of_this = RaterTable.campaign_id == campaign.id
        insert_from_select(
            tx,
            AssignmentTable,
            select(RaterTable).join(ItemTable, ItemTable.campaign_id == RaterTable.campaign_id).where(of_this),
            {"id": assignment_id, "rater_id": RaterTable.id, "item_id": ItemTable.id, "position": ItemTable.position},
            {"state": "done", "planned_at": NOW, "offered_at": NOW, "closed_at": NOW},
        )
        insert_from_select(
            tx,
            SaveTable,
            select(AssignmentTable).join(RaterTable).where(of_this),
            {"key": AssignmentTable.id, "assignment_id": AssignmentTable.id},
            {"revision": 1, "final": True, "visit": "v", "visible_ms": 9, "idle_ms": 0, "received_at": NOW},
        )
        insert_from_select(
            tx,
            AnswerTable,
            select(SaveTable).join(AssignmentTable).join(RaterTable).where(of_this),
            {"save_number": SaveTable.number},
            {"question": "Q_safe", "value": '"No"', "first_ms": 1, "last_ms": 2, "changes": 0},
        )


def insert_from_select(tx: Connection, table: Any, rows: Any, columns: dict[str, Any], same: dict[str, Any]) -> None:
    """Insert one row for each selected row."""
    fixed = {name: literal(value, getattr(table, name).type) for name, value in same.items()}
    tx.execute(
        insert(table).from_select([*columns, *fixed], rows.with_only_columns(*columns.values(), *fixed.values()))
    )


def peak_mb(url: str, name: str, path: Path) -> float:
    """Export in a separate process, and return its peak memory."""
    words = [sys.executable, "-m", "dissensus", "export", name, "-o", str(path)]
    with subprocess.Popen(
        words, env={**os.environ, "DISSENSUS_DATABASE_URL": url}, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.slow
def test_the_memory_of_an_export_does_not_grow_with_its_size(
    platform: Platform, database_url: str, tmp_path: Path
) -> None:
    staff_id = owner(platform.database)
    create_rated_campaign(platform, "few", FEW, staff_id)
    create_rated_campaign(platform, "many", MANY, staff_id)
    few, many = (peak_mb(database_url, name, tmp_path / f"{name}.csv") for name in ("few", "many"))
    assert many < few + MOST_MORE_MB
