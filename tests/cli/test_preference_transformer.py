"""`dissensus preference` with transformers."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.preference.transformer.bases import gpt2, llama
from tests.preference.transformer.conversations import fitting, write_pairs
from tests.support.commands import RunCommand

from dissensus.files.models.folder import load_model
from dissensus.text.transcripts import write_hh

TRANSFORMER = ("preference", "train", "helpful.jsonl", "--kind", "transformer")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write_pairs(fitting(300), tmp_path / "helpful.jsonl")


@pytest.mark.ml
def test_a_model_is_trained_shown_measured_and_scores(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    gpt2(tmp_path / "base")
    words = ("--base", "./base", "--epochs", "4", "--batch", "8", "--learning-rate", "0.004", "--peak-tflops", "1")
    done = run(*TRANSFORMER, *words, "-o", "model")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Trained on 216 pairs of 216 dialogues. On 60 pairs held out: accuracy ")
    assert done.stderr == "Wrote model.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "helpful.jsonl", "model"]

    card = " ".join(run("preference", "show", "model").stdout.split())
    for words_shown in (
        "kind transformer",
        "trained from base, ",
        "tokens 128 at most; 0 of 300 pairs were cut",
        "on 1 × cpu",
        "of 1 TFLOP/s",
        "It reads at most the last 128 tokens",
    ):
        assert words_shown in card

    write_pairs(fitting(60), tmp_path / "new.jsonl")
    document = json.loads(run("preference", "evaluate", "new.jsonl", "--model", "model", "--format", "json").stdout)
    assert document["model"]["purpose"] == "helpful"
    assert document["accuracy"]["ci_low"] > 0.8
    assert document["length_alone"]["estimate"] == 0.5

    messages = (("008 thirsty", "tea for you"), ("008 thirsty", "hat for you"), ("very " * 300, "tea for you"))
    talks = [write_hh([("human", before), ("bot", answer)]) for before, answer in messages]
    (tmp_path / "talks.jsonl").write_text("\n".join(json.dumps({"transcript": talk}) for talk in talks))
    done = run("preference", "score", "talks.jsonl", "--model", "model")
    good, bad, _ = (float(row["score"]) for row in csv.DictReader(done.stdout.splitlines()))
    assert good > bad
    assert done.stderr == (
        "Warning: Some turns with their context have more than 128 tokens, the limit of this model. "
        "They are scored without the beginning of the conversation.\n"
    )


@pytest.mark.ml
def test_an_interrupted_training_is_resumed(
    run: RunCommand, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpt2(tmp_path / "base")
    words = (*TRANSFORMER, "--base", "base", "--checkpoint-every", "2", "--lora", "4")
    complete = run(*words, "-o", "whole")
    assert complete.returncode == 0, complete.stderr
    import transformers

    at_step = transformers.Trainer.training_step

    def interrupted(self: transformers.Trainer, *args: object, **kwargs: object) -> object:
        if self.state.global_step == 5:
            raise OSError(28, "No space left on device", "checkpoint")
        return at_step(self, *args, **kwargs)

    with monkeypatch.context() as full:
        full.setattr(transformers.Trainer, "training_step", interrupted)
        assert run(*words, "-o", "model").returncode == 1
    assert "Resume it with --resume, or delete it" in run(*words, "-o", "model").stderr
    done = run(*words, "-o", "model", "--resume")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "model.partial").exists()
    names = ("model.json", "model.safetensors", "tokenizer.json", "config.json")
    assert all((tmp_path / "model" / one).read_bytes() == (tmp_path / "whole" / one).read_bytes() for one in names)


@pytest.mark.ml
def test_two_processes_train_the_same_model(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    llama(tmp_path / "base")
    words = (*TRANSFORMER, "--base", "base", "--learning-rate", "0.0003")
    assert run(*words, "--batch", "16", "-o", "one").returncode == 0
    start = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "-m", "dissensus"]
    done = subprocess.run(
        [*start, *words, "--batch", "8", "-o", "two"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Trained on 216 pairs") == 1
    assert json.loads((tmp_path / "two" / "card.json").read_text())["speed"]["n_processes"] == 2
    single, double = (load_model(tmp_path / name).margins(fitting(20)) for name in ("one", "two"))
    np.testing.assert_allclose(single, double, rtol=1e-3, atol=5e-4)


@pytest.mark.ml
def test_errors(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    gpt2(tmp_path / "base")
    (tmp_path / "empty").mkdir()
    for words, says in (
        (("--base", "./nowhere"), "There is no folder './nowhere'"),
        (("--base", "empty"), "'empty' cannot be used as a base model"),
        (("--base", "base", "--max-length", "500"), "'base' reads from 8 to 128 tokens"),
        (("--base", "base", "--lora", "0"), "lora is 0; give a whole number from 1"),
        (("--base", "base", "--epochs", "-1"), "epochs is -1; give a number above 0"),
        (("--base", "base", "--resume"), "There is no training to resume"),
        (("--base", "base", "--strength", "weight"), "No pair has a strength"),
    ):
        done = run(*TRANSFORMER, *words, "-o", "model")
        assert (done.returncode, done.stdout) == (1, ""), words
        assert says in done.stderr
        assert "Traceback" not in done.stderr


def test_a_transformer_needs_a_base_model(run: RunCommand, pairs: Path) -> None:
    done = run(*TRANSFORMER, "-o", "model")
    assert (done.returncode, done.stdout) == (1, "")
    assert "or its name on the hub: --base MODEL" in done.stderr


def test_without_the_extra_it_says_what_to_install(
    run: RunCommand, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run(*TRANSFORMER, "--base", "some/model", "-o", "model")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Install it with: pip install 'dissensus[ml]'" in done.stderr
    assert not (tmp_path / "model").exists()


def test_transformer_options_are_refused_for_other_kinds(run: RunCommand, pairs: Path) -> None:
    done = run("preference", "train", pairs, "-o", "model", "--max-length", "9", "--resume")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--max-length, --resume: only for --kind transformer, but the kind is linear" in done.stderr
