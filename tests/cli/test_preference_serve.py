"""`dissensus preference serve` as a process, over loopback."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.preference.pairs import simulate_pairs
from tests.preference.people import people
from tests.support.commands import SCRIPT, RunCommand
from tests.support.live_site import answering

from dissensus.chat.remote_scorer import open_remote_model
from dissensus.errors import NotAllowed
from dissensus.files.attempts.tables import write_attempts
from dissensus.files.models.folder import load_model, read_identity, save_model
from dissensus.preference.fit.training import TrainingPlan, train
from dissensus.schema.records.attempt import Attempt
from dissensus.schema.records.conversation import Conversation
from dissensus.web.score_service import create_scoring_app

KEY = "let-me-in"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(train(simulate_pairs(200)[0], purpose="harmless"), tmp_path / "taste")
    return tmp_path / "taste"


@pytest.fixture
def url(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    words = [str(SCRIPT), "preference", "serve", "--model", str(model), "--port", "0"]
    environment = {**os.environ, "DISSENSUS_SCORE_KEY": KEY}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        match = re.search(r"taste \(harmless\) scores at (http://\S+/score)", first)
        assert match, first + process.stderr.read()
        yield match[1]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "Stopped." in process.stderr.read()


@pytest.mark.slow
def test_a_served_model_equals_the_one_in_the_folder(
    run: RunCommand, url: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Conversation.from_turns([("human", "Hi"), ("bot", "kill"), ("human", "What?"), ("bot", "sorry")])
    with open_remote_model(url, key=KEY) as remote_model:
        assert remote_model.score([talk] * 3) == load_model(model).score([talk] * 3)
        assert (remote_model.identity, remote_model.purpose) == (read_identity(model), "harmless")
    with pytest.raises(NotAllowed, match="The key is missing or wrong"), open_remote_model(url):
        pass

    attempt = Attempt(
        transcript="\n\nHuman: Hi\n\nAssistant: kill",
        min_harmlessness_score_transcript=None,
        num_params=None,
        model_type="rlhf",
        rating=1,
        task_description="sorry",
        task_description_harmlessness_score=None,
        red_team_member_id=1,
        is_upworker=None,
        tags=None,
    )
    write_attempts([attempt] * 3, tmp_path / "attempts.jsonl")
    monkeypatch.setenv("DISSENSUS_SCORE_KEY", KEY)
    for location, target in ((url, "far.jsonl"), (str(model), "near.jsonl")):
        done = run("preference", "score", "attempts.jsonl", "--model", location, "-o", target)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "far.jsonl").read_bytes() == (tmp_path / "near.jsonl").read_bytes()
    question = "\n\nHuman: Question?\n\nAssistant: "
    rows = [{"chosen": f"{question}sorry {n}", "rejected": f"{question}kill it {n}"} for n in range(9)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("preference", "evaluate", "pairs.jsonl", "--format", "json", "--model")
    remote, local = (json.loads(run(*words, location).stdout) for location in (url, str(model)))
    assert remote["accuracy"] == local["accuracy"]
    assert remote["model"] == local["model"]
    assert remote["log_loss"] == pytest.approx(local["log_loss"])
    for options, says in (
        (("--purpose", "helpful"), "trained for harmless, and helpful is requested"),
        (("--as-group", "rater_gender=Woman"), "does not report that its model has groups"),
        (("--quantile", "0.05"), "does not report that its model has spreads"),
    ):
        refused = run("preference", "score", "attempts.jsonl", "--model", url, "-o", "x.jsonl", *options)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert says in refused.stderr


def test_group_views_work_with_a_served_model(run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    save_model(
        train(people(2.0, n_training=120).votes, purpose="helpful", plan=TrainingPlan(kind="groups")),
        tmp_path / "by-group",
    )
    (tmp_path / "talk.jsonl").write_text('{"transcript": "\\n\\nHuman: Hi\\n\\nAssistant: tea and maps"}\n')
    app = create_scoring_app(load_model(tmp_path / "by-group"), read_identity(tmp_path / "by-group"))
    with answering(app) as url:
        for words in ((), ("--as-group", "rater_gender=Woman"), ("--as-group", "rater_gender=Man")):
            far, near = (run("preference", "score", "talk.jsonl", "--model", of, *words) for of in (url, "by-group"))
            assert far.returncode == 0, far.stderr
            assert far.stdout == near.stdout
