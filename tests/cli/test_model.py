"""`dissensus model`: formula, base and formats."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand

FORMULA = "Q_overall ~ rater_race + (1|rater_id) + (1|item_id)"


def test_json_has_a_row_for_each_effect(run: RunCommand, ratings_csv: Path) -> None:
    done = run("model", ratings_csv, "--formula", FORMULA, "--base", "rater_race=White", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [(row["term"], row["level"]) for row in document["effects"]] == [
        ("rater_race", "Asian"),
        ("rater_race", "Black"),
    ]
    assert document["base"] == {"rater_race": "White"}
    assert document["sd"].keys() == {"item_id", "rater_id"}
    assert [row["between"] for row in document["thresholds"]] == ["No|Unsure", "Unsure|Yes"]


def test_the_table_names_the_first_levels_and_csv_has_the_effects(
    run: RunCommand, ratings_csv: Path, tmp_path: Path
) -> None:
    done = run("model", ratings_csv, "--formula", FORMULA)
    assert done.returncode == 0, done.stderr
    assert "First levels, with which others are compared: rater_race = Asian." in done.stdout
    assert "rater_race = White" in done.stdout
    assert run("model", ratings_csv, "--formula", FORMULA, "-o", "effects.csv").returncode == 0
    rows = list(csv.DictReader(io.StringIO((tmp_path / "effects.csv").read_text("utf-8"))))
    assert [row["level"] for row in rows] == ["Black", "White"]


def test_the_sampler_and_priors_are_named_in_the_json(run: RunCommand, ratings_csv: Path) -> None:
    words = ("--formula", FORMULA, "--prior", "b=normal(0, 1)", "--draws", "0", "--format", "json")
    done = run("model", ratings_csv, *words)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["estimator"], document["priors"]) == ("maximum a posteriori", {"b": "normal(0, 1)"})
    done = run("model", ratings_csv, *words, "--sampler", "gibbs", "--chains", "2", "--iterations", "20")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["estimator"] == "posterior"
    assert document["convergence"][0].keys() == {"parameter", "r_hat", "bulk_ess", "tail_ess"}
    assert "have not converged" in done.stderr


def test_the_formula_names_the_question(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(ratings_csv)
    frame.rename({"Q_overall": "How bad?"}).write_csv(tmp_path / "other.csv")
    words = ("--formula", "`How bad?` ~ (1|rater_id) + (1|item_id)", "--link", "logit", "--format", "json")
    done = run("model", "other.csv", *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["formula"] == "`How bad?` ~ (1 | rater_id) + (1 | item_id)"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--formula", "Q_overall ~ rater_race +"), "The formula has its end where a term is expected:\n  Q_overall"),
        (("--formula", "Q_overall ~ rater_age + (1|rater_id)"), "these ratings have no such column"),
        (("--formula", "Q9 ~ (1|rater_id)"), "Q9"),
        (
            ("--formula", FORMULA, "--base", "White"),
            "--base 'White' is not COLUMN=LEVEL, such as \"rater_race=White\".",
        ),
        (("--formula", FORMULA, "--prior", "b"), "The prior 'b' is not CLASS=DISTRIBUTION"),
        (("--formula", FORMULA, "--prior", "b=normal(0)"), "write normal(mean, sd)."),
        (("--formula", FORMULA, "--sampler", "gibbs", "--link", "logit"), "The Gibbs sampler has no logit link:"),
        (("--formula", FORMULA, "--base", "race=Asian", "--base", "race=White"), "--base names 'race' twice."),
        (("--formula", FORMULA, "--base", "race=Blue"), "The base of rater_race is 'Blue'"),
        (("--formula", FORMULA, "--question", "Q1"), "--question is Q1 and the formula's response is Q_overall"),
        (("--formula", FORMULA, "--where", "rater_race=White"), "rater_race has one value, 'White'"),
    ],
)
def test_faults_are_one_clear_message(run: RunCommand, ratings_csv: Path, words: tuple[str, ...], says: str) -> None:
    done = run("model", ratings_csv, *words)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_either_a_formula_or_a_preset_is_needed(run: RunCommand, ratings_csv: Path) -> None:
    for words in ((), ("--formula", FORMULA, "--preset", "AD-null")):
        done = run("model", ratings_csv, *words)
        assert done.returncode == 1
        assert "A model is either a formula" in done.stderr
    assert "Did you mean 'AD-linear'?" in run("model", ratings_csv, "--preset", "AD-liner").stderr


def test_presets_leave_out_columns_that_ratings_lack(run: RunCommand, ratings_csv: Path) -> None:
    done = run("model", ratings_csv, "--preset", "GE-linear", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["formula"] == "Q_overall ~ rater_race + rater_gender + (1 | rater_id) + (1 | item_id)"
    assert document["warnings"][0] == (
        "GE-linear uses 'rater_age', 'degree_of_harm', 'rater_education', which these ratings lack; the model leaves "
        "them out."
    )
    done = run("model", ratings_csv, "--preset", "AD-intersectional", "--format", "json")
    assert json.loads(done.stdout)["warnings"][0].startswith("AD-intersectional uses rater_raw_race, which these")


@pytest.mark.parametrize(
    "command", [("model", "--formula", "Q ~ (1|rater_id) + (1|item_id)"), ("analyse", "--level", "ordinal")]
)
def test_no_command_is_suggested_where_the_order_of_answers_matters(
    run: RunCommand, tmp_path: Path, command: tuple[str, ...]
) -> None:
    answers = ["low", "medium", "high"]
    rows = [{"item_id": f"i{i}", "rater_id": f"r{r}", "Q": answers[(i + r) % 3]} for i in range(6) for r in range(4)]
    pl.DataFrame(rows).write_csv(tmp_path / "words.csv")
    done = run(command[0], "words.csv", *command[1:])
    assert done.returncode == 1
    assert "Name them in their own order, not the alphabet's" in done.stderr
    assert "If they have none, read one against the others: --has-label ANSWER" in done.stderr
    assert "Run:" not in done.stderr
    nominal = run("analyse", "words.csv")
    assert "Run: dissensus analyse words.csv --categories high,low,medium" in nominal.stderr
