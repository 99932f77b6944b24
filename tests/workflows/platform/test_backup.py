"""A whole platform as one file, and back."""

import hashlib
import json
import shutil
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import insert, select, update
from tests.support.campaigns import ABOUT_YOU, AGREED, NOW, open_campaign, owner

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.api_tokens import ApiTokenTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.care import CareSurveyTable
from dissensus.store.chats import ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.store.core.database import Database, connect
from dissensus.store.core.idempotency import IdempotencyTable
from dissensus.store.core.ids import hash_key
from dissensus.store.core.leases import LeaseTable
from dissensus.store.core.login_failures import LoginFailureTable
from dissensus.store.core.orm import Base
from dissensus.store.flags import FlagDecisionTable
from dissensus.store.gold import GoldDecisionTable, GoldLabelTable
from dissensus.store.items import ItemTable
from dissensus.store.payments import PaymentTable
from dissensus.store.raters import RaterRow
from dissensus.store.recruits import RecruitTable
from dissensus.store.staff import LoginLinkTable
from dissensus.store.webhooks import WebhookTable
from dissensus.workflows.campaign import campaigns, members
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import backup
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, journey, rating, screening
from dissensus.workflows.rater.enrolment import Arrival

if TYPE_CHECKING:
    from tests.databases import Databases

Rows = dict[str, list[tuple[Any, ...]]]


def rows(database: Database) -> Rows:
    with database.reading() as tx:
        return {
            table.name: [tuple(row) for row in tx.execute(select(table).order_by(*table.primary_key))]
            for table in Base.metadata.sorted_tables
        }


def save(answer: str, *, why: str = "Ä\n\u2028 '\"; 😀") -> AnswerSave:
    answers = {"Q_safe": DraftAnswer(value=answer), "Why": DraftAnswer(value=why, first_ms=1, last_ms=2, changes=3)}
    return AnswerSave(revision=1, visit="v", visible_ms=1, idle_ms=0, answers=answers)


def enter(platform: Platform, key: str | None) -> RaterRow:
    return enrolment.enrol_rater(platform, Arrival("pilot", str(key), "en"), AGREED, now=NOW)[0]


ONE_OLD = {"axes": {"rater_age": {"old": ["old"]}}, "seats": 1, "rest": 20}


@pytest.fixture
def kept(platform: Platform) -> CampaignRow:
    """A platform with a row in every table."""
    made = open_campaign(platform, 3, demographics=ABOUT_YOU, quota=ONE_OLD)
    key, *_ = campaigns.create_invitations(platform, "pilot", 2, staff_id=made.staff_id, now=NOW)
    rater = enter(platform, key)
    assert screening.screen_rater(platform, rater, {"rater_age": "old"}, now=NOW) is not None
    assert screening.screen_rater(platform, enter(platform, made.key), {"rater_age": "old"}, now=NOW) is None
    at = journey.next_state(platform, rater, now=NOW).assignment
    assert at is not None
    rating.save_answers(platform, rater, at.id, "draft", save("No"), now=NOW)
    rating.submit_answers(platform, rater, at.id, "final", save("Yes"), now=NOW)
    rating.report_item(platform, rater, "help", "I need a break.", assignment_id=at.id, now=NOW)
    members.create_member_invitation(platform, "pilot", "analyst", staff_id=made.staff_id, now=NOW)
    with platform.database.writing() as tx:
        tx.execute(insert(LoginLinkTable).values(key_hash=hash_key("k"), staff_id=made.staff_id, expires_at=NOW))
        times = {"created_at": NOW, "expires_at": NOW, "used_at": None}
        tx.execute(
            insert(ApiTokenTable).values(key_hash="k6", staff_id=made.staff_id, name="x", scopes="export", **times)
        )
        same = {"token_hash": "k6", "key": "once", "digest": "d", "status": 201, "encrypted_body": "eA=="}
        tx.execute(insert(IdempotencyTable).values(**same, created_at=NOW))
        tx.execute(insert(LoginFailureTable).values(fingerprint="f", n_failures=2, last_at=NOW))
        tx.execute(insert(CheckAnswerTable).values(rater_id=rater.id, name="rules", attempt=1, answer="No", at=NOW))
        tx.execute(insert(PaymentTable).values(id="p", rater_id=rater.id, amount=650, staff_id=made.staff_id, at=NOW))
        judged = {"rater_id": rater.id, "verdict": "keep", "reason": "Ä", "evidence": "fast", "staff_id": made.staff_id}
        tx.execute(insert(FlagDecisionTable).values(id="d", **judged, at=NOW))
        tx.execute(insert(LeaseTable).values(name="jobs", holder="h", expires_at=NOW))
        ids = {"submission": "a", "person": "b", "study": "c", "campaign_id": rater.campaign_id, "rater_id": rater.id}
        tx.execute(insert(RecruitTable).values(**ids, entered_at=NOW, changed_at=NOW))
        about = {"item_id": at.item_id, "staff_id": made.staff_id, "part": "safety", "revision": 1, "at": NOW}
        label = {"safety": "Yes", "reasons": ["Ä"], "motivation": "\u2028 '\"; 😀"}
        tx.execute(insert(GoldLabelTable).values(id="g", position=0, answers=label, **about))
        told = {
            "address": "https://example.org/x",
            "kinds": "item_submitted",
            "secret_hash": "h",
            "sequence": 1,
            "due_at": NOW,
        }
        state = {"n_failures": 1, "failing_since": NOW, "failure_reason": "Ä", "pause_reason": "", "created_at": NOW}
        whose = {"campaign_id": rater.campaign_id, "staff_id": made.staff_id}
        tx.execute(insert(WebhookTable).values(id="w", **whose, **told, **state))
        tx.execute(insert(GoldDecisionTable).values(id="d", answers={"safety": "No"}, reason="So.", **about))
        tx.execute(
            insert(ChatTable).values(id="c", rater_id=rater.id, number=0, mode="m", state="open", started_at=NOW)
        )
        tx.execute(
            insert(ChatExchangeTable).values(
                id="e", chat_id="c", number=0, mode="m", message_text="Ä", worked_ms=1, at=NOW
            )
        )
        tx.execute(insert(ChatCandidateTable).values(exchange_id="e", position=0, chatbot="tern", seed=1, n_failures=0))
        felt = {"answers": {"rater_upset": "3"}, "notify_contact": True, "contact_info": "Ä", "at": NOW}
        tx.execute(insert(CareSurveyTable).values(rater_id=rater.id, number=0, **felt))
        tx.execute(insert(ChatPickTable).values(exchange_id="e", continues=0, worked_ms=1, at=NOW))
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == at.id).values(shown_first="b"))
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    return made


@pytest.fixture
def written(platform: Platform, kept: CampaignRow, tmp_path: Path) -> Path:
    path = tmp_path / "backup.zip"
    backup.write_backup(platform, path, now=NOW)
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A blank database of each kind, besides the one that is backed up."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    databases: Databases = request.getfixturevalue("server")
    url = databases.blank()
    yield url
    databases.drop(url)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'target.db'}"


def restored(url: str) -> Rows:
    database = connect(url)
    found = rows(database)
    database.dispose()
    return found


def test_every_row_goes_from_either_kind_to_either(platform: Platform, written: Path, empty_url: str) -> None:
    before = rows(platform.database)
    assert all(before.values())
    done = backup.restore_backup(empty_url, written)
    assert restored(empty_url) == before == rows(platform.database)
    assert done.rows == sum(map(len, before.values()))
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_what_was_restored_goes_on(written: Path, kept: CampaignRow, empty_url: str) -> None:
    backup.restore_backup(empty_url, written)
    platform = Platform(connect(empty_url))
    rater = enter(platform, kept.key)
    assert rater.number == 2
    assert screening.screen_rater(platform, rater, {"rater_age": "Prefer not to say"}, now=NOW) is not None
    at = journey.next_state(platform, rater, now=NOW).assignment
    assert at is not None
    assert rating.submit_answers(platform, rater, at.id, "more", save("No"), now=NOW).progress.n_done == 1
    with platform.database.reading() as tx:
        assert tx.scalars(select(SaveTable.key).order_by(SaveTable.number)).all() == ["draft", "final", "more"]
    platform.close()


def test_a_platform_with_no_answer_yet_goes_on_too(platform: Platform, tmp_path: Path, empty_url: str) -> None:
    kept = open_campaign(platform, 1)
    backup.write_backup(platform, tmp_path / "b.zip", now=NOW)
    backup.restore_backup(empty_url, tmp_path / "b.zip")
    other = Platform(connect(empty_url))
    rater = enter(other, kept.key)
    at = journey.next_state(other, rater, now=NOW).assignment
    assert at is not None
    assert rating.submit_answers(other, rater, at.id, "first", save("No"), now=NOW).progress.n_done == 1
    other.close()


def test_it_is_of_one_moment_while_raters_go_on(platform: Platform, tmp_path: Path, sqlite_url: str) -> None:
    kept = open_campaign(platform, 60)
    going, stop = threading.Event(), threading.Event()

    def rate() -> None:
        rater, n = enter(platform, kept.key), 0
        at = journey.next_state(platform, rater, now=NOW)
        while at.assignment is not None and not stop.is_set():
            one = at.assignment.id
            at = rating.submit_answers(platform, rater, one, one, save("No"), now=NOW)
            n += 1
            if n == 3:
                going.set()

    raters = [threading.Thread(target=rate) for _ in range(3)]
    for thread in raters:
        thread.start()
    assert going.wait(30)
    backup.write_backup(platform, tmp_path / "b.zip", now=NOW)
    stop.set()
    for thread in raters:
        thread.join()
    backup.restore_backup(sqlite_url, tmp_path / "b.zip")
    found = restored(sqlite_url)
    database = connect(sqlite_url)
    with database.reading() as tx:
        done = set(tx.scalars(select(AssignmentTable.id).where(AssignmentTable.state == "done")))
        assert done == set(tx.scalars(select(SaveTable.assignment_id)))
        loads = tx.scalars(select(ItemTable.load)).all()
    database.dispose()
    assert len(found["answer"]) == 2 * len(found["save"])
    assert sum(loads) == len(found["assignment"])


def test_a_database_with_rows_is_left_alone(written: Path, platform: Platform, database_url: str) -> None:
    before = rows(platform.database)
    with pytest.raises(
        Conflict, match=r"The database is not empty: there are rows in 'event', 'lease', 'login_failure', 'staff', "
    ):
        backup.restore_backup(database_url, written)
    assert rows(platform.database) == before


def test_what_one_kind_cannot_hold_is_not_half_restored(
    platform: Platform, kept: CampaignRow, server: "Databases", tmp_path: Path
) -> None:
    backup.write_backup(platform, tmp_path / "good.zip", now=NOW)
    backup.write_backup(platform, tmp_path / "bad.zip", now=NOW)
    change(tmp_path / "bad.zip", "notice.jsonl", lambda data: data.replace(b"I need", b"I\\u0000need"))
    with zipfile.ZipFile(tmp_path / "bad.zip") as archive:
        digest = hashlib.sha256(archive.read("notice.jsonl")).hexdigest()
        parts = json.loads(archive.read("manifest.json"))["parts"]
    edit_manifest(tmp_path / "bad.zip", parts={**parts, "notice": {"rows": 1, "sha256": digest}})
    url = server.blank()
    with pytest.raises(InvalidInput, match=r"This database cannot hold notice.jsonl: .* NUL"):
        backup.restore_backup(url, tmp_path / "bad.zip")
    assert not any(restored(url).values())
    backup.restore_backup(url, tmp_path / "good.zip")
    assert restored(url) == rows(platform.database)
    server.drop(url)


def change(path: Path, name: str, edit: Callable[[bytes], bytes | None]) -> None:
    """Write a backup again with one part edited, or without it."""
    with zipfile.ZipFile(path) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    edited = edit(parts.pop(name))
    with zipfile.ZipFile(path, "w") as archive:
        for one, data in (*parts.items(), *(((name, edited),) if edited is not None else ())):
            archive.writestr(one, data)


def edit_manifest(path: Path, **changes: object) -> None:
    change(path, "manifest.json", lambda data: json.dumps({**json.loads(data), **changes}).encode())


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            lambda path: change(path, "answer.jsonl", lambda data: data.replace(b"Yes", b"No")),
            "answer.jsonl is not what",
        ),
        (lambda path: change(path, "item.jsonl", lambda data: data[: data.index(b"\n") + 1]), "item.jsonl is not what"),
        (lambda path: change(path, "item.jsonl", lambda data: data + b"nonsense"), "item.jsonl is not what"),
        (lambda path: change(path, "save.jsonl", lambda _: None), "save.jsonl is not what"),
        (lambda path: change(path, "manifest.json", lambda _: None), "manifest.json cannot be read"),
        (lambda path: change(path, "manifest.json", lambda _: b"[]"), "manifest.json cannot be read"),
        (lambda path: edit_manifest(path, more=1), "manifest.json cannot be read"),
        (lambda path: edit_manifest(path, parts={}), "its manifest lacks 'event', 'lease', 'login_failure', 'staff', "),
        (lambda path: edit_manifest(path, format="dissensus-backup-9"), "of the format 'dissensus-backup-9'"),
        (lambda path: edit_manifest(path, revision="0000"), "of revision '0000', and this version works with"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "is no backup of Dissensus, or cut short"),
        (lambda path: path.write_bytes(b""), "is no backup of Dissensus, or cut short"),
        (lambda path: path.unlink(), "There is no file"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read: Is a directory"),
    ],
)
def test_what_is_damaged_is_refused_before_anything_is_written(
    sqlite_template: Path, tmp_path: Path, sqlite_url: str, damage: Callable[[Path], object], says: str
) -> None:
    path = _backup_of_one(sqlite_template, tmp_path)
    damage(path)
    with pytest.raises((InvalidInput, NotFound), match=says):
        backup.restore_backup(sqlite_url, path)
    assert not (tmp_path / "target.db").exists()


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_one_byte_that_changed_is_found(sqlite_template: Path, tmp_path: Path, sqlite_url: str, share: float) -> None:
    path = _backup_of_one(sqlite_template, tmp_path)
    data = bytearray(path.read_bytes())
    data[int(share * len(data))] ^= 0xFF
    path.write_bytes(data)
    try:
        backup.restore_backup(sqlite_url, path)
    except DissensusError as error:
        assert str(path) in str(error)  # noqa: PT017 - or the byte meant nothing, and every row is there
        assert not (tmp_path / "target.db").exists()
        return
    assert restored(sqlite_url) == restored(f"sqlite:///{tmp_path / 'source.db'}")


def _backup_of_one(template: Path, folder: Path) -> Path:
    """A backup of a small platform, made without waiting for a server."""
    shutil.copy(template, folder / "source.db")
    platform = Platform(connect(f"sqlite:///{folder / 'source.db'}"))
    kept = open_campaign(platform, 3)
    rater = enter(platform, kept.key)
    at = journey.next_state(platform, rater, now=NOW).assignment
    assert at is not None
    rating.submit_answers(platform, rater, at.id, "one", save("Yes"), now=NOW)
    backup.write_backup(platform, folder / "backup.zip", now=NOW)
    platform.close()
    return folder / "backup.zip"


def test_where_a_backup_goes(platform: Platform, kept: CampaignRow, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    backup.write_backup(platform, path, now=NOW)
    with pytest.raises(Conflict, match="is there already"):
        backup.write_backup(platform, path, now=NOW)
    backup.write_backup(platform, path, overwrite=True, now=NOW)
    with pytest.raises(Unavailable, match="cannot be written"):
        backup.write_backup(platform, tmp_path / "no" / "b.zip", now=NOW)
    with pytest.raises(InvalidInput, match="is a folder or a device"):
        backup.write_backup(platform, tmp_path, overwrite=True, now=NOW)
    assert list(tmp_path.glob(".*")) == []


def test_there_must_be_something_to_back_up(platform: Platform, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is nothing in the database to back up"):
        backup.write_backup(platform, tmp_path / "b.zip", now=NOW)
    assert not (tmp_path / "b.zip").exists()
    owner(platform.database)
    assert backup.write_backup(platform, tmp_path / "b.zip", now=NOW).rows == 1
