"""`dissensus aggregate`: labels by every rule, and with fewer raters."""

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from tests.support.commands import RunCommand

from dissensus.schema.questionnaire.shipped import load_questionnaire


def test_soft_labels_as_csv(run: RunCommand, ratings_csv: Path) -> None:
    done = run("aggregate", ratings_csv, "--format", "csv")
    assert done.returncode == 0, done.stderr
    frame = pl.read_csv(io.StringIO(done.stdout))
    assert frame.columns == ["item_id", "n_ratings", "No", "Unsure", "Yes"]
    assert frame.height == 30
    assert frame.select(pl.sum_horizontal("No", "Unsure", "Yes")).to_series().to_list() == pytest.approx([1] * 30)


def test_labels_by_group_as_json(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("aggregate", ratings_csv, "--by", "gender", "-o", "labels.json")
    assert (done.returncode, done.stdout) == (0, "")
    rows = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    assert len(rows) == 60
    assert set(rows[0]) == {"item_id", "group", "n_ratings", "No", "Unsure", "Yes"}
    assert {row["group"] for row in rows} == {"Man", "Woman"}


def test_ties_of_the_plurality_are_joined_by_a_bar_in_csv(run: RunCommand, tmp_path: Path) -> None:
    lines = ["item_id,rater_id,Q_overall", "1,a,Yes", "1,b,No", "2,a,Yes", "2,b,Yes"]
    (tmp_path / "two.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("aggregate", "two.csv", "--rule", "plurality", "--format", "csv")
    assert done.stdout.splitlines() == [
        "item_id,n_ratings,answers,share,tied",
        "1,2,No|Yes,0.5,true",
        "2,2,Yes,1.0,false",
    ]
    rows = json.loads(run("aggregate", "two.csv", "--rule", "plurality", "--format", "json").stdout)
    assert rows[0]["answers"] == ["No", "Yes"]


def test_the_table_shows_every_item(run: RunCommand, ratings_csv: Path) -> None:
    done = run("aggregate", ratings_csv)
    assert all(f"item-{i:03}" in done.stdout for i in range(30))


def test_foreign_columns(run: RunCommand, foreign_csv: Path) -> None:
    done = run(
        *("aggregate", foreign_csv, "--item", "post", "--rater", "worker", "--answer", "label", "--format", "csv"),
        *("--categories", "fine,rude,hateful", "--rater-attribute", "country", "--where", "country=Asian"),
    )
    assert done.returncode == 0, done.stderr
    frame = pl.read_csv(io.StringIO(done.stdout))
    assert frame.columns == ["item_id", "n_ratings", "fine", "rude", "hateful"]
    assert set(frame["n_ratings"]) == {10}


def test_notes_name_what_was_left_out(run: RunCommand, tmp_path: Path) -> None:
    lines = ["item_id,rater_id,Q_overall", "1,a,Yes", "1,b,No", "2,a,", "2,b,Unsure"]
    (tmp_path / "blank.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("aggregate", "blank.csv", "--format", "csv")
    assert "Note: 1 row has no answer to Q_overall" in done.stderr


def test_the_table_is_complete(run: RunCommand, tmp_path: Path) -> None:
    item = "conversation " * 12 + "end"
    lines = ["item_id,rater_id,label", *(f"{item},r{n},{n}" for n in range(7))]
    (tmp_path / "long.csv").write_text("\n".join(lines), encoding="utf-8")
    done = run("aggregate", "long.csv", "--answer", "label", "--rule", "plurality")
    assert item in done.stdout
    assert "0|1|2|3|4|5|6" in done.stdout


def test_answers_with_commas_are_declared_in_quotes(run: RunCommand, tmp_path: Path) -> None:
    (tmp_path / "commas.csv").write_text('item_id,rater_id,label\n1,a,"Yes, a bit"\n1,b,No\n', encoding="utf-8")
    words = ("aggregate", "commas.csv", "--answer", "label", "--format", "csv")
    assert """--categories 'No,"Yes, a bit"'""" in run(*words).stderr
    assert run(*words, "--categories", 'No,"Yes, a bit"').stdout.startswith('item_id,n_ratings,No,"Yes, a bit"')


def test_a_file_of_an_unknown_kind_is_not_written(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("aggregate", ratings_csv, "-o", "labels.xlsx")
    assert done.returncode == 1
    assert "name a .json, .csv or .txt file" in done.stderr
    assert not (tmp_path / "labels.xlsx").exists()


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_labels_with_fewer_raters(run: RunCommand, ratings_csv: Path) -> None:
    words = ("aggregate", ratings_csv, "--raters-per-item", "5, 1", "--by", "race")
    table = run(*words).stdout
    assert "raters_per_item" in table
    assert "changed" in table
    assert len(table.splitlines()) == 4 + 2 * 3
    rows = rows_of(run(*words, "--format", "csv").stdout)
    assert {row["raters_per_item"] for row in rows} == {"1", "5"}
    assert {"group", "Yes", "Yes_sd", "Yes_low", "Yes_high", "Yes_plurality", "same_plurality"} <= set(rows[0])
    result = json.loads(run(*words, "--format", "json").stdout)
    assert set(result) == {"question", "confidence", "curve", "labels"}
    assert len(result["curve"]) == 6
    assert len(result["labels"]) == len(rows)


def write_official(path: Path) -> Path:
    """Two raters of one conversation, with all columns of the official file and no overall that follows its rule."""
    questionnaire = load_questionnaire("dices-350")
    frame = {question.name: question.scale[0] for question in questionnaire.questions}
    rows = [
        {"item_id": "1", "rater_id": rater, **frame, **dict.fromkeys(questionnaire.overalls, "No")} for rater in "ab"
    ]
    rows[1]["Q4_misinformation"] = "Yes"
    pl.DataFrame(rows).write_csv(path)
    return path


def test_overall_answers_by_the_dices_rule(run: RunCommand, tmp_path: Path) -> None:
    path = write_official(tmp_path / "official.csv")
    done = run("aggregate", path, "--rule", "dices", "--format", "csv")
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    assert [(row["item_id"], row["rater_id"], row["Q_overall"]) for row in rows] == [
        ("1", "a", "No"),
        ("1", "b", "Yes"),
    ]
    assert "Q2_harmful_content_overall" in rows[0]
    assert "Yes" in run("aggregate", path, "--rule", "dices").stdout
    refused = run("aggregate", path, "--rule", "dices", "--question", "Q_overall")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "leave out --question" in refused.stderr


def test_statistics_with_fewer_raters_of_each_group(run: RunCommand, ratings_csv: Path) -> None:
    done = run("aggregate", ratings_csv, "--by", "race", "--raters-per-group", "2,4", "--format", "json")
    result = json.loads(done.stdout)
    assert (result["axis"], result["draws"], result["share_of"]) == ("rater_race", 200, "Yes")
    assert {row["raters_per_group"] for row in result["curve"]} == {2, 4}
    table = run("aggregate", ratings_csv, "--by", "race", "--raters-per-group", "2").stdout
    assert "between_share" in table


def test_labels_by_a_model(run: RunCommand, ratings_csv: Path) -> None:
    done = run("aggregate", ratings_csv, "--rule", "mace", "--seed", "3", "--format", "json")
    result = json.loads(done.stdout)
    assert len(result["labels"]) == 30
    assert set(result["raters"][0]) == {"rater_id", "n_ratings", "competence", "No", "Unsure", "Yes"}
    assert (result["method"], result["iterations"], result["converged"]) == ("mace", 50, None)
    assert done.stderr.startswith(f"Note: mace by crowd-kit {result['version']}, 50 iterations, convergence unknown.")
    assert "disagreement as error" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--rule", "mace", "--by", "race"), "--by applies to soft labels and pluralities, not to --rule mace"),
        (("--rule", "dices", "--raters-per-item", "3"), "--raters-per-item applies to soft labels"),
        (("--rule", "dices"), "dices-350 would also need 'Q2_harmful_content_"),
        (("--raters-per-item", "3;5"), "--raters-per-item is '3;5'; write whole numbers, as 1,3,5"),
        (("--raters-per-item", "500"), "500 raters per item cannot be drawn"),
        (("--raters-per-group", "3"), "add --by AXIS, and leave out --raters-per-item"),
        (("--raters-per-group", "3;5", "--by", "race"), "--raters-per-group is '3;5'; write whole numbers, as 1,3,5"),
        (("--raters-per-group", "500", "--by", "race"), "500 raters per group cannot be drawn"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_incompatible_options_are_refused(
    run: RunCommand, ratings_csv: Path, words: tuple[str, ...], says: str
) -> None:
    done = run("aggregate", ratings_csv, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert says in done.stderr


MODEL = "Q_overall ~ rater_race + (1|rater_id) + (1|item_id)"


@pytest.fixture
def populations(ratings_csv: Path, tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "asian.csv").write_text("race,count\nAsian,3\n", encoding="utf-8")
    (tmp_path / "mixed.csv").write_text("column,level,count\nrace,Black,1\nrace,White,4\n", encoding="utf-8")
    return ("--population", "asian.csv", "--population", "mixed.csv", "--draws", "60")


def test_poststratified_labels_are_those_of_model(
    run: RunCommand, ratings_csv: Path, populations: tuple[str, ...]
) -> None:
    words = (*populations, "--seed", "3", "--format", "json")
    labels = json.loads(run("aggregate", ratings_csv, "--rule", "poststratified", "--model", MODEL, *words).stdout)
    model = json.loads(run("model", ratings_csv, "--formula", MODEL, *words).stdout)
    assert labels == {name: model[name] for name in labels}
    assert {row["population"] for row in labels["labels"]} == {"asian", "mixed"}
    assert labels["changed_labels"] == [row["item_id"] for row in labels["changed_items"]]


def test_poststratified_tables_have_a_line_for_each_item_and_population(
    run: RunCommand, ratings_csv: Path, populations: tuple[str, ...], tmp_path: Path
) -> None:
    words = ("--rule", "poststratified", "--model", MODEL, *populations)
    assert run("aggregate", ratings_csv, *words, "-o", "labels.csv").returncode == 0
    table = pl.read_csv(tmp_path / "labels.csv")
    n_items = pl.read_csv(ratings_csv)["item_id"].n_unique()
    assert table.height == 2 * n_items
    assert table.columns[:5] == ["item_id", "population", "label", "probability", "No"]
    assert table.select((pl.col("No") + pl.col("Unsure") + pl.col("Yes") - 1).abs().max()).item() < 1e-9
    shown = run("aggregate", ratings_csv, *words).stdout
    assert f"of {n_items} items change sides" in shown
    assert "P(label)" in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--rule", "poststratified"), "Poststratified labels need a multilevel model: --model FORMULA"),
        (("--rule", "poststratified", "--model", MODEL), "Poststratified labels need a population: --population FILE"),
        (
            ("--rule", "poststratified", "--model", "Q_overall ~ (1|rater_id)", "--population", "asian.csv"),
            "The formula has no attribute of raters",
        ),
        (
            ("--rule", "poststratified", "--model", MODEL, "--population", "unknown.csv"),
            "The population 'unknown' has 'Asien' in rater_race, and no modelled rater has. Did you mean 'Asian'?",
        ),
        (("--rule", "poststratified", "--model", "AD", "--population", "asian.csv"), "There is no preset 'AD'."),
        (("--model", MODEL), "--model applies to --rule poststratified, not to --rule soft."),
        (
            ("--rule", "poststratified", "--model", MODEL, "--population", "asian.csv", "--by", "race"),
            "--by applies to soft labels and pluralities",
        ),
    ],
)
@pytest.mark.usefixtures("populations")
def test_faults_of_poststratified_labels(
    run: RunCommand, ratings_csv: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "unknown.csv").write_text("race,count\nAsien,3\n", encoding="utf-8")
    done = run("aggregate", ratings_csv, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def test_decision_rules_label_items(run: RunCommand, tmp_path: Path) -> None:
    """Of item 1 a third call it unsafe, and most of one group; of item 2 nobody does. Experts call item 1 unsafe."""
    rows = [
        {
            "item_id": item,
            "rater_id": f"{group}{rater}",
            "rater_group": group,
            "Q_overall": answer,
            "safety_gold": "Yes" if item == "1" else "No",
        }
        for group, n in (("a", 2), ("b", 4))
        for rater in range(n)
        for item, answer in (("1", "Yes" if group == "a" else "No"), ("2", "No"))
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "rated.csv")
    pl.DataFrame({"item_id": ["1", "2", "9"], "guard": [0.4, 0.1, 0.0], "judge": 0.1}).write_csv(tmp_path / "guard.csv")
    by, scores = ("--by", "group", "--min-raters", "2"), ("--scores", "guard.csv", "--score-column", "guard")
    for words, label in (
        (("expert", "--gold", "safety_gold"), "unsafe"),
        (("score", *scores), "safe"),
        (("score", *scores, "--costs", "1:2"), "unsafe"),
        (("share",), "safe"),
        (("share", "--costs", "1:2"), "unsafe"),
        (("group-balanced", *by), "unsafe"),
        (("any-group", *by), "unsafe"),
        (("any-group", *by, "--at-least", "1", "--unsafe", "Unsure"), "safe"),
        (("worst-group", *by, "--costs", "2:1"), "safe"),
        (("jury", "--seats", "group=a:2,group=b:2", "--min-raters", "2"), "unsafe"),
        (("jury", "--seats", "group=a:1,group=b:4", "--min-raters", "2"), "safe"),
    ):
        done = run("aggregate", "rated.csv", "--categories", "No,Unsure,Yes", "--format", "csv", "--rule", *words)
        assert done.stdout.splitlines() == ["item_id,n_ratings,label", f"1,6,{label}", "2,6,safe"], words
        assert ("1 of 3 scored items without a rating: not used." in done.stderr) == (words[0] == "score")
    for words, message in (
        (("any-group",), "Name their axis: --by AXIS"),
        (("share", "--by", "group"), "--by applies to soft labels"),
        (("any-group", "--by", "group"), "two groups with 8 raters or more"),
        (
            ("plurality", "--costs", "1:2"),
            "worst-group, score, jury, not to --rule plurality",
        ),
        (("share", "--costs", "2"), "--costs '2' is not like 1:5"),
        (("any-group", *by, "--at-least", "5"), "at_least is 5.0; give a share above 0 and up to 1"),
        (("expert", "--gold", "safety_gold", "--costs", "1:2"), "not to --rule expert. Leave it out"),
        (("worst-group", *by, "--at-least", "0.5"), "--at-least applies to --rule any-group, not"),
        (("share", "--min-raters", "2"), "--min-raters applies to --rule group-balanced"),
        (("expert",), "needs labels of experts, --gold COLUMN"),
        (("expert", "--gold", "gold"), "Attributes of items are 'safety_gold'"),
        (("score",), "needs scores of a model, --scores FILE"),
        (("score", "--scores", "guard.csv"), "name its column, --score-column 'guard'"),
        (("score", "--score-column", "guard"), "Give their file: --scores FILE"),
        (("share", *scores), "--scores applies to --rule score, not to --rule share"),
        (("jury",), "needs seats, such as --seats gender=Woman:6"),
        (("jury", "--seats", "a"), "--seats 'a' is not like"),
        (("jury", "--seats", "group=a:1"), "group=a has 2 raters who answered Q_overall"),
        (("jury", "--seats", "group=a:3", "--min-raters", "2"), "No item has a rater for each seat"),
        (("share", "--seats", "group=a:1"), "--seats applies to --rule jury, not to --rule share"),
    ):
        done = run("aggregate", "rated.csv", "--rule", *words)
        assert (done.returncode, done.stdout) == (1, ""), words
        assert message in done.stderr


def test_control_characters_of_ids_are_escaped_in_tables(run: RunCommand, tmp_path: Path) -> None:
    rows = [(f"i\a{item}", f"r{rater}", "Yes") for item in range(2) for rater in range(2)]
    pl.DataFrame(rows, schema=["item_id", "rater_id", "Q_overall"], orient="row").write_csv(tmp_path / "x.csv")
    done = run("aggregate", "x.csv")
    assert done.returncode == 0, done.stderr
    assert "\a" not in done.stdout
    assert "i\\x071" in done.stdout


def test_all_questions_of_a_release_are_read_where_a_rule_needs_them(run: RunCommand, tmp_path: Path) -> None:
    folder = tmp_path / "pilot-1.0"
    (folder / "data").mkdir(parents=True)
    lines = ["item_id,rater_id,Q2_harm_overall,Q3_bias_overall", "1,a,Yes,No", "1,b,No,No", "2,a,No,Yes", "2,b,No,Yes"]
    (folder / "data" / "ratings.csv").write_text("\n".join(lines), encoding="utf-8")
    (folder / "SHA256SUMS").touch()
    record = {"name": "pilot", "version": "1.0", "question": "Q2_harm_overall", "k": 1}
    (folder / "release.json").write_text(json.dumps(record), encoding="utf-8")
    done = run("aggregate", folder, "--rule", "any-question", "--unsafe", "Yes", "--format", "csv")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3), done.stderr
    asked = run("aggregate", folder, "--rule", "any-question", "--unsafe", "Yes", "--question", "Q2_harm_overall")
    assert "All questions are read here; leave out --question" in asked.stderr
    one = run("aggregate", folder, "--rule", "soft", "--format", "csv")
    assert [line.split(",")[1] for line in one.stdout.splitlines()[1:]] == ["2", "2"]
