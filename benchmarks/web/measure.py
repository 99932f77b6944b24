"""Measure the platform under load, and write benchmarks/web/results.json and docs/benchmarks-web.md.

One server process answers raters who submit sixteen answers and wait for the next item: as fast as they can, and on a
schedule that does not wait for responses; on SQLite and on PostgreSQL without fsync, with nothing stored and with as
many answers as DICES-350 has.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from load import Seat, run_closed_loop, run_open_loop
from sqlalchemy import Connection, insert, select, text, update

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tests.databases import Databases, postgresql
from tests.support.ports import find_port

from dissensus.campaign.rehearsal import draw_answers
from dissensus.encryption import SecretKeys
from dissensus.schema.campaign.parser import parse_campaign
from dissensus.schema.records.conversation import Conversation
from dissensus.schema.records.item import Item
from dissensus.store.answer_drafts import (
    AnswerTable,
    SaveTable,
)
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignTable
from dissensus.store.core import schema
from dissensus.store.core.database import (
    Database,
    connect,
)
from dissensus.store.core.orm import new_id
from dissensus.store.items import ItemTable
from dissensus.store.raters import RaterTable
from dissensus.store.staff import StaffTable
from dissensus.web.core.signed_tokens import TokenSigner
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment
from dissensus.workflows.rater.enrolment import Arrival

if TYPE_CHECKING:
    from dissensus.text.turns import Speaker

RESULTS = HERE / "results.json"
PAGE = HERE.parent.parent / "docs" / "benchmarks-web.md"
SECRET = "a secret of no consequence, for measuring alone"
N_ITEMS, N_STORED_RATERS, QUESTIONS = 350, 123, 16
NOW = datetime(2026, 1, 1, tzinfo=UTC)
AGREED = {"rating": True}
BUDGETS = {"cpu_ms": 12.0, "p99_ms": 150.0, "per_second": 60.0}


def main() -> None:
    """Measure all cases, or a short form with --quick."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seconds a run, nothing stored, nothing written")
    quick = parser.parse_args().quick
    rows = [row for backend in ("sqlite", "postgresql") for row in _backend(backend, quick=quick)]
    results = {"machine": machine(), "versions": versions(), "rows": rows}
    if quick:
        print(page(results))
        return
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


def _backend(backend: str, *, quick: bool) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, postgresql() if backend == "postgresql" else nullcontext() as server:
        databases = None if server is None else Databases(server)
        for stored in (False,) if quick else (False, True):
            url = f"sqlite:///{folder}/{stored}.db" if databases is None else databases.blank()
            database = connect(url)
            schema.upgrade(database)
            yield from _runs(Platform(database), url, backend, stored=stored, seconds=2 if quick else 10)
            database.dispose()


def _runs(platform_: Platform, url: str, backend: str, *, stored: bool, seconds: float) -> Iterator[dict[str, Any]]:
    key = make_campaign(platform_)
    if stored:
        _store(platform_.database)
    about = {"backend": backend, "stored": N_ITEMS * N_STORED_RATERS * QUESTIONS if stored else 0}
    with _server(url) as (port, pid):
        for n in (1, 8, 16):
            seats, spare = enrol_seats(platform_, key, n), enrol_seats(platform_, key, 2 * n + 8)
            print(f"{backend}, stored {about['stored']:,}, {n} raters ...", file=sys.stderr, flush=True)
            yield (
                about
                | {"loop": "closed", "raters": n}
                | run_closed_loop(seats, spare, port, seconds=seconds, pid=pid).row()
            )
        seats = enrol_seats(platform_, key, 123)
        paced = run_open_loop(seats, port, per_second=4, seconds=2 * seconds, pid=pid)
        yield about | {"loop": "4 a second", "raters": 123} | paced.row()


def make_campaign(platform_: Platform) -> str:
    staff_id = new_id(NOW)
    with platform_.database.writing() as tx:
        tx.execute(insert(StaffTable).values(id=staff_id, name="owner", created_at=NOW))
    wording = {"name": "load", "languages": ["en"], "title": "Load", "warning": "None.", "questionnaire": "dices-350"}
    purposes = [{"name": "rating", "text": "All.", "required": True}]
    campaign = parse_campaign(wording | {"consent": {"text": "None.", "purposes": purposes}})
    campaigns.create_campaign(platform_, campaign, [_item(i) for i in range(N_ITEMS)], staff_id=staff_id, now=NOW)
    return str(campaigns.change_state(platform_, "load", "open", staff_id=staff_id, now=NOW).key)


def _item(i: int) -> Item:
    """Ten messages of the length of those in DICES-350."""
    words = "What people say in such a conversation is often longer than this and more heated than that. "
    speakers: tuple[Speaker, ...] = ("human", "bot")
    return Item(f"{i}", Conversation.from_turns([(speakers[n % 2], f"{i} {n}: {words}") for n in range(10)]), {})


def enrol_seats(platform_: Platform, key: str, n: int) -> list[Seat]:
    """Enrol raters with different answers."""
    campaign = campaigns.load_definition(platform_, "load", staff_id=_owner(platform_))
    seats = []
    for i in range(n):
        now = datetime.now(UTC)
        _, session = enrolment.enrol_rater(platform_, Arrival("load", key, "en"), AGREED, now=now)
        answers = draw_answers(campaign.questionnaire, np.random.default_rng(i))
        values = {name: str(value) for name, value in answers.items()}
        seats.append(Seat(session, TokenSigner(SecretKeys(SECRET)).csrf_token(session), values))
    return seats


def _owner(platform_: Platform) -> str:
    with platform_.database.reading() as tx:
        return str(tx.scalar(select(StaffTable.id)))


def _store(database: Database) -> None:
    """Store as many answers as DICES-350 has, of finished raters."""
    with database.writing() as tx:
        campaign_id = tx.scalar(select(CampaignTable.id))
        items = list(tx.scalars(select(ItemTable.id)))
        for number in range(N_STORED_RATERS):
            rater_id = new_id(NOW)
            times = {"entered_at": NOW, "last_seen_at": NOW, "changed_at": NOW}
            rater = {
                "id": rater_id,
                "campaign_id": campaign_id,
                "number": number,
                "state": "finished",
                "language": "en",
            }
            tx.execute(insert(RaterTable).values(**rater, **times, rehearsal=False))
            _store_answers(tx, rater_id, items, number * len(items))
        tx.execute(update(CampaignTable).values(n_raters=N_STORED_RATERS))
        tx.execute(update(ItemTable).values(load=N_STORED_RATERS))
        if tx.dialect.name == "postgresql":
            # Numbers were assigned explicitly, so the sequence must continue after them.
            tx.execute(text("SELECT setval(pg_get_serial_sequence('save', 'number'), (SELECT max(number) FROM save))"))


def _store_answers(tx: Connection, rater_id: str, items: Sequence[str], first: int) -> None:
    """Store the answers of one rater to all items."""
    ids = [new_id(NOW) for _ in items]
    done = {"rater_id": rater_id, "state": "done", "planned_at": NOW, "offered_at": NOW, "closed_at": NOW}
    rows = [
        done | {"id": one, "item_id": item, "position": p} for p, (one, item) in enumerate(zip(ids, items, strict=True))
    ]
    tx.execute(insert(AssignmentTable), rows)
    save = {"revision": 1, "final": True, "visit": "v", "visible_ms": 2000, "idle_ms": 0, "received_at": NOW}
    numbers = range(first + 1, first + 1 + len(ids))
    tx.execute(
        insert(SaveTable),
        [save | {"number": n, "key": new_id(NOW), "assignment_id": one} for n, one in zip(numbers, ids, strict=True)],
    )
    answer = {"value": '"No"', "first_ms": 900, "last_ms": 1900, "changes": 0}
    names = [f"Q{q}" for q in range(QUESTIONS)]
    tx.execute(insert(AnswerTable), [answer | {"save_number": n, "question": q} for n in numbers for q in names])


@contextmanager
def _server(url: str) -> Iterator[tuple[int, int]]:
    port = find_port()
    settings = {"DISSENSUS_DATABASE_URL": url, "DISSENSUS_SECRET_KEY": SECRET, "DISSENSUS_PORT": str(port)}
    # Simulated raters are faster than any person.
    settings["DISSENSUS_SAVES_PER_RATER"] = "0"
    words = [sys.executable, "-m", "dissensus", "serve"]
    server = subprocess.Popen(
        words, env={**os.environ, **settings}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(port)
        yield port, server.pid
    finally:
        server.terminate()
        server.wait(20)


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1).read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("The server does not answer.")


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("dissensus", "fastapi", "psycopg", "sqlalchemy", "starlette", "uvicorn")}


def page(results: dict[str, Any]) -> str:
    """Return the page of the documentation."""
    machine, versions = results["machine"], results["versions"]
    head = (
        "| database | stored answers | loop | raters | a second | p50 ms | p99 ms | slowest ms | CPU ms | KB | errors |"
    )
    lines = [
        "<!-- made by benchmarks/web/measure.py; do not edit -->",
        "# Load test of the platform",
        "",
        "A rater submits sixteen answers and gets the next item: one request. *Closed*: each rater submits as soon as "
        "the next item is there. *4 a second*: raters submit on a schedule that does not wait for the site, and "
        "latency counts from the scheduled time. CPU is that of one server process with all its threads, not of the "
        "database server beside it; the load is made on the same machine. PostgreSQL runs without `fsync`, so that its "
        "commits do not wait for the disk. KB is the size of a response.",
        "",
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}; "
        + ", ".join(f"{name} {number}" for name, number in versions.items())
        + ".",
        "",
        head,
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(_line(row) for row in results["rows"]),
        "",
        "## Budgets",
        "",
        "| What | Measured | Budget | Met |",
        "|---|--:|--:|---|",
        *_budgets(results["rows"]),
        "",
        "`make benchmark-web` measures again.",
    ]
    return "\n".join(lines) + "\n"


def _line(row: dict[str, Any]) -> str:
    numbers = [row[name] for name in ("per_second", "p50_ms", "p99_ms", "max_ms", "cpu_ms", "kilobytes")]
    cells = " | ".join("–" if number is None else f"{number:,.1f}" for number in numbers)
    return f"| {row['backend']} | {row['stored']:,} | {row['loop']} | {row['raters']} | {cells} | {row['errors']} |"


def _budgets(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    busy = [row for row in rows if row["loop"] == "closed" and row["raters"] == 8]
    cases = [
        ("CPU of one submit, 8 raters, the worst", max(row["cpu_ms"] for row in busy), BUDGETS["cpu_ms"], "ms", False),
        (
            "p99 at 8 raters on PostgreSQL",
            max(row["p99_ms"] for row in busy if row["backend"] == "postgresql"),
            BUDGETS["p99_ms"],
            "ms",
            False,
        ),
        (
            "submits a second, 8 raters, the least",
            min(row["per_second"] for row in busy),
            BUDGETS["per_second"],
            "",
            True,
        ),
    ]
    for label, value, budget, unit, more in cases:
        met = value >= budget if more else value <= budget
        yield f"| {label} | {value:,.1f} {unit} | {budget:,.0f} {unit} | {'yes' if met else 'no'} |"


if __name__ == "__main__":
    main()
