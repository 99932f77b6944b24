"""`dissensus convert` and `dissensus validate` on preference pairs and red-team attempts."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.attempt_records import RECORD
from tests.support.commands import RunCommand

CONTEXT = "\n\nHuman: Is it safe?\n\nAssistant: "
PAIR = {"chosen": CONTEXT + "No.", "rejected": CONTEXT + "Yes."}


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    rows = [
        {**PAIR, "strength": 2.5, "rater_id": "ann"},
        {**PAIR, "chosen": CONTEXT, "strength": None, "rater_id": "b"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def attempts(tmp_path: Path) -> Path:
    path = tmp_path / "attempts.json"
    path.write_text(json.dumps([RECORD, {**RECORD, "rating": None}]))
    return path


def test_the_real_pairs_are_kept_with_notes_on_anomalies(
    run: RunCommand, real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    real = real_data("hh-rlhf/harmless-base-test.jsonl.gz")
    done = run("convert", real, "pairs.parquet")
    assert done.returncode == 0, done.stderr
    assert "Note: 4 pairs (rows 87, 517, 926, 1,104): an answer is empty; kept all the same.\n" in done.stderr
    assert "Note: 5 pairs (rows 1,255, 1,689, " in done.stderr
    assert done.stderr.endswith(f"Wrote pairs.parquet (pairs) from the 2,312 pairs of {real} (hh-rlhf).\n")
    assert run("convert", "pairs.parquet", "back.jsonl").returncode == 0
    assert (tmp_path / "back.jsonl").read_bytes() == gzip.decompress(real.read_bytes())
    checked = run("validate", real)
    assert checked.returncode == 0
    assert "valid, 0 errors, 9 warnings\n  hh-rlhf: 2,312 rows\n" in checked.stdout
    assert "4 × an answer is empty" in checked.stdout
    assert "5 × the contexts of the two differ" in checked.stdout


def test_the_name_sets_the_kind_and_losses_are_noted(run: RunCommand, pairs: Path, tmp_path: Path) -> None:
    done = run("convert", pairs, "a.jsonl")
    assert "Note: Left out, because hh-rlhf does not hold it: 'strength', 'rater_id'." in done.stderr
    assert done.stderr.endswith(f"Wrote a.jsonl (hh-rlhf) from the 2 pairs of {pairs} (pairs).\n")
    done = run("convert", pairs, "a.trl.jsonl")
    assert "Note: Left out, because trl does not hold it: 'rater_id'." in done.stderr
    assert json.loads((tmp_path / "a.trl.jsonl").read_text().splitlines()[0])["margin"] == 2.5
    assert run("convert", pairs, "b.jsonl", "--to", "inspect").returncode == 0
    assert json.loads((tmp_path / "b.jsonl").read_text().splitlines()[0])["target"] == "No."
    for name in ("a.parquet", "a.csv", "a.pairs.jsonl"):
        done = run("convert", pairs, name)
        assert "Left out" not in done.stderr
        assert run("convert", name, "again.jsonl", "--force").returncode == 0
        assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "a.jsonl").read_text()


def test_attempts_in_every_format(run: RunCommand, attempts: Path, tmp_path: Path) -> None:
    for name, kind in (("a.parquet", "red-team"), ("a.csv", "red-team"), ("a.inspect.jsonl", "inspect")):
        done = run("convert", attempts, name)
        assert done.stderr == f"Wrote {name} ({kind}) from the 2 attempts of {attempts} (red-team).\n"
    done = run("convert", attempts, "a.pyrit.csv")
    assert "Note: 1 attempt left out: nobody rated it.\n" in done.stderr
    assert run("convert", "a.parquet", "b.json", "--as-released").returncode == 0
    assert '"task_descripton_harmlessness_score"' in (tmp_path / "b.json").read_text()
    assert run("convert", "b.json", "c.json").returncode == 0
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(attempts.read_text())
    checked = run("validate", "a.csv", "b.json")
    assert (checked.returncode, checked.stdout.count("red-team: 2 rows")) == (0, 2)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("pairs.jsonl", "a.wide.csv"), "pairs.jsonl holds pairs, which are not written as wide"),
        (("pairs.jsonl", "a.pyrit.csv"), "which are not written as pyrit: 'hh-rlhf', 'pairs', 'trl', 'inspect'"),
        (("attempts.json", "a.trl.jsonl"), "attempts.json holds attempts, which are not written as trl"),
        (("pairs.jsonl", "a.trl.csv"), "a.trl.csv cannot be written: name a file that ends in one of .jsonl"),
        (("attempts.json", "a.pyrit.jsonl"), "name a file that ends in one of .csv"),
        (("pairs.jsonl", "a.jsonl", "--item", "x"), "--item has no effect here: pairs.jsonl holds pairs"),
        (("pairs.jsonl", "pairs.jsonl", "--force"), "writing to it would destroy it"),
        (("pairs.jsonl", "a.jsonl", "--from", "inspect"), "Files of the kind inspect are written, not read"),
        (("attempts.json", "a.pyrit.csv", "--as-released"), "--as-released has no effect here"),
        (("attempts.json", "a.json", "--to", "long"), "which are not written as long"),
        (("ratings.csv", "a.csv", "--to", "trl"), "ratings.csv holds ratings, which are not written as trl"),
        (("ratings.csv", "a.csv", "--as-released"), "--as-released is about red-team attempts"),
        (("broken.json", "a.json"), "broken.json, record 2: rating is 7"),
        (("nowhere.json", "a.json"), "There is no file nowhere.json"),
    ],
)
def test_impossible_conversions_are_refused(
    run: RunCommand, pairs: Path, attempts: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "ratings.csv").write_text("item_id,rater_id,Q_overall\n1,a,Yes\n")
    (tmp_path / "broken.json").write_text(json.dumps([RECORD, {**RECORD, "rating": 7}]))
    done = run("convert", *words)
    assert done.returncode == 1
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_all_faults_are_listed(run: RunCommand, tmp_path: Path) -> None:
    rows: list[Any] = [
        RECORD,
        {**RECORD, "rating": 7},
        {**RECORD, "transcript": "hm", "comment": "x"},
        {**RECORD, "transcript": "\n\nHuman: a"},
    ]
    (tmp_path / "attempts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    bad = [PAIR, {"chosen": "hm", "rejected": CONTEXT + "a"}, {**PAIR, "chosen": CONTEXT + "a\n\nHuman: b"}]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in bad) + "{")
    done = run("validate", "attempts.jsonl", "pairs.jsonl", "--format", "json")
    assert done.returncode == 1
    attempts_report, pairs_report = json.loads(done.stdout)["files"]
    assert [(problem["check"], problem["row"]) for problem in attempts_report["problems"]] == [
        ("no attempt", 2),
        ("no attempt", 3),
        ("the bot says nothing", 4),
    ]
    assert attempts_report["notes"] == ["Left out, because attempts do not have it: 'comment'."]
    assert (pairs_report["n_rows"], [(problem["check"], problem["row"]) for problem in pairs_report["problems"]]) == (
        3,
        [("unreadable", None), ("no pair", 2), ("a transcript ends with the human", 3)],
    )
    assert "record 4: not JSON" in pairs_report["problems"][0]["message"]
