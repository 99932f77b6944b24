"""`dissensus audit`: published heads, and their verification later, by the command and by hand."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sqlalchemy import create_engine, text
from tests.support.campaigns import NOW, definition, items, open_campaign
from tests.support.commands import RunCommand, command_runner
from tests.support.paths import ROOT
from tests.support.raters import enter, rate_all

from dissensus.campaign.public_events import to_public_event
from dissensus.store.audit_log import list_entries_after
from dissensus.store.core.database import connect
from dissensus.workflows.campaign import campaigns
from dissensus.workflows.campaign.audit import audit_campaign, load_campaign_ids
from dissensus.workflows.platform.platform import Platform
from dissensus.workflows.rater import withdrawal


@pytest.fixture(scope="module")
def site_file(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with two campaigns, one with two raters."""
    path = tmp_path_factory.mktemp("site") / "dissensus.db"
    shutil.copy(sqlite_template, path)
    platform = Platform(connect(f"sqlite:///{path}"))
    campaign = open_campaign(platform, 2)
    for _ in range(2):
        rate_all(platform, enter(platform, campaign.key))
    campaigns.create_campaign(platform, definition("second"), items(1), staff_id=campaign.staff_id, now=NOW)
    platform.close()
    return path


@pytest.fixture
def site(
    site_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> RunCommand:
    """Run `dissensus` on a copy of the file."""
    shutil.copy(site_file, tmp_path / "dissensus.db")
    return command_runner(monkeypatch, capsys, tmp_path)


def manipulate(folder: Path, *statements: str) -> None:
    engine = create_engine(f"sqlite:///{folder / 'dissensus.db'}")
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def open_platform(folder: Path) -> Platform:
    return Platform(connect(f"sqlite:///{folder / 'dissensus.db'}"))


def withdraw_one(folder: Path) -> None:
    platform = open_platform(folder)
    with platform.database.reading() as tx:
        rater_id = tx.execute(text("SELECT id FROM rater WHERE number = 0")).scalar_one()
    withdrawal.withdraw_rater(platform, rater_id, now=NOW)
    platform.close()


def test_published_heads_are_found_after_withdrawals_and_later_events(site: RunCommand, tmp_path: Path) -> None:
    first = site("audit", "--publish", "heads.jsonl")
    assert (first.returncode, first.stdout.count("holds")) == (0, 2), first
    withdraw_one(tmp_path)
    assert site("audit", "--publish", "heads.jsonl").returncode == 0
    statements = [json.loads(line) for line in (tmp_path / "heads.jsonl").read_text().splitlines()]
    heads = [{head["events"]: head["head"] for head in statement["heads"]} for statement in statements]
    assert [sorted(published) for published in heads] == [[1, 14], [1, 15]]
    done = site("audit", "--head", "heads.jsonl")
    assert done.returncode == 0, done
    assert "14 events" not in done.stdout
    assert "The chain of pilot holds: 15 events, 6 of them erased by withdrawal." in done.stdout
    assert "All 2 published heads are in the chain." in done.stdout
    assert f"2 statements up to {statements[1]['at']}, signed with {statements[0]['key']}." in done.stdout
    report = json.loads(site("audit", "pilot", "--head", heads[0][14], "--json").stdout)
    assert (report["holds"], report["contains_head"], report["withdrawals"]) == (True, True, 1)


def test_a_key_from_a_pipe_verifies_the_statements_and_signs_the_next(site: RunCommand, tmp_path: Path) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for _ in range(2):
        reader, writer = os.pipe()
        os.write(writer, pem)
        os.close(writer)
        done = site("audit", "--publish", "heads.jsonl", "--key", f"/dev/fd/{reader}")
        os.close(reader)
        assert done.returncode == 0, done
    assert len((tmp_path / "heads.jsonl").read_text().splitlines()) == 2


def test_a_rebuilt_log_and_a_removed_campaign_are_named(site: RunCommand, tmp_path: Path) -> None:
    assert site("audit", "--publish", "heads.jsonl").returncode == 0
    manipulate(
        tmp_path,
        "DELETE FROM event WHERE sequence > 8",
        "UPDATE event SET sequence = NULL, chain_digest = NULL",
        f"UPDATE event_chain SET n_events = 0, head_digest = '{'0' * 64}'",
        "DELETE FROM campaign WHERE name = 'second'",
    )
    done = site("audit", "--head", "heads.jsonl")
    assert done.returncode == 1
    assert re.search(r"The head of \S+Z, after 14 events, is not in the chain\.", done.stdout)
    assert "was published, and the site has none with this id" in done.stdout
    # A log that fails is not published, and the file stays.
    before = (tmp_path / "heads.jsonl").read_bytes()
    failed = site("audit", "--publish", "heads.jsonl")
    assert (failed.returncode, failed.stderr) == (1, "No head was published.\n")
    assert (tmp_path / "heads.jsonl").read_bytes() == before


def test_changed_removed_and_forged_statements_are_refused(site: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "heads.jsonl"
    for _ in range(3):
        assert site("audit", "--publish", path).returncode == 0
    lines = path.read_text().splitlines()
    pem = {
        name: (
            key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
            key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        )
        for name, key in (("own", Ed25519PrivateKey.generate()), ("foreign", Ed25519PrivateKey.generate()))
    }
    for name, (private, public) in pem.items():
        (tmp_path / f"{name}.pem").write_bytes(private)
        (tmp_path / f"{name}-public.pem").write_bytes(public)
    forged = lines[1].replace('"events":14', '"events":13')
    for changed, message in (
        ([lines[0], lines[2]], "Line 2 does not follow the line before it"),
        ([lines[0], forged, lines[2]], "Line 2 is not signed with the key that it states"),
        ([lines[0], lines[1][:-3]], "Line 2 is not a statement of heads"),
        (["[]"], "Line 1 is not a statement of heads"),
    ):
        path.write_text("\n".join(changed) + "\n")
        done = site("audit", "--head", path)
        assert done.returncode == 1
        assert message in done.stderr
    path.unlink()
    assert site("audit", "--publish", path, "--key", "own.pem").returncode == 0
    assert site("audit", "--head", path, "--key", "own-public.pem").returncode == 0
    done = site("audit", "--head", path, "--key", "foreign-public.pem")
    assert (done.returncode, "is not signed with the given key" in done.stderr) == (1, True)
    assert "neither an Ed25519 public key in PEM" in site("audit", "--publish", path, "--key", "heads.jsonl").stderr
    assert "There is no file nothing.jsonl" in site("audit", "--head", "nothing.jsonl").stderr
    assert "A head is of one campaign" in site("audit", "--head", "0" * 64).stderr


def test_the_program_in_the_documentation_verifies_events_and_heads(site: RunCommand, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "verification.md").read_text()
    _, program = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "verify_log.py").write_text(program)
    assert site("audit", "--publish", "heads.jsonl").returncode == 0
    withdraw_one(tmp_path)
    assert site("audit", "--publish", "heads.jsonl").returncode == 0
    platform = open_platform(tmp_path)
    campaign_id = load_campaign_ids(platform)["pilot"]
    assert audit_campaign(platform, "pilot").holds
    with platform.database.reading() as tx:
        entries = list_entries_after(tx, campaign_id, after=0, most=100)
    platform.close()
    lines = [json.dumps(to_public_event(entry).as_mapping()) for entry in entries]

    def verify(events: list[str], campaign: str = campaign_id) -> subprocess.CompletedProcess[str]:
        (tmp_path / "events.jsonl").write_text("\n".join(events) + "\n")
        command = [sys.executable, "verify_log.py", "events.jsonl", "heads.jsonl", campaign]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert verify(lines).stdout.startswith("15 events, and every published head is among them.")
    assert "Event 3 does not follow." in verify([*lines[:2], *lines[3:]]).stderr
    assert "is not in the chain." in verify(lines[:10]).stderr
    done = verify(lines, "pilot")
    assert (done.returncode, "no head of a campaign with the id pilot" in done.stderr) == (1, True)
