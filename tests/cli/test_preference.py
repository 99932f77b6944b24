"""`dissensus preference`: train, evaluate, score."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.preference.pairs import simulate_pairs
from tests.support.commands import RunCommand

from dissensus.files.attempts.tables import read_attempts
from dissensus.text.transcripts import write_hh


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Simulated pairs; both responses of the last are equal."""
    rows = []
    for pair in simulate_pairs(120)[0]:
        turns = [(turn.speaker, turn.text) for turn in pair.context]
        rows.append([write_hh([*turns, ("bot", said)]) for said in (pair.chosen, pair.rejected)])
    rows.append([rows[0][0]] * 2)
    path = tmp_path / "harmless.jsonl"
    path.write_text("\n".join(json.dumps(dict(zip(("chosen", "rejected"), row, strict=True))) for row in rows))
    return path


@pytest.fixture
def model(run: RunCommand, pairs: Path, tmp_path: Path) -> Path:
    done = run("preference", "train", pairs, "--out", "model")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Trained on 120 pairs of 120 dialogues. On 24 pairs held out: accuracy ")
    assert "Note: 1 pair left out: both answers are the same." in done.stderr
    assert json.loads((tmp_path / "model" / "card.json").read_text())["excluded"] == {"both answers are the same": 1}
    return tmp_path / "model"


def test_a_model_is_trained_and_measured(run: RunCommand, pairs: Path, model: Path) -> None:
    table = run("preference", "evaluate", pairs, "--model", model)
    assert table.returncode == 0, table.stderr
    assert "120 pairs of 120 dialogues." in table.stdout
    assert "length alone" in table.stdout
    document = json.loads(run("preference", "evaluate", pairs, "--model", model, "--format", "json").stdout)
    assert document["schema_version"] == 1
    assert document["accuracy"]["ci_low"] < document["accuracy"]["estimate"] < document["accuracy"]["ci_high"]
    assert sum(one["accuracy"]["n"] for one in document["bins"]) == 120
    lines = run("preference", "evaluate", pairs, "--model", model, "--format", "csv").stdout.splitlines()
    assert lines[0] == "by,value,n,dialogues,accuracy,ci_low,ci_high,length_alone"
    assert len(lines) == 2 + len(document["slices"])


def test_values_of_slices_are_no_formulas_in_csv(run: RunCommand, pairs: Path, model: Path, tmp_path: Path) -> None:
    rows = map(json.loads, pairs.read_text().splitlines())
    lines = [row | {"tranche": "=1+1" if index % 2 else "base"} for index, row in enumerate(rows)]
    path = tmp_path / "tranches.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    table = run("preference", "evaluate", path, "--model", model, "--format", "csv")
    assert "tranche,'=1+1," in table.stdout


def test_a_model_below_chance_is_named(run: RunCommand, pairs: Path, model: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in pairs.read_text().splitlines()]
    exchanged = [{"chosen": pair["rejected"], "rejected": pair["chosen"]} for pair in lines]
    path = tmp_path / "neutral.jsonl"
    path.write_text("\n".join(map(json.dumps, exchanged)))
    assert "below chance" not in run("preference", "evaluate", pairs, "--model", model).stderr
    assert "of the pairs, below chance. Does it have" in run("preference", "evaluate", path, "--model", model).stderr


def test_folds_need_no_model(run: RunCommand, pairs: Path) -> None:
    done = run("preference", "evaluate", pairs, "--folds", "3", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"]["estimate"] > 0.6


def test_two_models_are_compared_on_the_same_pairs(run: RunCommand, pairs: Path, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run("preference", "train", pairs, "-o", other, "--seed", "3").returncode == 0
    document = json.loads(
        run("preference", "evaluate", pairs, "--model", model, "--against", other, "--format", "json").stdout
    )
    assert document["model"]["name"] == "model"
    assert document["against"]["model"]["sha256"] == hashlib.sha256((other / "SHA256SUMS").read_bytes()).hexdigest()
    gap = document["accuracy"]["estimate"] - document["against"]["accuracy"]["estimate"]
    assert document["difference"]["accuracy"]["estimate"] == pytest.approx(gap)
    table = run("preference", "evaluate", pairs, "--model", model, "--against", model).stdout
    assert "model less model (" in table
    assert "is shown to be right more often." in table


def test_a_report_is_one_page(run: RunCommand, pairs: Path, model: Path, tmp_path: Path) -> None:
    done = run("preference", "evaluate", pairs, "--model", model, "--against", model, "-o", "report.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "Evaluation of model" in page
    assert 'id="reliability"' in page
    assert "both answers are the same" in page
    assert not re.search(r"<(script|link|iframe|img|object|embed|form)\b", page)


def test_every_turn_of_the_bot_has_a_score(run: RunCommand, model: Path, tmp_path: Path) -> None:
    talk = write_hh([("human", "Hi"), ("bot", "kill"), ("human", "What?"), ("bot", "sorry")])
    (tmp_path / "attempts.jsonl").write_text(json.dumps({"transcript": talk}))
    done = run("preference", "score", "attempts.jsonl", "--model", model)
    assert done.returncode == 0, done.stderr
    head, first, second = (line.split(",") for line in done.stdout.splitlines())
    assert head == ["row", "bot_turn", "score"]
    assert (first[:2], second[:2]) == (["1", "1"], ["1", "2"])
    assert float(first[2]) < float(second[2])


def test_attempts_are_scored(run: RunCommand, model: Path, tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    sample = real_data("red-team/red_team_attempts.sample.jsonl")
    done = run("preference", "score", sample, "--model", model, "-o", "scored.json", "--replace")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Scored 10 transcripts and 10 descriptions of 10 attempts.\n"
    record = json.loads((tmp_path / "scored.json.scores.json").read_text())
    assert record["model"]["sha256"] == hashlib.sha256((model / "SHA256SUMS").read_bytes()).hexdigest()
    unchanged = run("preference", "score", sample, "--model", model, "-o", "kept.json")
    assert "20 scores were there before and are kept" in unchanged.stderr
    assert read_attempts(tmp_path / "kept.json").attempts == read_attempts(sample).attempts
    for words, says in (
        (("-o", "scored.json"), "--overwrite"),
        ((), "Name it: -o scored.jsonl"),
        (("-o", "other.json", "--purpose", "helpful"), "trained for harmless, and helpful is requested"),
    ):
        refused = run("preference", "score", sample, "--model", model, *words)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert says in refused.stderr


def test_errors(run: RunCommand, pairs: Path, model: Path, tmp_path: Path) -> None:
    helpful = tmp_path / "helpful.jsonl"
    helpful.write_bytes(pairs.read_bytes())
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(pairs.read_bytes())
    for words, says in (
        (("train", plain, "-o", "other"), "The criterion of the choices is unknown"),
        (("train", pairs, helpful, "-o", "other"), "some about harmless"),
        (("train", pairs, "-o", pairs), "is read here, and writing to it would destroy it"),
        (("train", pairs, "-o", "."), "holds other files than a model"),
        (("evaluate", helpful, "--model", model), "trained for harmless, and helpful is requested"),
        (("evaluate", pairs, "--model", model, "--purpose", "helpful"), "trained for harmless, and helpful is"),
        (("evaluate", pairs), "Give --model DIR"),
        (("evaluate", pairs, "--model", model, "--folds", "3"), "Give --model DIR"),
        (("evaluate", pairs, "--folds", "200"), "There are 120 dialogues"),
        (("evaluate", pairs, "--model", "nowhere"), "There is no folder 'nowhere'"),
        (("score", pairs, "--model", model), "dissensus preference evaluate"),
    ):
        done = run("preference", *words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert says in done.stderr
        assert "Traceback" not in done.stderr
    assert run("preference", "evaluate", helpful, "--model", model, "--force").returncode == 0


def test_a_changed_model_is_refused(run: RunCommand, pairs: Path, model: Path) -> None:
    weights = model / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:-10])
    done = run("preference", "evaluate", pairs, "--model", model)
    assert done.returncode == 1
    assert "the SHA-256 of weights.npz is not the one in SHA256SUMS" in done.stderr


def test_files_without_pairs_leave_no_folder_behind(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("item_id,rater_id\n1,a\n")
    assert run("preference", "train", "x.csv", "-o", "model", "--purpose", "harmless").returncode == 1
    assert not (tmp_path / "model").exists()
