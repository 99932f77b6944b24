"""`dissensus report`: pages, figures and refusals."""

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from tests.pipeline.tables import simulate_frame
from tests.support.commands import RunCommand

QUICK = ("--permutations", "9", "--bootstrap", "4", "--contested", "2")


def page_text(path: Path) -> str:
    """Return the text of a page without markup."""
    page = re.sub(r"<style>.*?</style>|<svg.*?</svg>", " ", path.read_text(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.fixture
def annotated_csv(tmp_path: Path) -> Path:
    """Ratings with texts, times, flags and labels of experts."""
    path = tmp_path / "annotated.csv"
    simulate_frame(5, n_items=12).with_columns(
        context=pl.lit("Did you hear?"),
        response=pl.format("Something cruel about {}.", "item_id"),
        safety_gold=pl.lit("Yes"),
        rater_flagged=pl.col("rater_id") < "rater-002",
    ).write_csv(path)
    return path


def test_one_command_makes_one_page(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("report", ratings_csv, *QUICK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Wrote report.html.\n")
    text = page_text(tmp_path / "report.html")
    assert "Agreement" in text
    assert shlex.join(["dissensus", "report", str(ratings_csv), *QUICK]) in text


@pytest.mark.slow
def test_the_same_command_writes_the_same_bytes(
    run: RunCommand, script: RunCommand, ratings_csv: Path, tmp_path: Path
) -> None:
    """In two processes, whose hashes differ."""
    pages = []
    for dissensus in (run, script):
        assert dissensus("report", ratings_csv, "--by", "race", *QUICK).returncode == 0
        pages.append((tmp_path / "report.html").read_bytes())
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_every_figure_is_written_in_three_formats(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("report", ratings_csv, "--by", "race", *QUICK, "--figures", "made/here", "-o", "page.htm")
    assert done.returncode == 0, done.stderr
    written = {path.name for path in (tmp_path / "made" / "here").iterdir()}
    names = {name.rpartition(".")[0] for name in written}
    assert written == {f"{name}.{kind}" for name in names for kind in ("svg", "png", "pdf", "json")}
    assert {"answers-race", "agreement-race", "null-race", "divergence-race", "soft-labels", "entropy"} <= names
    assert f"Wrote {len(names)} figures to made/here, each as .svg, .png, .pdf and .json." in done.stderr
    spec = json.loads((tmp_path / "made/here/answers-race.json").read_text())
    assert "vega-lite" in spec["$schema"]


def test_analyse_writes_its_figures_beside_its_table(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("analyse", ratings_csv, "--by", "race", "--permutations", "9", "--figures", "made")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Q_overall: ")
    assert {path.name for path in (tmp_path / "made").iterdir()} == {
        f"{name}-race.{kind}" for name in ("agreement", "null") for kind in ("svg", "png", "pdf", "json")
    }


@pytest.mark.slow
def test_texts_are_folded_or_left_out(run: RunCommand, annotated_csv: Path, tmp_path: Path) -> None:
    assert run("report", annotated_csv, *QUICK, "--by", "race").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert page.count("Something cruel") == 2
    assert page.count("Content warning") == 2
    assert run("report", annotated_csv, *QUICK, "--by", "race", "--no-text").returncode == 0
    page = (tmp_path / "report.html").read_text()
    assert "Something cruel" not in page
    assert "Content warning" not in page


@pytest.mark.slow
def test_flagged_raters_can_be_excluded(run: RunCommand, annotated_csv: Path, tmp_path: Path) -> None:
    for words, raters in (((), 24), (("--exclude-flagged",), 22)):
        done = run("report", annotated_csv, *QUICK, "--by", "race", *words, "--title", "A <b> title")
        assert done.returncode == 0, done.stderr
        pages = page_text(tmp_path / "report.html")
        assert f"by {raters} raters" in pages
        assert "A &lt;b&gt; title" in pages
        assert "2 of 24 raters are flagged in the file" in pages


@pytest.mark.slow
def test_small_groups_can_be_suppressed(run: RunCommand, annotated_csv: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(annotated_csv).with_columns(
        rater_race=pl.when(pl.col("rater_id") == "rater-005").then(pl.lit("Lone")).otherwise("rater_race")
    )
    frame.write_csv(tmp_path / "lone.csv")
    for words, pages in (((), True), (("--suppress-below", "2"), False)):
        assert run("report", "lone.csv", *QUICK, "--by", "race", *words).returncode == 0
        assert ("Lone" in (tmp_path / "report.html").read_text()) is pages


def test_a_file_without_raters_has_a_report(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    done = run("report", ratings_csv, "--no-raters", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "read without raters" in page_text(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nowhere.csv",), "There is no file nowhere.csv"),
        (("ratings.csv", "-o", "page.pdf"), "-o page.pdf is not an HTML page; name an .html file."),
        (("ratings.csv", "-o", "no/such/page.html"), "cannot be written"),
        (("ratings.csv", "--figures", "ratings.csv"), "--figures ratings.csv cannot be a folder"),
        (("ratings.html", "-o", "ratings.html"), "ratings.html is read here, and writing to it would destroy it"),
        (("ratings.csv", "--by", "rase"), "There is no axis 'rase'"),
        (("ratings.csv", "--by", "race", "--against", "Blue"), "no group 'Blue'"),
        (("ratings.csv", "--bootstrap", "1"), "one replicate has no spread"),
        (("ratings.csv", "--exclude-flagged"), "unknown which raters are flagged"),
        (("ratings.csv", "--gold", "verdict"), "The items have no 'verdict'."),
        (("annotated.csv", "--unsafe", "Perhaps"), "'Perhaps' is not an answer"),
        (
            ("annotated.csv", "--by", "race", "--against", "White", "--suppress-below", "7"),
            "White cannot be compared with",
        ),
        (("ratings.csv", "--where", "race=Blue"), "Its values are"),
        (("empty.csv",), "empty.csv is empty."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_requests_are_refused_in_one_line(
    run: RunCommand, ratings_csv: Path, annotated_csv: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    (tmp_path / "empty.csv").touch()
    earlier = (tmp_path / "ratings.html").write_bytes(ratings_csv.read_bytes())
    done = run("report", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert (tmp_path / "ratings.html").stat().st_size == earlier
    assert not (tmp_path / "report.html").exists()


def test_a_name_cannot_write_to_the_terminal(run: RunCommand, ratings_csv: Path, tmp_path: Path) -> None:
    """Control characters in a column name are escaped."""
    frame = pl.read_csv(ratings_csv).rename({"rater_race": "rater_\x1b[31mrace\x07"})
    frame.write_csv(tmp_path / "rude.csv")
    done = run("report", "rude.csv", "--by", "rase")
    assert done.returncode == 1
    assert "\\x1b[31mrace\\x07" in done.stderr
    assert not {"\x1b", "\x07"} & set(done.stderr)
