"""Backup of a platform to one file, and its restoration."""

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
from tests.support.image_files import draw
from tests.support.plan_statistics import count_planned_rows

from dissensus.campaign.answer_drafts import AnswerSave, DraftAnswer
from dissensus.errors import Conflict, DissensusError, InvalidInput, NotFound, Unavailable
from dissensus.files.images import read_image
from dissensus.store import campaigns as campaign_store
from dissensus.store import images
from dissensus.store.answer_drafts import SaveTable
from dissensus.store.assignments import AssignmentTable
from dissensus.store.campaigns import CampaignRow
from dissensus.store.care import CareSurveyTable
from dissensus.store.chats import ChatCandidateTable, ChatExchangeTable, ChatPickTable, ChatTable
from dissensus.store.check_answers import CheckAnswerTable
from dissensus.store.core.database import Database, connect
from dissensus.store.core.idempotency import IdempotencyTable
from dissensus.store.core.leases import LeaseTable
from dissensus.store.core.orm import Base, hash_key
from dissensus.store.core.sign_in_failures import SignInFailureTable
from dissensus.store.flags import FlagDecisionTable, FlagNoticeTable
from dissensus.store.gold import GoldDecisionTable, GoldLabelTable, GoldProgressTable
from dissensus.store.identity.api_tokens import ApiTokenExclusionTable, ApiTokenTable
from dissensus.store.identity.mails import MailTable
from dissensus.store.identity.passkeys import PasskeyChallengeTable, PasskeyTable
from dissensus.store.identity.second_factors import RecoveryCodeTable, TotpTable
from dissensus.store.identity.security_log import SecurityEventTable
from dissensus.store.identity.sign_in_links import SignInLinkTable
from dissensus.store.items import ItemTable
from dissensus.store.lists import reports
from dissensus.store.lists.reports import ReportFigureTable, ReportSectionTable
from dissensus.store.monitoring import PublishedFiguresTable
from dissensus.store.payments import PaymentTable
from dissensus.store.planning import campaign_plans
from dissensus.store.raters import RaterRow
from dissensus.store.recruits import RecruitTable
from dissensus.store.release import release_plans
from dissensus.store.webhooks import WebhookTable
from dissensus.workflows.campaign import campaigns, members, monitoring
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform import backup
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import enrolment, next_step, quota_screening, rating
from dissensus.workflows.rater.enrolment import Arrival

if TYPE_CHECKING:
    from tests.databases import Databases

Rows = dict[str, list[tuple[Any, ...]]]


def read_rows(database: Database) -> Rows:
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
def full_campaign(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> CampaignRow:
    """A platform with a row in every table."""
    campaign = open_campaign(platform, 3, demographics=ABOUT_YOU, quota=ONE_OLD)
    key, *_ = campaigns.create_invitations(platform, "pilot", 2, staff_id=campaign.staff_id, now=NOW)
    rater = enter(platform, key)
    assert quota_screening.screen_rater(platform, rater, {"rater_age": "old"}, now=NOW) is not None
    assert quota_screening.screen_rater(platform, enter(platform, campaign.key), {"rater_age": "old"}, now=NOW) is None
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    rating.save_answers(platform, rater, assignment.id, "draft", save("No"), now=NOW)
    rating.submit_answers(platform, rater, assignment.id, "final", save("Yes"), now=NOW)
    rating.report_item(platform, rater, "help", "I need a break.", assignment_id=assignment.id, now=NOW)
    members.create_member_invitation(platform, "pilot", "analyst", staff_id=campaign.staff_id, now=NOW)
    with platform.database.writing() as tx:
        tx.execute(insert(SignInLinkTable).values(key_hash=hash_key("k"), staff_id=campaign.staff_id, expires_at=NOW))
        times = {"created_at": NOW, "expires_at": NOW, "used_at": None}
        tx.execute(
            insert(ApiTokenTable).values(key_hash="k6", staff_id=campaign.staff_id, name="x", scopes="export", **times)
        )
        tx.execute(insert(TotpTable).values(staff_id=campaign.staff_id, secret="s", last_step=1))
        passkey = {"id": "p", "credential_id": "c", "public_key": "k", "sign_count": 1, "name": "phone"}
        tx.execute(insert(PasskeyTable).values(staff_id=campaign.staff_id, created_at=NOW, **passkey))
        mail = {"address": "ada@example.org", "kind": "passkey_added", "content": {"passkey": "phone"}}
        tx.execute(insert(MailTable).values(staff_id=campaign.staff_id, at=NOW, due_at=NOW, n_failures=1, **mail))
        challenge = {"session_hash": "s", "purpose": "sign-in", "challenge": "00"}
        tx.execute(insert(PasskeyChallengeTable).values(expires_at=NOW, **challenge))
        tx.execute(insert(PublishedFiguresTable).values(campaign_id=campaign.id, content="{}", at=NOW))
        event = {"kind": "signed_in", "staff_id": campaign.staff_id, "content": {"by": "link"}}
        tx.execute(insert(SecurityEventTable).values(at=NOW, network="192.0.2.0/24", **event))
        tx.execute(insert(RecoveryCodeTable).values(code_hash="r", staff_id=campaign.staff_id))
        tx.execute(insert(ApiTokenExclusionTable).values(token_id="k6", campaign_id=campaign.id))
        response = {"token_hash": "k6", "key": "once", "digest": "d", "status": 201, "encrypted_body": "eA=="}
        tx.execute(insert(IdempotencyTable).values(**response, created_at=NOW))
        tx.execute(insert(SignInFailureTable).values(fingerprint="f", n_failures=2, last_at=NOW))
        tx.execute(insert(CheckAnswerTable).values(rater_id=rater.id, name="rules", attempt=1, answer="No", at=NOW))
        tx.execute(
            insert(PaymentTable).values(id="p", rater_id=rater.id, amount=650, staff_id=campaign.staff_id, at=NOW)
        )
        decision = {
            "rater_id": rater.id,
            "verdict": "keep",
            "reason": "Ä",
            "evidence": "fast",
            "staff_id": campaign.staff_id,
        }
        tx.execute(insert(FlagDecisionTable).values(id="d", **decision, at=NOW))
        tx.execute(insert(FlagNoticeTable).values(rater_id=rater.id, at=NOW))
        tx.execute(insert(LeaseTable).values(name="jobs", holder="h", expires_at=NOW))
        ids = {"submission": "a", "person": "b", "campaign_id": rater.campaign_id, "rater_id": rater.id}
        tx.execute(insert(RecruitTable).values(**ids, entered_at=NOW))
        about = {
            "item_id": assignment.item_id,
            "staff_id": campaign.staff_id,
            "part": "safety",
            "revision": 1,
            "at": NOW,
        }
        label = {"safety": "Yes", "reasons": ["Ä"], "motivation": "\u2028 '\"; 😀"}
        tx.execute(insert(GoldLabelTable).values(id="g", position=0, answers=label, **about))
        delivery = {
            "address": "https://example.org/x",
            "kinds": "item_submitted",
            "secret_hash": "h",
            "sequence": 1,
            "due_at": NOW,
        }
        state = {"n_failures": 1, "failing_since": NOW, "failure_reason": "Ä", "pause_reason": "", "created_at": NOW}
        responsible = {"campaign_id": rater.campaign_id, "staff_id": campaign.staff_id}
        images.add_images(tx, campaign.id, [read_image("a.png", draw())])
        tx.execute(insert(WebhookTable).values(id="w", **responsible, **delivery, **state))
        tx.execute(insert(GoldDecisionTable).values(id="d", answers={"safety": "No"}, reason="So.", **about))
        progress = {"item_id": about["item_id"], "campaign_id": campaign.id, "state": "settled", "safety": "No"}
        progress |= {"position": 0, "n_safety": 0, "n_degree": 0, "n_topics": 0, "labellers": {"s": {"safety": 1}}}
        tx.execute(insert(GoldProgressTable).values(progress))
        tx.execute(
            insert(ChatTable).values(id="c", rater_id=rater.id, number=0, mode="m", state="open", started_at=NOW)
        )
        tx.execute(
            insert(ChatExchangeTable).values(
                id="e", chat_id="c", number=0, mode="m", message_text="Ä", worked_ms=1, at=NOW
            )
        )
        tx.execute(insert(ChatCandidateTable).values(exchange_id="e", position=0, chatbot="tern", seed=1, n_failures=0))
        survey = {"answers": {"rater_upset": "3"}, "notify_contact": True, "contact_info": "Ä", "at": NOW}
        tx.execute(insert(CareSurveyTable).values(rater_id=rater.id, number=0, **survey))
        tx.execute(insert(ChatPickTable).values(exchange_id="e", continues=0, worked_ms=1, at=NOW))
        tx.execute(update(AssignmentTable).where(AssignmentTable.id == assignment.id).values(shown_first="b"))
        campaign_store.add_working_copy(tx, 'name = "Ä"', staff_id=campaign.staff_id, campaign_id=None, now=NOW)
        release_plans.save_plan(tx, campaign.id, 'name = "Ä"')
        plan = campaign_plans.NewPlan(question="pool", file="{}", content='{"summary": "Ä"}')
        campaign_plans.add_plan(tx, campaign.id, plan, staff_id=campaign.staff_id, now=NOW)
        reports.add_report(tx, "r", campaign.id, "{}", with_raters=True, staff_id=campaign.staff_id, now=NOW)
        tx.execute(insert(ReportSectionTable).values(report_id="r", name="answers", content='{"title": "Ä"}'))
        drawing = {"wide": "<svg/>", "narrow": "<svg/>", "numbers": "a\n1\n"}
        tx.execute(insert(ReportFigureTable).values(report_id="r", name="answers", **drawing))
    monkeypatch.setattr(monitoring, "RUN_LENGTH", 1)  # Codes are stored after one rating
    refresh_snapshots(platform, MonitoringCache(), now=NOW)
    return campaign


@pytest.fixture
def backup_path(platform: Platform, full_campaign: CampaignRow, tmp_path: Path) -> Path:
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


def read_database(url: str) -> Rows:
    database = connect(url)
    rows = read_rows(database)
    database.dispose()
    return rows


def test_every_row_is_restored_between_both_kinds_of_database(
    platform: Platform, backup_path: Path, empty_url: str
) -> None:
    before = read_rows(platform.database)
    assert {name for name, rows in before.items() if not rows} == set()
    done = backup.restore_backup(empty_url, backup_path)
    assert read_database(empty_url) == before == read_rows(platform.database)
    assert done.rows == sum(map(len, before.values()))
    assert stat.S_IMODE(backup_path.stat().st_mode) == 0o600


def test_a_restored_platform_accepts_new_ratings(backup_path: Path, full_campaign: CampaignRow, empty_url: str) -> None:
    backup.restore_backup(empty_url, backup_path)
    platform = Platform(connect(empty_url))
    # The tables are sampled, so that the first pages are planned for their sizes.
    assert count_planned_rows(platform.database, "item") == 3
    rater = enter(platform, full_campaign.key)
    assert rater.number == 2
    assert quota_screening.screen_rater(platform, rater, {"rater_age": "Prefer not to say"}, now=NOW) is not None
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    assert rating.submit_answers(platform, rater, assignment.id, "more", save("No"), now=NOW).progress.n_done == 1
    with platform.database.reading() as tx:
        assert tx.scalars(select(SaveTable.key).order_by(SaveTable.number)).all() == ["draft", "final", "more"]
    platform.close()


def test_a_restored_platform_without_answers_accepts_ratings(
    platform: Platform, tmp_path: Path, empty_url: str
) -> None:
    campaign = open_campaign(platform, 1)
    backup.write_backup(platform, tmp_path / "b.zip", now=NOW)
    backup.restore_backup(empty_url, tmp_path / "b.zip")
    restored_platform = Platform(connect(empty_url))
    rater = enter(restored_platform, campaign.key)
    assignment = next_step.find_next_step(restored_platform, rater, now=NOW).assignment
    assert assignment is not None
    assert (
        rating.submit_answers(restored_platform, rater, assignment.id, "first", save("No"), now=NOW).progress.n_done
        == 1
    )
    restored_platform.close()


def test_a_backup_is_consistent_while_raters_submit(platform: Platform, tmp_path: Path, sqlite_url: str) -> None:
    campaign = open_campaign(platform, 60)
    started, stop = threading.Event(), threading.Event()

    def rate() -> None:
        rater, n = enter(platform, campaign.key), 0
        state = next_step.find_next_step(platform, rater, now=NOW)
        while state.assignment is not None and not stop.is_set():
            assignment_id = state.assignment.id
            state = rating.submit_answers(platform, rater, assignment_id, assignment_id, save("No"), now=NOW)
            n += 1
            if n == 3:
                started.set()

    raters = [threading.Thread(target=rate) for _ in range(3)]
    for thread in raters:
        thread.start()
    try:
        assert started.wait(30)
        backup.write_backup(platform, tmp_path / "b.zip", now=NOW)
    finally:
        stop.set()
        for thread in raters:
            thread.join()
    backup.restore_backup(sqlite_url, tmp_path / "b.zip")
    restored = read_database(sqlite_url)
    database = connect(sqlite_url)
    with database.reading() as tx:
        done = set(tx.scalars(select(AssignmentTable.id).where(AssignmentTable.state == "done")))
        assert done == set(tx.scalars(select(SaveTable.assignment_id)))
        loads = tx.scalars(select(ItemTable.load)).all()
    database.dispose()
    assert len(restored["answer"]) == 2 * len(restored["save"])
    assert sum(loads) == len(restored["assignment"])


def test_a_database_with_rows_is_not_overwritten(backup_path: Path, platform: Platform, database_url: str) -> None:
    before = read_rows(platform.database)
    with pytest.raises(
        Conflict,
        match="The database is not empty: there are rows in 'event', 'lease', 'passkey_challenge', 'rate_limit', ",
    ):
        backup.restore_backup(database_url, backup_path)
    assert read_rows(platform.database) == before


def test_text_that_postgresql_cannot_store_leaves_an_empty_database(
    platform: Platform, full_campaign: CampaignRow, server: "Databases", tmp_path: Path
) -> None:
    backup.write_backup(platform, tmp_path / "good.zip", now=NOW)
    backup.write_backup(platform, tmp_path / "bad.zip", now=NOW)
    edit_part(tmp_path / "bad.zip", "notice.jsonl", lambda data: data.replace(b"I need", b"I\\u0000need"))
    with zipfile.ZipFile(tmp_path / "bad.zip") as archive:
        digest = hashlib.sha256(archive.read("notice.jsonl")).hexdigest()
        parts = json.loads(archive.read("manifest.json"))["parts"]
    edit_manifest(tmp_path / "bad.zip", parts={**parts, "notice": {"rows": 1, "sha256": digest}})
    url = server.blank()
    with pytest.raises(InvalidInput, match=r"This database cannot store notice.jsonl: .* NUL"):
        backup.restore_backup(url, tmp_path / "bad.zip")
    assert not any(read_database(url).values())
    backup.restore_backup(url, tmp_path / "good.zip")
    assert read_database(url) == read_rows(platform.database)
    server.drop(url)


def edit_part(path: Path, name: str, edit: Callable[[bytes], bytes | None]) -> None:
    """Rewrite a backup with one part edited, or without it."""
    with zipfile.ZipFile(path) as archive:
        parts = {part_name: archive.read(part_name) for part_name in archive.namelist()}
    edited = edit(parts.pop(name))
    with zipfile.ZipFile(path, "w") as archive:
        for part_name, data in (*parts.items(), *(((name, edited),) if edited is not None else ())):
            archive.writestr(part_name, data)


def edit_manifest(path: Path, **changes: object) -> None:
    edit_part(path, "manifest.json", lambda data: json.dumps({**json.loads(data), **changes}).encode())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda path: edit_part(path, "answer.jsonl", lambda data: data.replace(b"Yes", b"No")),
            "answer.jsonl is not what",
        ),
        (
            lambda path: edit_part(path, "item.jsonl", lambda data: data[: data.index(b"\n") + 1]),
            "item.jsonl is not what",
        ),
        (lambda path: edit_part(path, "item.jsonl", lambda data: data + b"nonsense"), "item.jsonl is not what"),
        (lambda path: edit_part(path, "save.jsonl", lambda _: None), "save.jsonl is not what"),
        (lambda path: edit_part(path, "manifest.json", lambda _: None), "manifest.json cannot be read"),
        (lambda path: edit_part(path, "manifest.json", lambda _: b"[]"), "manifest.json cannot be read"),
        (lambda path: edit_manifest(path, more=1), "manifest.json cannot be read"),
        (lambda path: edit_manifest(path, version="1" * 2**20), "manifest.json cannot be read"),
        (
            lambda path: edit_manifest(path, parts={}),
            "its manifest lacks 'event', 'lease', 'passkey_challenge', 'rate_limit', ",
        ),
        (lambda path: edit_manifest(path, format="dissensus-backup-9"), "of the format 'dissensus-backup-9'"),
        (lambda path: edit_manifest(path, revision="0000"), "of revision '0000', and this version works with"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "is not a backup of Dissensus, or it is truncated"),
        (lambda path: path.write_bytes(b""), "is not a backup of Dissensus, or it is truncated"),
        (lambda path: path.unlink(), "There is no file"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read: Is a directory"),
    ],
)
def test_a_damaged_backup_is_refused_before_anything_is_written(
    sqlite_template: Path, tmp_path: Path, sqlite_url: str, damage: Callable[[Path], object], message: str
) -> None:
    path = _write_small_backup(sqlite_template, tmp_path)
    damage(path)
    with pytest.raises((InvalidInput, NotFound), match=message):
        backup.restore_backup(sqlite_url, path)
    assert not (tmp_path / "target.db").exists()


def replace_rows(path: Path, table: str, line: bytes) -> None:
    """Replace the rows of a table by one that its manifest describes."""
    edit_part(path, f"{table}.jsonl", lambda _: line)
    with zipfile.ZipFile(path) as archive:
        parts = json.loads(archive.read("manifest.json"))["parts"]
    edit_manifest(path, parts={**parts, table: {"rows": 1, "sha256": hashlib.sha256(line).hexdigest()}})


@pytest.mark.parametrize("row", [["a"], ["a", "b", 5], ["a", "b", "2026-01-01T00:00:00"], ["a", "b", "today"]])
def test_rows_of_another_form_are_refused(
    sqlite_template: Path, tmp_path: Path, sqlite_url: str, row: list[object]
) -> None:
    path = _write_small_backup(sqlite_template, tmp_path)
    replace_rows(path, "lease", json.dumps(row).encode() + b"\n")
    with pytest.raises(InvalidInput, match=r"lease.jsonl is not what was written"):
        backup.restore_backup(sqlite_url, path)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_changed_byte_is_detected(sqlite_template: Path, tmp_path: Path, sqlite_url: str, share: float) -> None:
    path = _write_small_backup(sqlite_template, tmp_path)
    data = bytearray(path.read_bytes())
    data[int(share * len(data))] ^= 0xFF
    path.write_bytes(data)
    try:
        backup.restore_backup(sqlite_url, path)
    except DissensusError as error:
        assert str(path) in str(error)  # noqa: PT017 - or the byte was irrelevant, and every row is restored
        assert not (tmp_path / "target.db").exists()
        return
    assert read_database(sqlite_url) == read_database(f"sqlite:///{tmp_path / 'source.db'}")


def _write_small_backup(template: Path, folder: Path) -> Path:
    """Write a backup of a small SQLite platform."""
    shutil.copy(template, folder / "source.db")
    platform = Platform(connect(f"sqlite:///{folder / 'source.db'}"))
    campaign = open_campaign(platform, 3)
    rater = enter(platform, campaign.key)
    assignment = next_step.find_next_step(platform, rater, now=NOW).assignment
    assert assignment is not None
    rating.submit_answers(platform, rater, assignment.id, "one", save("Yes"), now=NOW)
    backup.write_backup(platform, folder / "backup.zip", now=NOW)
    platform.close()
    return folder / "backup.zip"


def test_paths_of_backups_are_checked(platform: Platform, full_campaign: CampaignRow, tmp_path: Path) -> None:
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


def test_an_empty_platform_has_no_backup(platform: Platform, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is nothing in the database to back up"):
        backup.write_backup(platform, tmp_path / "b.zip", now=NOW)
    assert not (tmp_path / "b.zip").exists()
    owner(platform.database)
    assert backup.write_backup(platform, tmp_path / "b.zip", now=NOW).rows == 1
