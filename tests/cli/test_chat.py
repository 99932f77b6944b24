"""`dissensus chat`."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.chat_completion_server import Loopback, answers, loopback, says, streams
from tests.support.commands import RunCommand

KEY = "a-key-that-nobody-else-may-see"
SCRIPTED = """
name = "parrot"
kind = "scripted"
model_type = "our own"
version = "1"
[scripted]
responses = ["Hello there.\\nAnd {evil}."]
""".replace("{evil}", "\\u202emore")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("TERN_KEY", KEY)
    with loopback() as running:
        yield running


@pytest.fixture
def tern(server: Loopback, tmp_path: Path) -> Path:
    path = tmp_path / "tern.toml"
    path.write_text(f"""
name = "tern"
kind = "openai_compatible"
model_type = "rlhf"
num_params = "7B"
version = "2"
[openai_compatible]
url = "{server.url}"
model = "tern-7b"
key_variable = "TERN_KEY"
[request_policy]
max_attempts = 1
""")
    return path


def test_one_response_and_its_cost(run: RunCommand, server: Loopback, tern: Path) -> None:
    server.will(says("Swim", " well!", finish="tool_calls", usage={"prompt_tokens": 9, "completion_tokens": 2}))
    done = run("chat", tern, "--once", "May I swim?", "--seed", "2147483647")
    assert (done.returncode, done.stdout) == (0, "Swim well!\n")
    about, took = done.stderr.splitlines()
    assert re.fullmatch(r"tern: rlhf, 7B, version 2, digest [0-9a-f]{12}, seed 2147483647\.", about)
    assert re.fullmatch(
        r"\[other \(tool_calls\); first word after [\d.]+ s; all after [\d.]+ s; 2 tokens; seed 2147483647\]", took
    )
    assert server.bodies[0]["messages"] == [{"role": "user", "content": "May I swim?"}]


def test_a_missing_seed_is_drawn_and_printed(run: RunCommand, server: Loopback, tern: Path) -> None:
    seeds = []
    for _ in range(2):
        printed_seeds = re.findall(r"seed (\d+)", run("chat", tern, "--once", "Hi").stderr)
        assert printed_seeds[0] == printed_seeds[1]
        seeds.append(int(printed_seeds[0]))
    assert [body["seed"] for body in server.bodies] == seeds
    assert seeds[0] != seeds[1]


def type_lines(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_lines_are_turns_and_failed_turns_are_dropped(
    run: RunCommand, server: Loopback, tern: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.will(says("Hello."), answers(500), streams(b'data: {"choices": [{"delta": {"content": "Half"}}]}\n\n'))
    type_lines(monkeypatch, "Hi\n\n  \nAgain\nAnd again\nStill there?")
    done = run("chat", tern, "--seed", "7")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["Hello.", "Half", "Hello there."]
    assert done.stderr.count("Error: tern does not respond: ") == 2
    assert "broke off in mid-stream" in done.stderr
    last = [message["content"] for message in server.bodies[-1]["messages"]]
    assert last == ["Hi", "Hello.", "Still there?"]
    assert [body["seed"] for body in server.bodies] == [7, 8, 9, 10]
    assert KEY not in done.stderr


def test_control_characters_of_responses_are_escaped(run: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "parrot.toml"
    path.write_text(SCRIPTED)
    assert run("chat", path, "--once", "Hi").stdout == "Hello there.\nAnd \\u202emore.\n"


def test_best_of_n_prints_its_cost(run: RunCommand, tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    best = SCRIPTED.replace("[scripted]", "[best_of_n.chatbot.scripted]").replace('"scripted"', '"best_of_n"', 1)
    inner = 'name = "inner"\nkind = "scripted"\nmodel_type = "x"\nversion = "1"\n'
    path.write_text(
        best.replace(
            "[best_of_n.chatbot", f'[best_of_n]\nscorer = "brevity"\n[best_of_n.chatbot]\n{inner}[best_of_n.chatbot', 1
        )
    )
    done = run("chat", path, "--once", "Hi", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert "; best of 16; score -3.18; seed 1]" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere.toml",), "There is no file nowhere.toml"),
        (("noise.toml",), "so the file is not UTF-8 text"),
        (("bad.toml",), "The chatbot has 4 faults:\n- kind: It is missing."),
        (("keyless.toml", "--once", "Hi"), "NO_SUCH_KEY is not set in the environment"),
        (("parrot.toml", "--once", "\0"), "NUL"),
    ],
)
def test_errors_are_printed(run: RunCommand, tern: Path, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    (tmp_path / "noise.toml").write_bytes(b"\xff")
    (tmp_path / "bad.toml").write_text("# Nothing.\n")
    (tmp_path / "parrot.toml").write_text(SCRIPTED)
    (tmp_path / "keyless.toml").write_text(tern.read_text().replace("TERN_KEY", "NO_SUCH_KEY"))
    done = run("chat", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Error: " in done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_input_must_be_utf8(run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parrot.toml").write_text(SCRIPTED)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), "utf-8"))
    done = run("chat", "parrot.toml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Error: The input is not UTF-8" in done.stderr
