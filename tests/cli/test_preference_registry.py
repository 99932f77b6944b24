"""`dissensus preference register`, `retrain`, `versions` and `rollback`."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.preference.pairs import simulate_pairs
from tests.support.campaigns import definition
from tests.support.chat_campaigns import CHAT
from tests.support.commands import RunCommand, command_runner

from dissensus.text.transcripts import write_hh

BEST = """
name = "careful"
kind = "best_of_n"
model_type = "rejection sampling"
version = "1"
best_of_n = { scorer = "registry:taste", n = 64, chatbot = { name = "any", kind = "scripted", model_type = "our own", \
version = "1", scripted = { responses = ["kill the road", "sorry the road", "please the road"] } } }
"""


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, database_url: str
) -> RunCommand:
    return command_runner(monkeypatch, capsys, tmp_path, database_url=database_url)


def write(path: Path, n: int) -> Path:
    rows = []
    for pair in simulate_pairs(n)[0]:
        before = [(turn.speaker, turn.text) for turn in pair.context]
        rows.append({side: write_hh([*before, ("bot", getattr(pair, side))]) for side in ("chosen", "rejected")})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_a_chatbot_uses_the_retrained_model(run: RunCommand, tmp_path: Path) -> None:
    registered = run("preference", "register", "taste", "--purpose", "harmless", "--margin", "0.1")
    assert (
        registered.stdout == 'Made models/taste. Add to campaigns that it learns from: registered_models = ["taste"]\n'
    )
    assert run("preference", "versions", "taste").stdout == "There are no versions yet.\n"
    (tmp_path / "careful.toml").write_text(BEST)
    assert "best of" not in run("chat", "careful.toml", "--once", "Hi", "--seed", "1").stderr
    done = run("preference", "retrain", "taste", write(tmp_path / "few.jsonl", 200), "--no-site")
    assert done.returncode == 0, done.stderr
    assert "Version 1 learned from 163 pairs; 37 others are held out." in done.stdout
    assert "It is shown to be better than chance" in done.stdout
    assert "It was promoted. Current: 1." in done.stdout
    answered = run("chat", "careful.toml", "--once", "Hi", "--seed", "1")
    assert answered.stdout == "sorry the road\n"
    assert "best of 64 by taste/1" in answered.stderr
    more = write(tmp_path / "more.jsonl", 400)
    assert "Current: 2." in run("preference", "retrain", "taste", more, "--no-site").stdout
    assert run("preference", "retrain", "taste", more, "--no-site").stdout == (
        "There is no new pair since the last version was trained.\n"
    )
    back = run("preference", "rollback", "taste", "--reason", "It is too careful.")
    assert back.stdout == "Version 1 of taste is current again.\n"
    document = json.loads(run("preference", "versions", "taste", "--format", "json").stdout)
    assert (document["name"], document["purpose"], document["current"]) == ("taste", "harmless", 1)
    assert [(entry["action"], entry["version"]) for entry in document["entries"]] == [
        ("promoted", 1),
        ("promoted", 2),
        ("rolled back", 1),
    ]
    assert document["entries"][1]["difference"]["ci_low"] > -0.1
    assert (document["margin"], document["confidence"], document["kind"], document["campaigns"]) == (
        0.1,
        0.95,
        "linear",
        [],
    )
    rows = list(csv.DictReader(io.StringIO(run("preference", "versions", "taste", "--format", "csv").stdout)))
    assert rows[-1]["reason"] == "It is too careful."
    assert run("preference", "versions", "taste").stdout.count("\n") == 4
    # Each version is a complete model.
    assert run("preference", "show", "models/taste/2").returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("retrain", "nothing"), "There is no registered model 'nothing' in models."),
        (("retrain", "taste"), 'No campaign names taste: registered_models = ["taste"]'),
        (("retrain", "taste", "--no-site"), "With --no-site there are no pairs to learn from"),
        (("retrain", "taste", "nowhere.jsonl"), "There is no file nowhere.jsonl"),
        (("rollback", "taste"), "taste has no earlier version: no version is current"),
        (("rollback", "taste", "--to", "3"), "has no version 3. It has none"),
        (("versions", "nothing"), "Make it: dissensus preference register nothing"),
        (("register", "taste", "--purpose", "harmless"), "There is a registered model or a file models/taste already"),
        (("register", "Taste", "--purpose", "harmless"), "'Taste' cannot be the name of a registered model"),
        (("register", "other", "--purpose", "harmless", "--margin", "0.7"), "The margin is 0.7"),
        (("register", "other", "--purpose", "harmless", "--confidence", "95"), "The confidence is 95"),
        (("versions", "../secrets"), "cannot be the name of a registered model"),
    ],
)
def test_invalid_requests_are_refused(run: RunCommand, words: tuple[str, ...], says: str) -> None:
    assert run("preference", "register", "taste", "--purpose", "harmless").returncode == 0
    done = run("preference", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert not list(Path("models").glob("other"))


def test_without_a_site_files_suffice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = command_runner(monkeypatch, capsys, tmp_path)
    run("preference", "register", "taste", "--purpose", "harmless")
    few = write(tmp_path / "few.jsonl", 200)
    done = run("preference", "retrain", "taste", few)
    assert (done.returncode, done.stdout) == (1, "")
    assert "To learn from files only, add --no-site." in done.stderr
    assert run("preference", "retrain", "taste", few, "--no-site").returncode == 0


def test_a_campaign_without_comparisons(run: RunCommand, tmp_path: Path) -> None:
    from dissensus.schema.campaign.definition import write_campaign
    from dissensus.schema.campaign.parser import parse_campaign

    mapping = {key: value for key, value in definition("pilot").as_mapping().items() if key != "questionnaire"}
    campaign = parse_campaign({**mapping, "chat": CHAT, "registered_models": ["taste"]})
    (tmp_path / "pilot.toml").write_text(write_campaign(campaign))
    assert run("campaign", "new", "pilot.toml").returncode == 0
    run("preference", "register", "taste", "--purpose", "harmless")
    done = run("preference", "retrain", "taste")
    assert (done.returncode, done.stdout) == (1, "")
    assert "preferences yet in campaigns that name taste" in done.stderr
    # Additional files suffice.
    assert run("preference", "retrain", "taste", write(tmp_path / "few.jsonl", 200)).returncode == 0
