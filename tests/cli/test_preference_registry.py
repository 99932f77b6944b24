"""`dissensus preference register`, `retrain`, `versions` and `rollback`: from pairs to a version that chatbots use."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.preference.pairs import simulated
from tests.support.campaigns import definition
from tests.support.chat_campaigns import CHAT
from tests.support.commands import RunCommand, command_runner

from dissensus.text.transcripts import write_hh

BEST = """
name = "careful"
kind = "best_of_n"
model_type = "rejection sampling"
version = "1"
best_of_n = { scorer = "registry:taste", n = 64, of = { name = "any", kind = "scripted", model_type = "our own", \
version = "1", scripted = { responses = ["kill the road", "sorry the road", "please the road"] } } }
"""


@pytest.fixture
def told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, database_url: str
) -> RunCommand:
    return command_runner(monkeypatch, capsys, tmp_path, database_url=database_url)


def write(path: Path, n: int) -> Path:
    rows = []
    for pair in simulated(n)[0]:
        before = [(turn.speaker, turn.text) for turn in pair.context]
        rows.append({side: write_hh([*before, ("bot", getattr(pair, side))]) for side in ("chosen", "rejected")})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_from_pairs_to_a_chatbot_that_uses_what_was_learned(told: RunCommand, tmp_path: Path) -> None:
    made = told("preference", "register", "taste", "--purpose", "harmless", "--margin", "0.1")
    assert made.stdout == 'Made models/taste. A campaign that it is to learn from says: registered_models = ["taste"]\n'
    assert told("preference", "versions", "taste").stdout == "It has no version yet.\n"
    (tmp_path / "careful.toml").write_text(BEST)
    assert "best of" not in told("chat", "careful.toml", "--once", "Hi", "--seed", "1").stderr
    done = told("preference", "retrain", "taste", write(tmp_path / "few.jsonl", 200), "--no-site")
    assert done.returncode == 0, done.stderr
    assert "Version 1 learned from 163 pairs; 37 others are held out." in done.stdout
    assert "It is shown to be better than a coin" in done.stdout
    assert "It was promoted. Current: 1." in done.stdout
    answered = told("chat", "careful.toml", "--once", "Hi", "--seed", "1")
    assert answered.stdout == "sorry the road\n"
    assert "best of 64 by taste/1" in answered.stderr
    more = write(tmp_path / "more.jsonl", 400)
    assert "Current: 2." in told("preference", "retrain", "taste", more, "--no-site").stdout
    assert told("preference", "retrain", "taste", more, "--no-site").stdout == (
        "Nothing is new since the last version was trained.\n"
    )
    back = told("preference", "rollback", "taste", "--why", "It is too careful.")
    assert back.stdout == "Version 1 of taste is current again.\n"
    found = json.loads(told("preference", "versions", "taste", "--format", "json").stdout)
    assert (found["name"], found["purpose"], found["current"]) == ("taste", "harmless", 1)
    assert [(one["what"], one["version"]) for one in found["entries"]] == [
        ("promoted", 1),
        ("promoted", 2),
        ("rolled back", 1),
    ]
    assert found["entries"][1]["difference"]["ci_low"] > -0.1
    assert (found["margin"], found["level"], found["kind"], found["campaigns"]) == (0.1, 0.95, "linear", [])
    rows = list(csv.DictReader(io.StringIO(told("preference", "versions", "taste", "--format", "csv").stdout)))
    assert rows[-1]["why"] == "It is too careful."
    assert told("preference", "versions", "taste").stdout.count("\n") == 4
    # Each version is a model like any other.
    assert told("preference", "show", "models/taste/2").returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("retrain", "nothing"), "There is no registered model 'nothing' in models."),
        (("retrain", "taste"), 'No campaign names taste: registered_models = ["taste"]'),
        (("retrain", "taste", "--no-site"), "With --no-site there is nothing to learn from"),
        (("retrain", "taste", "nowhere.jsonl"), "There is no file nowhere.jsonl"),
        (("rollback", "taste"), "no version to which taste could go back: it has none"),
        (("rollback", "taste", "--to", "3"), "has no version 3. It has none"),
        (("versions", "nothing"), "Make it: dissensus preference register nothing"),
        (("register", "taste", "--purpose", "harmless"), "There is a registered model or a file models/taste already"),
        (("register", "Taste", "--purpose", "harmless"), "'Taste' cannot be the name of a registered model"),
        (("register", "other", "--purpose", "harmless", "--margin", "0.7"), "The margin is 0.7"),
        (("register", "other", "--purpose", "harmless", "--level", "95"), "The level is 95"),
        (("versions", "../secrets"), "cannot be the name of a registered model"),
    ],
)
def test_what_cannot_be(told: RunCommand, words: tuple[str, ...], says: str) -> None:
    assert told("preference", "register", "taste", "--purpose", "harmless").returncode == 0
    done = told("preference", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert not list(Path("models").glob("other"))


def test_where_there_is_no_site_files_alone_may_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = command_runner(monkeypatch, capsys, tmp_path)
    told("preference", "register", "taste", "--purpose", "harmless")
    few = write(tmp_path / "few.jsonl", 200)
    done = told("preference", "retrain", "taste", few)
    assert (done.returncode, done.stdout) == (1, "")
    assert "To learn from files alone, say --no-site." in done.stderr
    assert told("preference", "retrain", "taste", few, "--no-site").returncode == 0


def test_a_campaign_that_nobody_took_part_in_yet(told: RunCommand, tmp_path: Path) -> None:
    from dissensus.schema.campaign.parser import parse_campaign
    from dissensus.schema.campaign.writer import write_campaign

    known = {key: value for key, value in definition("pilot").as_mapping().items() if key != "questionnaire"}
    campaign = parse_campaign({**known, "chat": CHAT, "registered_models": ["taste"]})
    (tmp_path / "pilot.toml").write_text(write_campaign(campaign))
    assert told("campaign", "new", "pilot.toml").returncode == 0
    told("preference", "register", "taste", "--purpose", "harmless")
    done = told("preference", "retrain", "taste")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nothing was preferred yet in campaigns that name taste" in done.stderr
    # With files besides it learns all the same.
    assert told("preference", "retrain", "taste", write(tmp_path / "few.jsonl", 200)).returncode == 0
