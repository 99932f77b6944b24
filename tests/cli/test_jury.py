"""`dissensus jury`: from ratings to a scorecard of predicted opinions."""

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest
from tests.preference.pairs import simulate_group_choices
from tests.preference.transformer.bases import bert
from tests.support.commands import RunCommand
from tests.support.rated_texts import simulate_rated_texts

from dissensus.files.models.folder import save_model
from dissensus.pipeline.simulate import simulate_preferences
from dissensus.preference.jury.training import train_jury


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


def test_a_jury_is_trained_evaluated_and_asked_and_its_opinions_are_scored(
    run: RunCommand, files: Path, tmp_path: Path
) -> None:
    ratings, items, model = str(files / "ratings.csv"), str(files / "items.csv"), str(tmp_path / "model")
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

    scores = tmp_path / "scores.csv"
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


@pytest.fixture(scope="module")
def jury(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jury model without groups."""
    folder = tmp_path_factory.mktemp("model")
    save_model(train_jury(simulate_rated_texts()), folder)
    return folder


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("again.csv",), "Item '0' is in"),
        (("--at-least", "7"), "--at-least is the threshold of a jury. Add --seats, --census or --mix"),
        (("--size", "7"), "--size is the number of jurors of --census or --mix"),
        (("--seats", "a:1", "--mix", "raters"), "Give one of --seats, --census and --mix"),
    ],
)
def test_contradicting_juries_are_refused(
    run: RunCommand, files: Path, jury: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    shutil.copy(files / "items.csv", tmp_path / "again.csv")
    done = run("jury", "predict", files / "items.csv", *options, "--model", jury)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [
        {
            "chosen": f"\n\nHuman: {pair.context[0].text}\n\nAssistant: {pair.chosen}",
            "rejected": f"\n\nHuman: {pair.context[0].text}\n\nAssistant: {pair.rejected}",
            "rater_id": pair.rater,
            "rater_gender": dict(pair.groups)["rater_gender"],
        }
        for pair in simulate_group_choices(120)
    ]
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def test_a_jury_of_preferences_is_trained_evaluated_and_asked(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    model = str(tmp_path / "model")
    trained = run("jury", "train", str(pairs), "--by", "gender", "--purpose", "harmless", "-o", model)
    assert trained.returncode == 0, trained.stderr
    assert "Trained on 120 answers to preference about 120 pairs of responses. Groups: 2 of rater_" in trained.stdout
    evaluated = run("jury", "evaluate", str(pairs), "--by", "gender", "--folds", "2")
    assert "of 3 against chance (0 worse)" in evaluated.stdout, evaluated.stderr
    assert "gain on linear" in evaluated.stdout
    read = pl.read_csv(pairs)["chosen"][0].split("Assistant: ")[1]
    context = pl.read_csv(pairs)["chosen"][0].split("\n\nAssistant: ")[0]
    items = pl.DataFrame({"item_id": ["old", "new"], "context": [context, "Well?"], "response": [read, read]})
    items.write_csv(tmp_path / "items.csv")
    asked = run("jury", "predict", str(tmp_path / "items.csv"), "--model", model, "--mix", "raters")
    assert "old*" in asked.stdout, asked.stderr
    assert "new*" not in asked.stdout
    assert "* in training: 1 item; such predictions flatter." in asked.stdout
    assert "unsafe means that a typical response" in asked.stdout
    assert "accuracy" in run("preference", "evaluate", str(pairs), "--model", model, "--purpose", "harmless").stdout


def test_groups_of_pairs_without_raters_are_refused(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    pl.read_csv(pairs).drop("rater_id").write_csv(tmp_path / "pairs.csv")
    for command in (("train", "--purpose", "harmless", "-o", str(tmp_path / "model")), ("evaluate",)):
        done = run("jury", command[0], str(tmp_path / "pairs.csv"), "--by", "gender", *command[1:])
        assert not (tmp_path / "model").exists()
        assert (done.returncode, "120 of 120 pairs have a group of rater_gender and no rater" in done.stderr) == (
            1,
            True,
        )


def test_pairs_beside_ratings_are_refused(run: RunCommand, pairs: Path, files: Path, tmp_path: Path) -> None:
    ratings, model = files / "ratings.csv", tmp_path / "model"
    for paths in ((pairs, ratings), (ratings, pairs)):
        done = run("jury", "train", *map(str, paths), "--purpose", "harmless", "-o", str(model))
        assert f"{pairs} holds preference pairs, and {ratings} does not." in done.stderr.replace("\n", " ")
        assert (done.returncode, model.exists()) == (1, False)


def test_exported_preferences_and_the_groups_of_their_raters_train_a_jury(run: RunCommand, tmp_path: Path) -> None:
    simulation = simulate_preferences(n_comparisons=60, group_sd=2.0, seed=5)
    lines = (json.dumps(asdict(preference)) for preference in simulation.preferences)
    (tmp_path / "preferences.jsonl").write_text("\n".join(lines), "utf-8")
    simulation.raters.write_csv(tmp_path / "raters.csv")
    files = (str(tmp_path / "preferences.jsonl"), "--raters", str(tmp_path / "raters.csv"))
    axis = next(name for name in simulation.raters.columns if name != "rater_id")
    trained = run("jury", "train", *files, "--by", axis, "--purpose", "helpful", "-o", str(tmp_path / "model"))
    assert f"about 60 pairs of responses. Groups: 2 of {axis}." in trained.stdout, trained.stderr
    refused = run("analyse", files[0])
    assert refused.returncode == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "The criterion of the choices is unknown. Give --purpose harmless or --purpose helpful."),
        (("--unsafe", "Yes"), "--unsafe does not apply to preference pairs, which"),
        (("--purpose", "harmless", "--by", "town"), "no axis 'town'"),
    ],
)
def test_options_of_ratings_are_refused_for_pairs(
    run: RunCommand, pairs: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    done = run("jury", "train", str(pairs), "-o", str(tmp_path / "model"), *options)
    assert (done.returncode, message in done.stderr) == (1, True), done.stderr


def test_a_purpose_is_refused_for_ratings(run: RunCommand, files: Path, tmp_path: Path) -> None:
    done = run("jury", "train", str(files / "ratings.csv"), "--purpose", "harmless", "-o", str(tmp_path / "model"))
    assert "--purpose is the criterion of preference pairs, and ratings are read here." in done.stderr


@pytest.mark.slow
def test_a_jury_learns_from_ratings_and_pairs_together(
    run: RunCommand, files: Path, pairs: Path, tmp_path: Path
) -> None:
    renamed = pl.read_csv(pairs).with_columns(rater_id=pl.concat_str(pl.lit("p"), "rater_id"))
    renamed.drop("rater_gender").write_csv(tmp_path / "pairs.csv")
    renamed.select("rater_id", "rater_gender").unique().write_csv(tmp_path / "people.csv")
    both = (
        *(str(files / "ratings.csv"), "--items", str(files / "items.csv"), "--by", "gender"),
        *("--pairs", str(tmp_path / "pairs.csv"), "--pair-raters", str(tmp_path / "people.csv")),
    )
    trained = run("jury", "train", *both, "-o", str(tmp_path / "model"))
    assert trained.returncode == 0, trained.stderr
    assert "about 90 items, and 120 choices between responses (scale " in trained.stdout
    assert "Groups: 2 of rater_gender." in trained.stdout
    predicted = run("jury", "predict", str(files / "items.csv"), "--model", str(tmp_path / "model"), "--format", "json")
    assert json.loads(predicted.stdout)["rows"][0]["shares"].keys() == {"No", "Unsure", "Yes"}
    evaluated = run("jury", "evaluate", *both, "--folds", "2")
    assert evaluated.returncode == 0, evaluated.stderr
    assert "gain on ratings-alone" in evaluated.stdout
    assert "ratings-alone: the jury model, trained on the ratings without the pairs." in evaluated.stdout
    # The measured pairs are those of the other criterion if their file says so
    (tmp_path / "pairs.csv").rename(tmp_path / "helpful.csv")
    refused = run("jury", "train", *(part.replace("pairs.csv", "helpful.csv") for part in both), "-o", "model")
    assert (refused.returncode, "are about helpful responses" in refused.stderr) == (1, True), refused.stderr


def test_what_jury_train_cannot_join_is_refused(run: RunCommand, files: Path, pairs: Path, tmp_path: Path) -> None:
    ratings, out = str(files / "ratings.csv"), ("-o", str(tmp_path / "model"))
    items = ("--items", str(files / "items.csv"))
    for arguments, message in (
        ((ratings, *items, "--pairs", ratings), "holds no preference pairs, which --pairs reads"),
        ((ratings, *items, "--pair-raters", ratings), "--pair-raters has the groups of the raters of --pairs"),
        ((ratings, "--pairs", str(pairs)), "Items have no texts"),
        ((str(pairs), "--pairs", str(pairs)), "--pairs does not apply to preference pairs, which"),
        ((ratings, *items, "--pairs", str(pairs), "--cross", "gender*age"), "There is no axis 'age'"),
    ):
        done = run("jury", "train", *arguments, *out)
        assert (done.returncode, message in done.stderr.replace("\n", " ")) == (1, True), done.stderr
        assert not (tmp_path / "model").exists()


def test_ties_and_equal_responses_are_left_out_with_a_note(run: RunCommand, files: Path, tmp_path: Path) -> None:
    """A tie is no choice, and neither is one of two equal responses."""
    simulation = simulate_preferences(n_comparisons=60, seed=5)
    first, *others = (asdict(preference) | {"criterion": "less harmful"} for preference in simulation.preferences)
    first["picks"] = [{**pick, "side": None, "strength": 0} for pick in first["picks"]]
    lines = [json.dumps(record) for record in (first, {**others[0], "b": others[0]["a"]}, *others[1:])]
    (tmp_path / "preferences.jsonl").write_text("\n".join(lines), "utf-8")
    items = pl.DataFrame(
        {"item_id": [str(n) for n in range(90)], "response": [record["a"] for record in others[:45]] * 2}
    )
    items.write_csv(tmp_path / "items.csv")
    trained = run(
        *("jury", "train", str(files / "ratings.csv"), "--items", str(tmp_path / "items.csv")),
        *("--pairs", str(tmp_path / "preferences.jsonl"), "-o", str(tmp_path / "model")),
    )
    assert trained.returncode == 0, trained.stderr
    assert "a rater found neither answer better" in trained.stderr
    assert "both answers are the same" in trained.stderr
    assert "choices between responses" in trained.stdout


@pytest.mark.ml
def test_a_jury_with_a_transformer_is_trained_evaluated_and_asked(run: RunCommand, files: Path, tmp_path: Path) -> None:
    base, model = bert(tmp_path / "base"), str(tmp_path / "model")
    ratings, items = str(files / "ratings.csv"), str(files / "items.csv")
    tuning = ("--transformer", base, "--learning-rate", "0.002")
    trained = run("jury", "train", ratings, "--items", items, "--by", "gender", *tuning, "--seed", "1", "-o", model)
    assert trained.returncode == 0, trained.stderr
    assert "Trained on 1,080 answers to Q_overall about 45 items. Groups: 2 of rater_gender." in trained.stdout
    assert "Fewer than 120 items" in trained.stderr
    asked = run("jury", "predict", items, "--model", model, "--mix", "raters", "--format", "json")
    assert all(row["in_training"] for row in json.loads(asked.stdout)["rows"])
    evaluated = run("jury", "evaluate", ratings, "--items", items, "--by", "gender", "--folds", "2", *tuning)
    assert evaluated.returncode == 0, evaluated.stderr
    assert "3 of 3 against item-blind (0 worse)" in evaluated.stdout
    tenth = tmp_path / "few.csv"
    pl.read_csv(ratings).filter(pl.col("item_id") < 30).write_csv(tenth)
    few = run("jury", "train", str(tenth), "--items", items, *tuning, "-o", str(tmp_path / "none"))
    assert (few.returncode, "One half of the 30 conversations has 15 items" in few.stderr) == (1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epochs", "2"), "--epochs is for a transformer. Name its base model, --transformer MODEL, or leave it out"),
        (("--seed", "2"), "--seed is that of --transformer; nothing else is drawn at random. Leave it out."),
        (("--transformer", "./base", "--embeddings"), "--embeddings and --transformer exclude each other"),
        (("--transformer", "./base", "--pairs", "pairs.jsonl"), "--pairs and --transformer exclude each other"),
    ],
)
def test_options_of_transformers_are_refused_elsewhere(
    run: RunCommand, files: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    ratings, items = str(files / "ratings.csv"), str(files / "items.csv")
    done = run("jury", "train", ratings, "--items", items, *options, "-o", str(tmp_path / "model"))
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert not (tmp_path / "model").exists()


def test_a_negative_seed_is_wrong_usage(run: RunCommand, files: Path, tmp_path: Path) -> None:
    done = run("jury", "train", str(files / "ratings.csv"), "--seed", "-1", "-o", str(tmp_path / "model"))
    assert (done.returncode, "--seed" in done.stderr) == (2, True)


def test_without_the_extra_a_transformer_says_what_to_install(
    run: RunCommand, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    options = ("--items", str(files / "items.csv"), "--transformer", "some/model", "-o", str(tmp_path / "model"))
    done = run("jury", "train", str(files / "ratings.csv"), *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Install it with: pip install 'dissensus[ml]'" in done.stderr
    assert not (tmp_path / "model").exists()
