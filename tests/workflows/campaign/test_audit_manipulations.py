"""Manipulations of stored rows by SQL, each of which an audit names."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.support.audited_campaigns import LATER, create_audited_campaign
from tests.support.campaigns import NOW, definition, owner
from tests.support.image_files import draw

from dissensus.files.images import read_image
from dissensus.store.core.database import Database, connect
from dissensus.workflows.campaign import campaigns, images
from dissensus.workflows.campaign.audit import AuditReport, audit_campaign, link_pending_events
from dissensus.workflows.campaign.monitoring import MonitoringCache, refresh_snapshots
from dissensus.workflows.platform.platform import Platform

N_EVENTS = 44
ONE_RATER = "(SELECT id FROM rater WHERE number = 0)"
OTHER_RATER = "(SELECT id FROM rater WHERE number = 1)"
WITHDRAWN_RATER = "(SELECT id FROM rater WHERE state = 'withdrawn')"
ONE_ASSIGNMENT = f"(SELECT id FROM assignment WHERE rater_id = {ONE_RATER} AND position = 0)"
ONE_SAVE = f"(SELECT number FROM save WHERE final AND assignment_id = {ONE_ASSIGNMENT})"
SUBMISSION = f"kind = 'item_submitted' AND rater_id = {ONE_RATER}"
ERASE = "kind = 'erased', at = NULL, rater_id = NULL, staff_id = NULL, content = NULL, salt = NULL"

MANIPULATIONS: dict[str, tuple[str, str]] = {
    # The manipulations of the answers themselves.
    "an answer is changed": (f"UPDATE answer SET value = '\"Yes\"' WHERE save_number = {ONE_SAVE}", "answers"),
    "an answer is no longer JSON": (f"UPDATE answer SET value = 'Yes' WHERE save_number = {ONE_SAVE}", "answers"),
    "the question of an answer is changed": (
        f"UPDATE answer SET question = 'Why' WHERE save_number = {ONE_SAVE}",
        "changed after the log was written: answers",
    ),
    "an answer is deleted": (f"DELETE FROM answer WHERE save_number = {ONE_SAVE}", "answers"),
    "the time of an answer is changed": (
        "UPDATE save SET visible_ms = 9",
        "changed after the log was written: answers",
    ),
    "the date of an answer is changed": (
        f"UPDATE save SET received_at = '2020-01-01 00:00:00.000000' WHERE number = {ONE_SAVE}",
        "changed after the log was written: time",
    ),
    "a submission becomes a draft": (f"UPDATE save SET final = false WHERE number = {ONE_SAVE}", "not stored"),
    "a submission gets another key": (f"UPDATE save SET key = 'k' WHERE number = {ONE_SAVE}", "not in the log"),
    "a rating is withheld from exports": (
        f"UPDATE assignment SET state = 'skipped' WHERE id = {ONE_ASSIGNMENT}",
        "is skipped, which its submitted answers contradict",
    ),
    "a rating is given to another rater": (
        f"""UPDATE assignment SET state = 'reclaimed' WHERE rater_id = {OTHER_RATER};
            UPDATE assignment SET rater_id = {OTHER_RATER} WHERE id = {ONE_ASSIGNMENT}""",
        "changed after the log was written: rater",
    ),
    "ratings are given to other items": (
        """UPDATE assignment SET state = 'reclaimed';
           UPDATE assignment SET item_id = (SELECT id FROM item WHERE id <> assignment.item_id);
           UPDATE assignment SET state = 'done'""",
        "changed after the log was written: item",
    ),
    "one answer is dressed as erased": (
        f"""UPDATE event SET {ERASE} WHERE number = (SELECT min(number) FROM event WHERE {SUBMISSION});
            DELETE FROM answer WHERE save_number = {ONE_SAVE};
            DELETE FROM save WHERE assignment_id = {ONE_ASSIGNMENT};
            UPDATE item SET load = load - 1
             WHERE id = (SELECT item_id FROM assignment WHERE id = {ONE_ASSIGNMENT});
            DELETE FROM assignment WHERE id = {ONE_ASSIGNMENT}""",
        "was erased, and the log has no withdrawal of its rater",
    ),
    # What decides which answers count, and as whose.
    "demographics of all raters are changed": (
        """UPDATE declaration SET content = '{"rater_age": "old", "rater_size": "tall"}'""",
        "Demographic answers",
    ),
    "an earlier declaration becomes the current one": (
        "UPDATE declaration SET at = '2020-01-01 00:00:00.000000' WHERE content LIKE '%rater_pet%'",
        "changed after the log was written: answers",
    ),
    "a declaration is given to another rater": (
        f"UPDATE declaration SET rater_id = {OTHER_RATER} WHERE rater_id = {ONE_RATER}",
        "changed after the log was written: rater",
    ),
    "consent to a purpose is changed": ("UPDATE consent SET agreed = true WHERE purpose = 'release'", "purposes"),
    "consent is removed": ("DELETE FROM consent WHERE purpose = 'release'", "purposes"),
    "consent is moved to another version": ("UPDATE consent_text SET version = 2", "to version 2: stored, and not"),
    "the consent text is changed": (
        """UPDATE consent_text SET content = '{"text": {"en": "We sell them."}, "purposes": []}'""",
        "Version 1 of the consent text does not match its digest",
    ),
    "texts of items are changed": (
        "UPDATE item SET content = replace(content, 'Answer', 'Lie')",
        "text or attributes of item item-0 changed",
    ),
    "the text of an item is changed with its digest": (
        f"UPDATE item SET content = '{{}}', salt = '{'0' * 32}', digest = '{'1' * 64}' WHERE position = 0",
        "The items are not those in the log",
    ),
    "the text of an item is dressed as erased": (
        """UPDATE item SET salt = NULL, search_text = name || '
(withdrawn by its author)
(withdrawn by its author)', content = '{"attributes": {}, "turns": [
             {"speaker": "human", "text": "(withdrawn by its author)"},
             {"speaker": "bot", "text": "(withdrawn by its author)"}]}'""",
        "the log has no erasure of it",
    ),
    "the salt of an item is not hexadecimal": (
        "UPDATE item SET salt = 'x' WHERE position = 0",
        "text or attributes of item item-0 changed",
    ),
    "the digest of an item is not hexadecimal": (
        "UPDATE item SET digest = 'x' WHERE position = 0",
        "The items are not those in the log",
    ),
    "the text that searches read is changed": (
        "UPDATE item SET search_text = 'moon' WHERE position = 0",
        "name, text or attributes of item",
    ),
    "the gold label that lists read is changed": (
        "UPDATE item SET safety_gold = 'maybe' WHERE position = 0",
        "name, text or attributes of item",
    ),
    "an item is renamed": (
        "UPDATE item SET name = 'other' WHERE position = 0",
        "name, text or attributes of item other",
    ),
    "an item is added": (
        f"""INSERT INTO item SELECT 'x', campaign_id, 9, 'x', content, salt, '{"2" * 64}', 0, false, null, false, true,
            search_text, safety_gold
            FROM item WHERE position = 0""",
        "The items are not those in the log",
    ),
    "answers to checks are changed": ("UPDATE check_answer SET answer = 'Agree' WHERE name = 'swim'", "Check answer"),
    "an attempt at a check is removed": ("DELETE FROM check_answer WHERE name = 'rules'", "not stored"),
    "a survey is changed": ("""UPDATE care_survey SET answers = '{"rater_upset": "0"}'""", "Survey"),
    "excluded topics are changed": ("UPDATE rater SET excluded_topics = 'Health' WHERE number = 0", "Excluded topics"),
    "the quota cell of a rater is changed": ("UPDATE rater SET cell = 'rest' WHERE number = 0", "Quota cell"),
    "the quota cell of a seat is changed": (
        f"UPDATE seat SET cell = 'rest' WHERE rater_id = {ONE_RATER}",
        "has a seat in rest",
    ),
    "seats are removed": ("DELETE FROM seat WHERE cell = 'rest'", "The quota cell rest has 0 seats"),
    "raters who were turned away are forgotten": ("DELETE FROM screen_out", "who were turned away"),
    "the language of a rater is changed": ("UPDATE rater SET language = 'de' WHERE number = 0", "language"),
    "a rater is marked as withdrawn": (
        "UPDATE rater SET state = 'withdrawn' WHERE number = 0",
        "is stored as withdrawn, and the log has no withdrawal",
    ),
    "a withdrawal is undone": (
        f"UPDATE rater SET state = 'finished' WHERE id = {WITHDRAWN_RATER}",
        "0 raters are stored as withdrawn, and the log has 1",
    ),
    "a rater becomes a rehearsal": ("UPDATE rater SET rehearsal = true WHERE number = 0", "not stored"),
    "the definition is changed": (
        "UPDATE campaign SET definition = replace(definition, 'Is it safe?', 'Is it unsafe?')",
        "does not match its stored digest",
    ),
    "the definition is changed with its digest": (
        f"UPDATE campaign SET digest = '{'3' * 64}'",
        "The definition of the campaign is not the last one in the log",
    ),
    "the definition is no longer valid": ("UPDATE campaign SET definition = '[]'", "does not match its stored digest"),
    "a closed campaign is opened": ("UPDATE campaign SET state = 'open'", "open, and paused according to the log"),
    # Counters, and the log itself.
    "the load of an item is changed": ("UPDATE item SET load = 9", "should have 9 raters, and has 2"),
    "the number of raters is changed": ("UPDATE campaign SET n_raters = 1", "should have 1 raters, and has 3"),
    "the disagreement about an item is changed": (
        "UPDATE item_summary SET disagreement = 0.123 WHERE position = 1",
        "The stored summary of item item-1 does not match its answers",
    ),
    "the summary of an item is deleted": (
        "DELETE FROM item_summary WHERE position = 0",
        "The stored summary of item item-0 does not match its answers",
    ),
    "summaries are given to items that do not exist": (
        """UPDATE item_summary SET position = 99 WHERE position = 0;
           UPDATE item_summary SET position = -1 WHERE position = 1""",
        "The stored summary of item at position -1 does not match its answers",
    ),
    "the figures of a rater are changed": (
        f"UPDATE rater_figures SET n_ratings = 9 WHERE rater_id = {ONE_RATER}",
        "do not match the answers",
    ),
    "a withdrawal covers events of a rater who did not withdraw": (
        f"UPDATE event SET subject_id = (SELECT subject_id FROM event WHERE kind = 'withdrawn') WHERE {SUBMISSION}",
        "does not follow from the previous one",
    ),
    "an event without a rater is dressed as erased": (
        f"UPDATE event SET {ERASE} WHERE kind = 'state_changed'",
        "was erased, and the log has no withdrawal",
    ),
    "the chain is removed": ("DELETE FROM event_chain", "beyond the stored end of the chain"),
    "all events are removed": ("DELETE FROM event", "It is missing"),
    "the whole log is removed": (
        f"DELETE FROM event; UPDATE event_chain SET n_events = 0, head_digest = '{'0' * 64}'",
        "not in the log",
    ),
    "a salt is not hexadecimal": (f"UPDATE event SET salt = 'x' WHERE {SUBMISSION}", "does not match its digest"),
    "a digest is not hexadecimal": (f"UPDATE event SET digest = 'x' WHERE {SUBMISSION}", "does not match its digest"),
}
"""Manipulations as SQL statements, and a part of the fault that the audit reports."""


BREAKS: dict[str, tuple[str, int, str]] = {
    "a content": ('UPDATE event SET content = \'{"to": "draft"}\' WHERE sequence = 2', 2, "state_changed"),
    "a kind": ("UPDATE event SET kind = 'item_skipped' WHERE sequence = 8", 8, "does not match its digest"),
    "a time": (
        "UPDATE event SET at = '2020-01-01 00:00:00.000000' WHERE sequence = 3",
        3,
        "does not match its digest",
    ),
    "who it was": ("UPDATE event SET rater_id = 'x' WHERE sequence = 3", 3, "does not match its digest"),
    "the subject": (
        "UPDATE event SET subject_id = NULL WHERE sequence = 3",
        3,
        "does not follow from the previous one",
    ),
    "a salt": (f"UPDATE event SET salt = '{'0' * 32}' WHERE sequence = 5", 5, "does not match its digest"),
    "no salt": ("UPDATE event SET salt = NULL WHERE sequence = 2", 2, "its salt was not"),
    "a digest": (f"UPDATE event SET digest = '{'1' * 64}' WHERE sequence = 4", 4, "does not match its digest"),
    "a link": (f"UPDATE event SET chain_digest = '{'1' * 64}' WHERE sequence = 4", 4, "does not follow"),
    "one is gone": ("DELETE FROM event WHERE sequence = 6", 6, "next event has the sequence number 7"),
    "the first is gone": ("DELETE FROM event WHERE sequence = 1", 1, "next event has the sequence number 2"),
    "the last is gone": (
        "DELETE FROM event WHERE sequence = (SELECT n_events FROM event_chain)",
        N_EVENTS,
        f"should have {N_EVENTS} events, and has {N_EVENTS - 1}",
    ),
    "the head": (f"UPDATE event_chain SET head_digest = '{'1' * 64}'", N_EVENTS, "not the stored last one"),
}
"""Manipulations of the chain as SQL statements, the first invalid event, and a part of the reason."""


@pytest.fixture(scope="module")
def audited_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A SQLite file with the campaign, and the head of its chain, kept elsewhere."""
    path = tmp_path_factory.mktemp("audited") / "dissensus.db"
    shutil.copy(sqlite_template, path)
    platform = Platform(connect(f"sqlite:///{path}"))
    create_audited_campaign(platform)
    assert refresh_snapshots(platform, MonitoringCache(), now=LATER + timedelta(hours=1)) == 1
    report = audit_campaign(platform, "pilot")
    assert report.holds, report
    assert (report.n_erased > 12, report.n_withdrawals, report.compares_summaries) == (True, 1, True)
    platform.close()
    return path, report.head


@pytest.fixture
def copied(audited_file: tuple[Path, str], tmp_path: Path) -> Iterator[Database]:
    """A copy of the file."""
    shutil.copy(audited_file[0], tmp_path / "dissensus.db")
    database = connect(f"sqlite:///{tmp_path / 'dissensus.db'}")
    yield database
    database.dispose()


def manipulate(database: Database, statements: str) -> None:
    """Run SQL statements as somebody with write access to the database would."""
    with database.writing() as tx:
        for statement in statements.split(";"):
            tx.execute(text(statement))


def find_faults(report: AuditReport) -> list[str]:
    broken = [] if report.first_break is None else [report.first_break.reason]
    return [*broken, *report.faults]


@pytest.mark.parametrize("manipulation", MANIPULATIONS)
def test_an_audit_names_each_manipulation(copied: Database, audited_file: tuple[Path, str], manipulation: str) -> None:
    statements, fault = MANIPULATIONS[manipulation]
    manipulate(copied, statements)
    report = audit_campaign(Platform(copied), "pilot", heads=[audited_file[1]])
    assert not report.holds
    assert any(fault in line for line in find_faults(report)), find_faults(report)


@pytest.mark.parametrize("manipulation", BREAKS)
def test_the_first_break_is_named(copied: Database, manipulation: str) -> None:
    statement, sequence, reason = BREAKS[manipulation]
    manipulate(copied, statement)
    first_break = audit_campaign(Platform(copied), "pilot").first_break
    assert first_break is not None
    assert first_break.sequence == sequence
    assert reason in first_break.reason


def test_a_log_that_was_rebuilt_is_detected_by_its_earlier_head(
    copied: Database, audited_file: tuple[Path, str]
) -> None:
    manipulate(copied, "DELETE FROM event WHERE sequence > 5; UPDATE event SET sequence = NULL, chain_digest = NULL")
    manipulate(copied, f"UPDATE event_chain SET n_events = 0, head_digest = '{'0' * 64}'")
    assert link_pending_events(Platform(copied)) == 5
    report = audit_campaign(Platform(copied), "pilot", heads=[audited_file[1]])
    assert report.first_break is None
    assert report.missing_heads == (audited_file[1],)


def test_manipulations_of_images_are_named(copied: Database) -> None:
    platform, staff_id = Platform(copied), owner(copied, "ada")
    campaigns.create_campaign(platform, definition("pictures"), (), staff_id=staff_id, now=NOW)
    images.add_images(platform, "pictures", [read_image("gone.png", draw())], staff_id=staff_id, now=NOW)
    images.remove_images(platform, "pictures", staff_id=staff_id, now=NOW)
    added = [read_image(name, draw()) for name in ("a.png", "b.png", "c.png")]
    images.add_images(platform, "pictures", added, staff_id=staff_id, now=NOW)
    assert audit_campaign(platform, "pictures").holds
    manipulate(copied, "UPDATE image SET content = 'AAAA' WHERE name = 'a.png'")
    manipulate(copied, "UPDATE image SET content = 'A' WHERE name = 'b.png'; DELETE FROM image WHERE name = 'c.png'")
    assert audit_campaign(platform, "pictures").faults == (
        "Image a.png: changed after the log was written: content.",
        "Image b.png: changed after the log was written: content.",
        "Image c.png: in the log, and not stored.",
    )


def test_many_faults_of_one_kind_are_counted(copied: Database) -> None:
    with copied.writing() as tx:
        for number in range(30):
            statement = f"INSERT INTO check_answer SELECT {ONE_RATER}, :name, 1, 'Yes', '2026-03-01 12:00:00.000000'"
            tx.execute(text(statement), {"name": f"check-{number}"})
    report = audit_campaign(Platform(copied), "pilot")
    assert len(report.faults) == 21
    assert report.faults[-1] == "Check answer: 10 further faults."
