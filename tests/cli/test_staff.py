"""Staff from the command line."""

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.support.commands import SCRIPT, CompletedCommand, command_runner
from tests.support.live_site import serving

from dissensus import Client, NotAllowed

PASSWORD = "correct horse battery"
Told = Callable[..., CompletedCommand]


@pytest.fixture
def told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, database_url: str
) -> Told:
    """Run a command on a platform with a campaign of ada."""
    (tmp_path / "items.txt").write_text("User: Hi\nBot: Hello!\n")
    settings = {"password_passes": "1", "password_memory_mib": "1", "base_url": "https://rate.example.org"}
    run = command_runner(monkeypatch, capsys, tmp_path, database_url=database_url, **settings)
    made = run("campaign", "new", "dices-350", "--name", "pilot", "--items", "items.txt", "--owner", "ada")
    assert made.returncode == 0, made.stderr
    return run


def listed(told: Told, *words: str) -> list[tuple[str, str, str]]:
    rows = json.loads(told("staff", "list", *words, "--format", "json").stdout)["staff"]
    return [(row["campaign"], row["person"], row["role"]) for row in rows]


def test_staff_come_change_and_go(told: Told) -> None:
    assert listed(told) == [("pilot", "ada", "owner")]
    added = told("staff", "add", "pilot", "grace", "--role", "analyst")
    assert added.stdout == "grace belongs to pilot as analyst. For a link to sign in: dissensus sign-in grace\n"
    assert told("staff", "role", "pilot", "grace", "owner").stdout == "grace belongs to pilot as owner.\n"
    assert told("staff", "remove", "pilot", "ada").stdout == "ada does not belong to pilot any more.\n"
    assert listed(told, "pilot") == [("pilot", "grace", "owner")]
    assert listed(told) == [("pilot", "grace", "owner"), (None, "ada", None)]
    table = told("staff", "list").stdout.splitlines()
    assert table[0].split() == ["campaign", "person", "role", "since"]
    assert told("staff", "list", "pilot", "--format", "csv").stdout.startswith(
        "campaign,person,role,since\npilot,grace"
    )
    # Commands go on acting for the campaign's owners, whoever made it.
    assert told("campaign", "open", "pilot").returncode == 0


def test_a_link_for_somebody(told: Told) -> None:
    assert told("staff", "invite", "pilot", "--role", "expert").stdout.startswith("https://rate.example.org/join/")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("remove", "pilot", "ada"), "ada is the last owner of pilot"),
        (("role", "pilot", "ada", "expert"), "ada is the last owner of pilot"),
        (("role", "pilot", "ada", "ownr"), "'ownr' is no role. Did you mean 'owner'?"),
        (("add", "pilot", "ada", "--role", "expert"), "ada belongs to pilot already, as owner"),
        (("add", "nothing", "bob", "--role", "expert"), "There is no campaign 'nothing'"),
        (("remove", "pilot", "bob"), "Nobody called 'bob' belongs to pilot"),
        (("list", "nothing"), "There is no campaign 'nothing'"),
    ],
)
def test_what_cannot_be_is_told(told: Told, words: tuple[str, ...], says: str) -> None:
    done = told("staff", *words)
    assert done.returncode == 1
    assert says in done.stderr


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_password_comes_from_a_pipe(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
    done = told("staff", "password", "ada")
    assert done.stdout == "The password of ada is set; sessions ended: 0.\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("short\n"))
    assert "it needs 12 to 1,000" in told("staff", "password", "ada").stderr
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{PASSWORD}\n"))
    assert "There is nobody called 'eve'; there are 'ada'" in told("staff", "password", "eve").stderr


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_terminal_does_not_show_the_password(told: Told, tmp_path: Path, database_url: str) -> None:
    assert told("staff", "list").returncode == 0
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DISSENSUS_DATABASE_URL": database_url, "DISSENSUS_PASSWORD_MEMORY_MIB": "1"}
    words = [str(SCRIPT), "staff", "password", "ada"]
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=environment, start_new_session=True
    ) as process:
        # Else reading waits for good where the process has ended.
        os.close(theirs)
        seen = b""
        for question in (b"The new password: ", b"The same again: "):
            while not seen.endswith(question):
                seen += os.read(ours, 1000)
            os.write(ours, f"{PASSWORD}\n".encode())
        while b"sessions ended: 0." not in seen:
            seen += os.read(ours, 1000)
    assert process.returncode == 0
    assert PASSWORD.encode() not in seen


def test_tokens_are_made_listed_and_revoked(told: Told) -> None:
    made = told("staff", "token", "ada", "--scope", "export", "--scope", "see", "--days", "7", "--name", "nightly")
    assert made.returncode == 0, made.stderr
    key = made.stdout.strip()
    assert key.startswith("dis_")
    assert made.stderr.startswith("It is called nightly, and ends ")
    assert "To revoke it: dissensus staff revoke ada nightly" in made.stderr
    (row,) = json.loads(told("staff", "tokens", "ada", "--format", "json").stdout)["tokens"]
    assert (row["name"], row["scopes"], row["used"]) == ("nightly", "export see", None)
    assert key not in str(row)
    assert "There is nobody" not in told("staff", "tokens", "ada").stdout
    assert "called 'nightly'" in told("staff", "token", "ada", "--scope", "see", "--name", "nightly").stderr
    assert told("staff", "revoke", "ada", "nightly").stdout == "The token nightly of ada is revoked.\n"
    assert json.loads(told("staff", "tokens", "ada", "--format", "json").stdout)["tokens"] == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_token_from_the_command_line_opens_the_api(told: Told, database_url: str) -> None:
    key = told("staff", "token", "ada", "--scope", "see").stdout.strip()
    with serving(database_url) as live, Client(live.url, key) as client:
        live.clock.at = datetime.now(UTC)
        assert client.campaign("pilot").state == "draft"
        with pytest.raises(NotAllowed, match="scope list"):
            list(client.campaigns())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("token", "ada"), "A token without a scope can do nothing"),
        (("token", "ada", "--scope", "exprt"), "'exprt' is no scope of a token. Scopes are"),
        (("token", "ada", "--scope", "export", "--days", "366"), "ends within 365 days; 366 were asked for"),
        (("token", "bob", "--scope", "export"), "There is nobody called 'bob'"),
        (("tokens", "bob"), "There is nobody called 'bob'"),
        (("revoke", "ada", "nightly"), "ada has no token called 'nightly'. There are none."),
    ],
)
def test_tokens_that_cannot_be_are_told(told: Told, words: tuple[str, ...], says: str) -> None:
    done = told("staff", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
