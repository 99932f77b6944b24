"""`dissensus jury`: from ratings to a scorecard of predicted opinions."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand
from tests.support.rated_texts import simulate_rated_texts


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jury")
    ratings = simulate_rated_texts()
    answers = ratings.answers.with_columns(
        item_id=ratings.items["item_id"].gather(ratings.answers["item"]),
        rater_id=ratings.raters["rater_id"].gather(ratings.answers["rater"]),
        rater_gender=ratings.raters["rater_gender"].gather(ratings.answers["rater"]),
    )
    answers.select("item_id", "rater_id", "rater_gender", "Q_overall").write_csv(folder / "ratings.csv")
    ratings.items.select("item_id", "context", "response").write_csv(folder / "items.csv")
    return folder


def test_a_jury_is_trained_evaluated_and_asked_and_its_opinions_are_scored(run: RunCommand, files: Path) -> None:
    ratings, items, model = (str(files / name) for name in ("ratings.csv", "items.csv", "model"))
    trained = run("jury", "train", ratings, "--items", items, "--by", "gender", "-o", model)
    assert trained.returncode == 0, trained.stderr
    assert "Trained on 2,160 answers to Q_overall about 90 items. Groups: 2 of rater_gender." in trained.stdout

    evaluated = run("jury", "evaluate", ratings, "--items", items, "--by", "gender", "--folds", "2")
    assert "3 of 3 against item-blind (0 worse)" in evaluated.stdout
    assert "gain on plurality" in evaluated.stdout

    seats = ("--seats", "rater_gender=Woman:8,rater_gender=Man:4")
    shown = run("jury", "predict", items, "--model", model, *seats)
    assert "Jury: 8 × rater_gender=Woman, 4 × rater_gender=Man." in shown.stdout
    values = json.loads(run("jury", "predict", items, "--model", model, *seats, "--format", "json").stdout)
    first = {row["model"]: row for row in values["rows"][:4]}
    assert values["schema_version"] == 1
    assert sum(first["all"]["shares"].values()) == pytest.approx(1)
    assert 0 <= first["jury"]["differ"] <= 0.5

    scores = files / "scores.csv"
    run("jury", "predict", items, "--model", model, *seats, "-o", str(scores))
    assert pl.read_csv(scores)["model"].unique().sort().to_list() == [
        "all",
        "jury",
        "rater_gender=Man",
        "rater_gender=Woman",
    ]
    card = run("benchmark", ratings, "--by", "gender", "--scores", str(scores), "--format", "json")
    assert card.returncode == 0, card.stderr
    brier = {
        (row["model"], row["group"]): row["estimate"]
        for row in json.loads(card.stdout)["rows"]
        if row["metric"] == "brier"
    }
    assert brier["rater_gender=Woman", "Woman"] < brier["rater_gender=Man", "Woman"]
    shown = run("preference", "show", model)
    assert (shown.returncode, "holds a jury model" in shown.stderr) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("again.csv",), "Item '0' is in"),
        (("--at-least", "7"), "--at-least is the threshold of a jury. Add --seats, --census or --mix"),
        (("--size", "7"), "--size is the number of jurors of --census or --mix"),
        (("--seats", "a:1", "--mix", "raters"), "Give one of --seats, --census and --mix"),
    ],
)
def test_contradicting_juries_are_refused(run: RunCommand, files: Path, options: tuple[str, ...], message: str) -> None:
    if not (files / "model").exists():
        run(
            "jury", "train", str(files / "ratings.csv"), "--items", str(files / "items.csv"), "-o", str(files / "model")
        )
    if options == ("again.csv",):
        options = (str(shutil.copy(files / "items.csv", files / "again.csv")),)
    done = run("jury", "predict", str(files / "items.csv"), *options, "--model", str(files / "model"))
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
