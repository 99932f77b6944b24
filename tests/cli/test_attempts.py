"""`dissensus report` and `analyse` on red-team attempts, detected from the content of the file."""

import csv
import io
import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.report.attempts import draw_attempts, draw_reviews
from tests.support.commands import RunCommand

from dissensus.files.attempts.tables import write_attempts

QUICK = ("--bootstrap", "20")


@pytest.fixture
def attempts(tmp_path: Path) -> Path:
    """A file of attempts with an uninformative name."""
    path = tmp_path / "file.jsonl"
    write_attempts(draw_attempts(300), path)
    return path


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """Reviews of some of them."""
    path = tmp_path / "reviews.jsonl"
    path.write_text("".join(f"{json.dumps(asdict(review))}\n" for review in draw_reviews(draw_attempts(300), 60)))
    return path


def test_one_command_makes_one_page(run: RunCommand, attempts: Path, reviews: Path, tmp_path: Path) -> None:
    done = run("report", attempts, *QUICK, "--reviews", reviews, "--title", "A <b> title", "--figures", "made")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert "A &lt;b&gt; title" in page
    assert "180 reviews of 60 attempts by 3 reviewers." in page
    assert f"--reviews {reviews}" in page
    assert re.search(r"succeed \(rating 3 or more\)", page)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "<script" not in page
    assert (tmp_path / "made" / "success.svg").exists()
    assert (tmp_path / "made" / "map.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.json.gz", "red_team_attempts.jsonl.gz"])
def test_encodings_are_detected_from_content(run: RunCommand, tmp_path: Path, name: str) -> None:
    write_attempts(draw_attempts(40), tmp_path / name, as_released=name.startswith("red"))
    done = run("report", name, "--bootstrap", "0", "--success-from", "4")
    assert done.returncode == 0, done.stderr
    assert "A success is a rating of 4 or more" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_texts_are_only_included_on_request(run: RunCommand, attempts: Path, tmp_path: Path) -> None:
    counts = []
    for words in ((), ("--no-text",), ("--text",)):
        assert run("report", attempts, "--bootstrap", "0", *words).returncode == 0
        counts.append((tmp_path / "report.html").read_text().count("(simulated attempt"))
    assert counts[:2] == [0, 0]
    assert counts[2] > 0


def test_the_same_command_writes_the_same_bytes(run: RunCommand, attempts: Path, tmp_path: Path) -> None:
    pages = []
    for _ in range(2):
        assert run("report", attempts, *QUICK, "--seed", "3").returncode == 0
        pages.append((tmp_path / "report.html").read_bytes())
    assert pages[0] == pages[1]


def test_analyse_prints_a_table_json_and_rows(run: RunCommand, attempts: Path, reviews: Path) -> None:
    table = run("analyse", attempts, *QUICK, "--reviews", reviews)
    assert table.returncode == 0, table.stderr
    assert table.stdout.startswith("300 attempts by 60 red-teamers.")
    assert "mixed model: least harmlessness score" in table.stdout
    assert "reviewers, five points, Krippendorff's alpha, ordinal" in table.stdout
    document = json.loads(run("analyse", attempts, *QUICK, "--format", "json").stdout)
    assert document["schema_version"] == 1
    assert document["success"][0]["mean"]["n"] == 300
    rows = list(csv.DictReader(io.StringIO(run("analyse", attempts, *QUICK, "--format", "csv").stdout)))
    first = rows[0]
    assert (first["measure"], first["n_attempts"], first["n_red_teamers"]) == ("success", "300", "60")
    assert float(first["estimate"]) == document["success"][0]["mean"]["estimate"]
    assert float(first["ci_low"]) == document["success"][0]["mean"]["ci_low"]


def test_ids_in_the_file_are_those_of_reviews(run: RunCommand, tmp_path: Path) -> None:
    write_attempts(draw_attempts(40), tmp_path / "plain.jsonl")
    records = [json.loads(line) for line in (tmp_path / "plain.jsonl").read_text().splitlines()]
    with_ids = [{"attempt_id": f"at-{number}", **record} for number, record in enumerate(records)]
    (tmp_path / "named.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in with_ids))
    reviews = [
        {"attempt_id": f"at-{number}", "reviewer_id": person, "success": number % 5, "tags": ["Theft"]}
        for number in range(20)
        for person in ("ann", "ben")
    ]
    reviews.append({"attempt_id": "17", "reviewer_id": "ann", "success": 0, "tags": []})
    (tmp_path / "reviews.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in reviews))
    done = run("analyse", "named.jsonl", "--reviews", "reviews.jsonl", "--format", "json")
    assert done.returncode == 0, done.stderr
    reviewed = json.loads(done.stdout)["reviewed"]
    assert (reviewed["n_reviews"], reviewed["n_attempts"]) == (40, 20)
    assert reviewed["notes"] == ["1 review left out: unknown attempts, '17'."]
    assert "Left out" not in done.stderr
    assert "'attempt_id'" in run("analyse", "named.jsonl").stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("report", "file.jsonl", "--by", "race"), "--by does not apply to red-team attempts, which file.jsonl holds"),
        (("report", "file.jsonl", "--exclude-flagged"), "--exclude-flagged does not apply to red-team attempts"),
        (("report", "file.jsonl", "--suppress-below", "5"), "--suppress-below does not apply to red-team attempts"),
        (("analyse", "file.jsonl", "--permutations", "9"), "--permutations does not apply to red-team attempts"),
        (("report", "file.jsonl", "-o", "page.pdf"), "-o page.pdf is not an HTML page; name an .html file."),
        (("report", "file.jsonl", "--bootstrap", "1"), "one replicate has no spread"),
        (("report", "file.jsonl", "--reviews", "nowhere.jsonl"), "There is no file nowhere.jsonl"),
        (("report", "file.jsonl", "--reviews", "strange.jsonl"), "No review is of any of the attempts"),
        (("report", "file.jsonl", "--reviews", "file.jsonl"), "record 1: there is no 'attempt_id'"),
        (("report", "ratings.csv", "--reviews", "reviews.jsonl"), "--reviews is about red-team attempts"),
        (("analyse", "ratings.csv", "--success-from", "4"), "--success-from is about red-team attempts"),
        (("report", "broken.jsonl"), "record 2: rating is 9; give a whole number from 0 to 4"),
        (("report", "file.jsonl", "-o", "file.jsonl"), "file.jsonl is read here, and writing to it would destroy it"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_requests_are_refused_in_one_line(
    run: RunCommand, attempts: Path, reviews: Path, ratings_csv: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    lines = attempts.read_text().splitlines()[:2]
    (tmp_path / "broken.jsonl").write_text("\n".join([lines[0], re.sub(r'"rating": \d', '"rating": 9', lines[1])]))
    (tmp_path / "strange.jsonl").write_text('{"attempt_id": "z", "reviewer_id": "a", "success": 1}\n')
    done = run(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not (tmp_path / "report.html").exists()


def test_an_option_that_does_not_apply_is_named_as_it_is_written(run: RunCommand, attempts: Path) -> None:
    done = run("analyse", attempts, "--from", "long")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--from does not apply to red-team attempts" in done.stderr
