"""`dissensus staff`."""

import io
import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.databases import sqlite_only
from tests.support.commands import SCRIPT, RunCommand, command_runner
from tests.support.live_site import serving

from dissensus import Client, NotAllowed

PASSWORD = "correct horse battery"


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, database_url: str
) -> RunCommand:
    """Run a command on a platform with a campaign of ada."""
    (tmp_path / "items.txt").write_text("User: Hi\nBot: Hello!\n")
    settings = {"password_passes": "1", "password_memory_mib": "1", "base_url": "https://rate.example.org"}
    run_command = command_runner(monkeypatch, capsys, tmp_path, database_url=database_url, **settings)
    created = run_command("campaign", "new", "dices-350", "--name", "pilot", "--items", "items.txt", "--owner", "ada")
    assert created.returncode == 0, created.stderr
    return run_command


def list_staff(run: RunCommand, *words: str) -> list[tuple[str, str, str]]:
    rows = json.loads(run("staff", "list", *words, "--format", "json").stdout)["staff"]
    return [(row["campaign"], row["person"], row["role"]) for row in rows]


def test_members_are_added_changed_and_removed(run: RunCommand) -> None:
    assert list_staff(run) == [("pilot", "ada", "owner")]
    added = run("staff", "add", "pilot", "grace", "--role", "analyst")
    assert added.stdout == "grace is a member of pilot, as analyst. For a link to sign in: dissensus sign-in grace\n"
    assert run("staff", "role", "pilot", "grace", "owner").stdout == "grace is a member of pilot, as owner.\n"
    assert run("staff", "remove", "pilot", "ada").stdout == "ada is no longer a member of pilot.\n"
    assert list_staff(run, "pilot") == [("pilot", "grace", "owner")]
    assert list_staff(run) == [("pilot", "grace", "owner"), (None, "ada", None)]
    table = run("staff", "list").stdout.splitlines()
    assert table[0].split() == ["campaign", "person", "role", "since"]
    assert run("staff", "list", "pilot", "--format", "csv").stdout.startswith("campaign,person,role,since\npilot,grace")
    # Commands act for the current owners of the campaign.
    assert run("campaign", "open", "pilot").returncode == 0


def test_an_invitation_link(run: RunCommand) -> None:
    assert run("staff", "invite", "pilot", "--role", "expert").stdout.startswith("https://rate.example.org/join/")


@sqlite_only
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("remove", "pilot", "ada"), "ada is the last owner of pilot"),
        (("role", "pilot", "ada", "expert"), "ada is the last owner of pilot"),
        (("role", "pilot", "ada", "ownr"), "'ownr' is not a role. Did you mean 'owner'?"),
        (("add", "pilot", "ada", "--role", "expert"), "ada belongs to pilot already, as owner"),
        (("add", "nothing", "bob", "--role", "expert"), "There is no campaign 'nothing'"),
        (("remove", "pilot", "bob"), "Nobody called 'bob' belongs to pilot"),
        (("list", "nothing"), "There is no campaign 'nothing'"),
    ],
)
def test_invalid_requests_are_refused(run: RunCommand, words: tuple[str, ...], says: str) -> None:
    done = run("staff", *words)
    assert done.returncode == 1
    assert says in done.stderr


@sqlite_only
def test_a_password_is_read_from_a_pipe(run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
    done = run("staff", "password", "ada")
    assert done.stdout == "The password of ada is set; sessions ended: 0.\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("short\n"))
    assert "it needs 12 to 1,000" in run("staff", "password", "ada").stderr
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
    assert "There is no person called 'eve'; there are 'ada'" in run("staff", "password", "eve").stderr


@pytest.mark.slow
@sqlite_only
def test_a_terminal_does_not_show_the_password(run: RunCommand, tmp_path: Path, database_url: str) -> None:
    assert run("staff", "list").returncode == 0
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DISSENSUS_DATABASE_URL": database_url, "DISSENSUS_PASSWORD_MEMORY_MIB": "1"}
    words = [str(SCRIPT), "staff", "password", "ada"]
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment, start_new_session=True
    ) as process:
        # Otherwise reading blocks forever after the process has ended.
        os.close(theirs)
        output = b""
        for question in (b"New password: ", b"Repeat it: "):
            while not output.endswith(question):
                output += os.read(ours, 1000)
            os.write(ours, f"{PASSWORD}\n".encode())
        while b"sessions ended: 0." not in output:
            output += os.read(ours, 1000)
    assert process.returncode == 0
    assert PASSWORD.encode() not in output


def test_the_security_log_is_printed_as_json_lines(run: RunCommand) -> None:
    run("staff", "add", "pilot", "grace", "--role", "analyst")
    run("staff", "token", "ada", "--scope", "export", "--name", "nightly")
    lines = [json.loads(line) for line in run("staff", "log").stdout.splitlines()]
    assert [(line["kind"], line["person"]) for line in lines] == [("role_given", "grace"), ("token_created", "ada")]
    assert lines[0] | {"campaign": "pilot", "role": "analyst", "by": "ada", "network": None} == lines[0]
    assert len(run("staff", "log", "ada", "--days", "1").stdout.splitlines()) == 1


def test_tokens_are_created_listed_and_revoked(run: RunCommand) -> None:
    created = run("staff", "token", "ada", "--scope", "export", "--scope", "see", "--days", "7", "--name", "nightly")
    assert created.returncode == 0, created.stderr
    key = created.stdout.strip()
    assert key.startswith("dis_")
    assert created.stderr.startswith("Its name is nightly, and it expires on ")
    assert "To revoke it: dissensus staff revoke ada nightly" in created.stderr
    (row,) = json.loads(run("staff", "tokens", "ada", "--format", "json").stdout)["tokens"]
    assert (row["name"], row["scopes"], row["used"]) == ("nightly", "export see", None)
    assert key not in str(row)
    table = run("staff", "tokens", "ada").stdout.splitlines()
    assert [line.split()[0] for line in table] == ["name", "nightly"]
    assert "called 'nightly'" in run("staff", "token", "ada", "--scope", "see", "--name", "nightly").stderr
    assert run("staff", "revoke", "ada", "nightly").stdout == "The token nightly of ada is revoked.\n"
    assert json.loads(run("staff", "tokens", "ada", "--format", "json").stdout)["tokens"] == []


@sqlite_only
def test_a_token_from_the_command_line_opens_the_api(run: RunCommand, database_url: str) -> None:
    key = run("staff", "token", "ada", "--scope", "see").stdout.strip()
    with serving(database_url) as live, Client(live.url, key) as client:
        live.clock.at = datetime.now(UTC)
        assert client.campaign("pilot").state == "draft"
        with pytest.raises(NotAllowed, match="scope list"):
            list(client.campaigns())


@sqlite_only
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("token", "ada"), "A token without a scope can do nothing"),
        (("token", "ada", "--scope", "exprt"), "'exprt' is not a scope. Scopes are"),
        (("token", "ada", "--scope", "export", "--days", "366"), "is valid for 1 to 365 days; 366 were requested"),
        (("token", "bob", "--scope", "export"), "There is no person called 'bob'"),
        (("tokens", "bob"), "There is no person called 'bob'"),
        (("revoke", "ada", "nightly"), "ada has no token called 'nightly'. There are none."),
    ],
)
def test_invalid_tokens_are_refused(run: RunCommand, words: tuple[str, ...], says: str) -> None:
    done = run("staff", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
