"""Tables of every version become those of this one, with all that is in them."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, insert, select

from dissensus.store.core import schema
from dissensus.store.core.database import Database, connect

NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
Rows = Mapping[str, Mapping[str, Any]]

FIRST: Rows = {
    "staff": {"id": "s", "name": "Ämilie", "created_at": NOW},
    "sign_in": {"key_hash": "k1", "staff_id": "s", "expires_at": NOW, "used_at": None},
    "campaign": {
        "id": "c",
        "name": "pilot",
        "staff_id": "s",
        "state": "open",
        "definition": {"title": {"en": "Ä\n\u2028"}},
        "digest": "d",
        "key": None,
        "n_raters": 1,
        "created_at": NOW,
        "changed_at": NOW,
    },
    "item": {"id": "i", "campaign_id": "c", "position": 0, "name": "7", "content": {"turns": []}, "load": 1},
    "consent_text": {
        "id": "t",
        "campaign_id": "c",
        "version": 1,
        "digest": "d",
        "content": {"text": {"en": "We keep it."}},
        "created_at": NOW,
    },
    "invitation": {"key_hash": "k2", "campaign_id": "c", "created_at": NOW, "revoked_at": None},
    "rater": {
        "id": "r",
        "campaign_id": "c",
        "number": 0,
        "invitation_hash": "k2",
        "state": "rating",
        "language": "de",
        "rehearsal": False,
        "entered_at": NOW,
        "seen_at": NOW,
        "changed_at": NOW,
    },
    "session": {"key_hash": "k3", "rater_id": "r", "staff_id": None, "expires_at": NOW},
    "consent": {"rater_id": "r", "consent_text_id": "t", "purpose": "rating", "given": True, "at": NOW},
    "assignment": {
        "id": "a",
        "rater_id": "r",
        "item_id": "i",
        "position": 0,
        "state": "done",
        "planned_at": NOW,
        "offered_at": None,
        "closed_at": NOW,
    },
    "save": {
        "number": 2**31,
        "key": "k4",
        "assignment_id": "a",
        "revision": 1,
        "final": True,
        "visit": "v",
        "visible_ms": 0,
        "idle_ms": 0,
        "received_at": NOW,
    },
    "answer": {
        "save_number": 2**31,
        "question": "Q",
        "value": '"ja 😀"',
        "first_ms": 1,
        "last_ms": 2,
        "changes": 3,
    },
    "declaration": {"id": "e", "rater_id": "r", "content": {"rater_age": "old"}, "at": NOW},
    "notice": {
        "id": "n",
        "rater_id": "r",
        "assignment_id": "a",
        "kind": "help",
        "text": "Help!",
        "at": NOW,
        "answered_at": None,
    },
}
QUOTAS: Rows = {
    **FIRST,
    "item": {**FIRST["item"], "withheld": True},
    "invitation": {**FIRST["invitation"], "cell": "old × tall"},
    "rater": {**FIRST["rater"], "cell": "old × tall"},
    "seat": {"id": "p", "campaign_id": "c", "cell": "old × tall", "state": "held", "rater_id": "r", "changed_at": NOW},
    "screened": {"campaign_id": "c", "cell": "rest", "n": 3},
}
STAFF: Rows = {
    **QUOTAS,
    "staff": {**FIRST["staff"], "password_hash": "$argon2id$v=19$…", "email": "a@example.org", "subject": "7"},
    "membership": {"campaign_id": "c", "staff_id": "s", "role": "analyst", "created_at": NOW},
    "staff_invitation": {"key_hash": "k5", "campaign_id": "c", "role": "owner", "expires_at": NOW, "used_at": None},
    "token": {
        "key_hash": "k6",
        "staff_id": "s",
        "name": "nightly",
        "scopes": "export",
        "created_at": NOW,
        "expires_at": NOW,
        "used_at": None,
    },
    "failure": {"trace": "f", "n": 3, "last_at": NOW},
}
RECRUITMENT: Rows = {
    **STAFF,
    "rater": {**QUOTAS["rater"], "worked_ms": 60_000, "had_finished": True},
    "recruit": {
        "submission": "e" * 24,
        "campaign_id": "c",
        "person": "f" * 24,
        "study": "d" * 24,
        "rater_id": "r",
        "status": "AWAITING REVIEW",
        "again": 1,
        "return_asked_at": NOW,
        "entered_at": NOW,
        "changed_at": NOW,
    },
    "check_answer": {"rater_id": "r", "name": "rules", "attempt": 2, "answer": "No", "at": NOW},
    "payment": {"id": "y", "rater_id": "r", "amount": 650, "staff_id": "s", "at": NOW},
}
EVENTS: Rows = {
    **RECRUITMENT,
    "event": {
        "number": 2**31,
        "campaign_id": "c",
        "kind": "enter",
        "at": NOW,
        "rater_id": "r",
        "staff_id": None,
        "content": {"language": "en"},
        "salt": "0" * 32,
        "digest": "1" * 64,
        "place": 1,
        "link": "2" * 64,
    },
    "chain": {"campaign_id": "c", "n": 1, "head": "2" * 64},
    "lease": {"name": "jobs", "holder": "h", "expires_at": NOW},
}
LABELS: Rows = {
    **EVENTS,
    "gold_label": {
        "id": "g",
        "item_id": "i",
        "staff_id": "s",
        "part": "safety",
        "place": 0,
        "revision": 1,
        "said": {"safety": "Yes", "reasons": ["Ä"]},
        "at": NOW,
    },
    "gold_decision": {
        "id": "d",
        "item_id": "i",
        "staff_id": "s",
        "part": "topics",
        "revision": 1,
        "said": {"topics": ["Health"]},
        "why": "It is.",
        "at": NOW,
    },
}
WATCHING: Rows = {
    **LABELS,
    "snapshot": {"campaign_id": "c", "content": '{"n": 1}', "through": 2**31, "made_at": NOW, "read_at": NOW},
    "flag_decision": {
        "id": "g",
        "rater_id": "r",
        "verdict": "exclude",
        "reason": "Every item in four seconds.",
        "evidence": "fast",
        "staff_id": "s",
        "at": NOW,
    },
}
IDEMPOTENCY: Rows = {
    **WATCHING,
    "idempotency": {
        "token_hash": "k6",
        "key": "once",
        "digest": "d",
        "status": 201,
        "salt": "0" * 32,
        "sealed": "eA==",
        "created_at": NOW,
    },
}
WEBHOOKS: Rows = {
    **IDEMPOTENCY,
    "webhook": {
        "id": "w",
        "campaign_id": "c",
        "staff_id": "s",
        "address": "https://example.org/dissensus",
        "kinds": "submit,go on",
        "secret_hash": "3" * 64,
        "place": 1,
        "through": None,
        "due_at": NOW,
        "n_failures": 2,
        "failing_since": NOW,
        "trouble": "it answered HTTP 500",
        "paused": "",
        "delivered_at": None,
        "created_at": NOW,
    },
}
CHATS: Rows = {
    **WEBHOOKS,
    "chat": {
        "id": "ch",
        "rater_id": "r",
        "number": 0,
        "mode": "red team",
        "state": "done",
        "intent_text": "Ä",
        "success": 4,
        "comment_text": None,
        "started_at": NOW,
        "ended_at": NOW,
    },
    "chat_exchange": {
        "id": "ex",
        "chat_id": "ch",
        "number": 0,
        "mode": "red team",
        "said_text": "Hi.",
        "worked_ms": 900,
        "at": NOW,
        "claimed_until": None,
    },
    "chat_candidate": {
        "exchange_id": "ex",
        "place": 1,
        "chatbot": "tern",
        "seed": 7,
        "response": "No.",
        "finish": "stop",
        "first_ms": 20,
        "total_ms": 300,
        "n_failures": 1,
    },
    "chat_pick": {
        "exchange_id": "ex",
        "compared": "more harmful",
        "strength": -2,
        "edit_text": None,
        "continues": 0,
        "worked_ms": 700,
        "at": NOW,
    },
}
PAIRS: Rows = {**CHATS, "assignment": {**CHATS["assignment"], "shown_first": "b"}}
FEELINGS: Rows = {
    **PAIRS,
    "rater": {**PAIRS["rater"], "left_out": "Ä\nB"},
    "feeling": {
        "rater_id": "r",
        "number": 0,
        "answers": {"rater_upset": "3"},
        "told": True,
        "reach_text": "Ä",
        "at": NOW,
        "settled_at": None,
    },
}
LINES: Rows = {**FEELINGS, "chat_candidate": {**FEELINGS["chat_candidate"], "ranked_by": "harmless/3"}}
ROWS: Mapping[str, Rows] = {
    "0001": FIRST,
    "0002": QUOTAS,
    "0003": STAFF,
    "0004": RECRUITMENT,
    "0005": EVENTS,
    "0006": LABELS,
    "0007": WATCHING,
    "0008": IDEMPOTENCY,
    "0009": WEBHOOKS,
    "0010": CHATS,
    "0011": PAIRS,
    "0012": FEELINGS,
    "0013": LINES,
}
"""A row of every table as each revision has them; a new revision adds what it has."""


ADDING = 3
"""From the fourth on, a revision takes nothing away."""


def revisions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", schema.PLACE)
    walked = ScriptDirectory.from_config(config).walk_revisions()
    return [one.revision for one in walked][::-1]


@pytest.fixture
def blank(blank_url: str) -> Iterator[Database]:
    database = connect(blank_url)
    yield database
    database.dispose()


def made_at(database: Database, revision: str) -> None:
    """Make the tables as they were at a revision."""
    config = Config()
    config.set_main_option("script_location", schema.PLACE)
    with database.writing() as tx:
        config.attributes["connection"] = tx
        command.upgrade(config, revision)


def tables(tx: Connection) -> MetaData:
    found = MetaData()
    found.reflect(tx)
    found.remove(found.tables["alembic_version"])
    return found


def fill(database: Database, rows: Rows) -> None:
    with database.writing() as tx:
        assert set(tables(tx).tables) == set(rows)
        write(tx, rows)


def write(tx: Connection, rows: Rows) -> None:
    for table in tables(tx).sorted_tables:
        if table.name in rows:
            tx.execute(insert(table).values(**_zoned(rows[table.name], tx)))


def _zoned(row: Mapping[str, Any], tx: Connection) -> dict[str, Any]:
    """SQLite keeps times without a zone."""
    sqlite = tx.dialect.name == "sqlite"
    return {
        name: value.replace(tzinfo=None) if sqlite and isinstance(value, datetime) else value
        for name, value in row.items()
    }


def test_every_revision_has_rows_here() -> None:
    assert list(ROWS) == revisions()
    assert schema.latest() == revisions()[-1]


@pytest.mark.parametrize("revision", revisions())
def test_what_an_earlier_version_kept_is_kept(blank: Database, revision: str) -> None:
    made_at(blank, revision)
    fill(blank, ROWS[revision])
    assert schema.upgrade(blank) == revision
    assert schema.differences(blank) == []
    schema.check(blank)
    with blank.reading() as tx:
        for table in tables(tx).sorted_tables:
            if table.name not in ROWS[revision]:
                continue
            (row,) = tx.execute(select(table)).mappings()
            known = _zoned(ROWS[revision][table.name], tx)
            assert {name: row[name] for name in known if name in row} == {
                name: value for name, value in known.items() if name in row
            }


@pytest.mark.parametrize("revision", revisions()[ADDING:-1])
def test_the_version_before_goes_on_while_the_tables_are_those_of_the_next(blank: Database, revision: str) -> None:
    """So that a site of several processes need not stop: tables and columns are added, and none is needed at once."""
    made_at(blank, revisions()[revisions().index(revision) + 1])
    with blank.writing() as tx:
        write(tx, ROWS[revision])
    with blank.reading() as tx:
        found = tables(tx).tables
        for name, row in ROWS[revision].items():
            assert set(row) <= set(found[name].columns.keys())


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_who_made_a_campaign_is_its_owner(blank: Database, revision: str) -> None:
    made_at(blank, revision)
    fill(blank, ROWS[revision])
    schema.upgrade(blank)
    with blank.reading() as tx:
        rows = tx.execute(select(tables(tx).tables["membership"])).mappings().all()
        expected = {"campaign_id": "c", "staff_id": "s", "role": "owner", "created_at": NOW}
        assert [dict(row) for row in rows] == [_zoned(expected, tx)]


def test_an_upgrade_that_fails_changes_nothing(blank: Database) -> None:
    with blank.writing() as tx:
        tx.exec_driver_sql("CREATE TABLE item (id INTEGER)")
    with pytest.raises(Exception, match="already exists"):
        schema.upgrade(blank)
    with blank.reading() as tx:
        assert schema.revision(tx) is None
        found = MetaData()
        found.reflect(tx)
        assert set(found.tables) == {"item"}
