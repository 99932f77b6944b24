"""`dissensus preference` with models of disagreement."""

import csv
import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.support.commands import CompletedCommand, RunCommand

from dissensus.pipeline.simulate import simulate_preferences
from dissensus.text.transcripts import write_hh


@pytest.fixture
def preferences(tmp_path: Path) -> Path:
    """Simulated preferences with group differences, and a table of raters."""
    simulation = simulate_preferences(n_comparisons=150, group_sd=2.0, rater_sd=0.0, seed=5)
    path = tmp_path / "preferences.jsonl"
    path.write_text("".join(f"{json.dumps(asdict(one))}\n" for one in simulation.preferences))
    simulation.raters.write_csv(tmp_path / "raters.csv")
    return path


def train(run: RunCommand, preferences: Path, *words: str) -> CompletedCommand:
    done = run("preference", "train", preferences, "--raters", "raters.csv", "-o", "model", *words)
    assert done.returncode == 0, done.stderr
    return done


def score(run: RunCommand, tmp_path: Path, *words: str) -> list[float]:
    talk = write_hh([("human", "Hi"), ("bot", "Let us speak of tea."), ("human", "So?"), ("bot", "Of maps, then.")])
    (tmp_path / "talks.jsonl").write_text(json.dumps({"transcript": talk}))
    done = run("preference", "score", "talks.jsonl", "--model", "model", *words)
    assert done.returncode == 0, done.stderr
    return [float(row["score"]) for row in csv.DictReader(done.stdout.splitlines())]


@pytest.mark.slow
def test_a_model_of_groups_distinguishes_groups(run: RunCommand, preferences: Path, tmp_path: Path) -> None:
    assert "Differences were found on: rater_gender." in train(run, preferences, "--kind", "groups").stdout
    model = ("preference", "evaluate", preferences, "--model", "model", "--raters", "raters.csv")
    document = json.loads(run(*model, "--format", "json").stdout)
    rows = {(one["axis"], one["group"]): one for one in document["by_group"]}
    assert next(iter(rows)) == ("", "")
    assert set(rows) >= {("rater_gender", "Woman"), ("rater_gender", "Man"), ("rater_age", "50+")}
    every = rows["", ""]
    gap = every["as_group"]["estimate"] - every["as_all"]["estimate"]
    assert every["difference"]["estimate"] == pytest.approx(gap)
    assert every["difference"]["ci_low"] > 0
    assert {one["by"] for one in document["slices"]} >= {"rater_gender", "rater_age", "raters were", "strength"}
    shares = document["soft_labels"]
    assert (shares["n_comparisons"], shares["n_raters"]) == (150, 40)
    assert shares["entropy"] < shares["model"]["cross_entropy"]["estimate"]
    assert shares["model"]["error_rate"]["ci_high"] < shares["one_half"]["error_rate"]["estimate"] == 0.5
    table = run(*model).stdout
    assert "150 comparisons by 40 raters; cross-entropy cannot be below" in table
    assert "always one half" in table
    assert "as their group" in table
    assert "rater_gender: Woman" in table
    assert run(*model, "-o", "report.html").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert "A model that knows the group of a rater is right more often." in page
    assert "rater_gender: Woman" in page
    women, men, every_one = (
        score(run, tmp_path, *words)
        for words in (("--as-group", "rater_gender=Woman"), ("--as-group", "rater_gender=Man"), ())
    )
    assert women != men
    assert all(min(pair) <= mean <= max(pair) for *pair, mean in zip(women, men, every_one, strict=True))


def test_a_model_is_shown(run: RunCommand, preferences: Path) -> None:
    train(run, preferences, "--kind", "groups")
    table = run("preference", "show", "model")
    assert table.returncode == 0, table.stderr
    words = " ".join(table.stdout.split())
    assert "kind groups" in words
    assert "rater_gender Man, Woman: they differ" in words
    assert "rater_age 18-29, 30-49, 50+: no difference was found" in words
    assert "It is not a safety filter" in words
    document = json.loads(run("preference", "show", "model", "--format", "json").stdout)
    assert (document["kind"], document["purpose"], document["card"]["n_raters"]) == ("groups", "helpful", 40)
    for where, form, says in (("nowhere", "table", "There is no folder"), ("model", "csv", "not a table of rows")):
        done = run("preference", "show", where, "--format", form)
        assert (done.returncode, done.stdout) == (1, "")
        assert says in done.stderr


def test_an_invalid_card_is_refused(run: RunCommand, preferences: Path, tmp_path: Path) -> None:
    train(run, preferences)
    for card in ({"held_out": {"accuracy": 3}}, {"weighting": "odd"}, {"n_pairs": "many"}):
        (tmp_path / "model" / "card.json").write_text(json.dumps(card))
        names = ("model.json", "card.json", "weights.npz")
        sums = [f"{hashlib.sha256((tmp_path / 'model' / one).read_bytes()).hexdigest()}  {one}" for one in names]
        (tmp_path / "model" / "SHA256SUMS").write_text("\n".join(sums))
        done = run("preference", "show", "model")
        assert (done.returncode, done.stdout) == (1, "")
        assert "card.json is not a valid model card" in done.stderr


def test_a_mean_variance_model_has_quantiles(run: RunCommand, preferences: Path, tmp_path: Path) -> None:
    done = train(run, preferences, "--kind", "mean-variance", "--strength", "weight", "--soft-labels")
    assert "lies between answers (r²)" in done.stdout
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert card["weighting"] == {"strength": "weight", "soft": True}
    assert card["model"].startswith("mean-variance: ")
    document = run("preference", "evaluate", preferences, "--model", "model", "--format", "json")
    assert 0 < json.loads(document.stdout)["r_squared"] < 1
    assert "r²" in run("preference", "evaluate", preferences, "--model", "model").stdout
    careful, mean = score(run, tmp_path, "--quantile", "0.05"), score(run, tmp_path)
    assert all(low < middle for low, middle in zip(careful, mean, strict=True))


@pytest.mark.slow
def test_kinds_are_trained_in_folds(run: RunCommand, preferences: Path) -> None:
    folds = ("preference", "evaluate", preferences, "--folds", "2", "--raters", "raters.csv", "--format", "json")
    linear, groups = (json.loads(run(*folds, "--kind", kind).stdout) for kind in ("linear", "groups"))
    assert groups["model"]["name"] == "the groups model in 2 folds"
    assert groups["accuracy"]["ci_low"] > linear["accuracy"]["estimate"]


def test_the_default_model_is_linear_without_strengths(run: RunCommand, preferences: Path, tmp_path: Path) -> None:
    done = run("preference", "train", preferences, "-o", "model")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Trained on 600 pairs of 150 dialogues.")
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    assert (card["purpose"], card["n_raters"]) == ("helpful", 40)


def test_errors(run: RunCommand, preferences: Path, tmp_path: Path) -> None:
    train(run, preferences, "--kind", "groups")
    assert run("preference", "train", preferences, "-o", "linear").returncode == 0
    (tmp_path / "talk.jsonl").write_text(json.dumps({"transcript": write_hh([("human", "Hi"), ("bot", "Tea.")])}))
    (tmp_path / "plain.csv").write_text(
        "chosen,rejected\n"
        + "".join(f'"\n\nHuman: {n}\n\nAssistant: yes","\n\nHuman: {n}\n\nAssistant: no"\n' for n in range(9))
    )
    score = ("score", "talk.jsonl", "--model")
    for words, says in (
        ((*score, "model", "--as-group", "rater_gender=Women"), "Did you mean 'Woman'"),
        ((*score, "model", "--as-group", "rater_sex=Woman"), "no axis 'rater_sex'"),
        ((*score, "model", "--quantile", "0.1"), "Train one with --kind mean-variance"),
        ((*score, "linear", "--as-group", "rater_gender=Woman"), "Train one with --kind groups"),
        (("train", preferences, "--purpose", "harmless", "-o", "other"), "No pick says which answer is more harmless"),
        (
            ("train", "plain.csv", "--purpose", "helpful", "--kind", "groups", "-o", "other"),
            "Raters and groups of the pairs are unknown",
        ),
        (("train", "plain.csv", "--purpose", "helpful", "--strength", "weight", "-o", "o"), "No pair has a strength"),
        (
            ("train", preferences, "--strength", "margin", "--soft-labels", "-o", "other"),
            "Use strength as weight, or leave soft labels out",
        ),
        (("train", preferences, "--raters", "plain.csv", "-o", "other"), "There is no column rater_id"),
        (("evaluate", preferences, "--model", "model", "--kind", "groups"), "--kind applies to --folds"),
    ):
        done = run("preference", *words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert says in done.stderr
        assert "Traceback" not in done.stderr
