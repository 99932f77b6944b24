"""Short runs of the benchmark of juries, and its tables as they are documented."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.joint_juries import describe_joint
from benchmarks.juries import GENERATED, describe, describe_coverage, describe_juries, simulate_ratings

from dissensus.files.pairs.votes import read_pair_files
from dissensus.files.ratings.reader import read_ratings
from dissensus.preference.jury.evaluation import evaluate_jury
from dissensus.preference.jury.pair_evaluation import evaluate_pair_jury

pytestmark = pytest.mark.slow
GAIN_OF_4 = re.compile(r"(-?\d\.\d{4}) \[(-?\d\.\d{4}), (-?\d\.\d{4})\]")
GAIN = re.compile(r"(-?\d\.\d{3}) \[(-?\d\.\d{3}), (-?\d\.\d{3})\]")


def mask_numbers(text: str) -> str:
    return re.sub(r"-?\d[\d,]*(\.\d+)?", "#", text)


def read_table(name: str, title: str) -> tuple[str, list[str], list[list[str]]]:
    """Return verdict, head and cells of the table below a title in a documented page."""
    text = (GENERATED / name).read_text("utf-8").partition(f"**{title}")[2]
    verdict, table = text.split("\n\n")[:2]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return verdict, head, rows


def test_the_benchmark_describes_an_evaluation_and_its_juries() -> None:
    ratings = simulate_ratings(n_items=150)
    lines = list(describe("150 texts", evaluate_jury(ratings, by=["gender"], n_folds=2)))
    assert lines[0].startswith("**150 texts**: Groups predicted better than by rivals: ")
    assert "of 3 against item-blind" in lines[0]
    assert lines[2] == "| group | log-loss | item-blind | plurality | pooled | ECE | by chance |"
    assert [line.split(" | ")[0] for line in lines[4:7]] == ["| all", "| Man", "| Woman"]
    assert all(GAIN.fullmatch(line.split(" | ")[2]) for line in lines[4:7])
    text = describe_juries(ratings, "the simulation", "gender")
    assert re.search(r"two juries of 12 raters are expected to differ on \d+% of the others", text)


def test_the_benchmark_counts_how_often_intervals_cover() -> None:
    text = describe_coverage([(60, 16, 8, 3, 3), (60, 16, 8, 3, 2)])
    assert mask_numbers(text) in mask_numbers((GENERATED / "jury-coverage.md").read_text("utf-8"))
    coverage = [float(share) for share in re.findall(r"(\d+\.\d)% with", text)]
    assert coverage
    assert all(80 < share <= 100 for share in coverage)


def test_the_benchmark_of_ratings_and_choices_has_the_table_of_the_page() -> None:
    lines = list(describe_joint(((1.0, 5),), n_simulations=3))
    page = (GENERATED / "jury-joint.md").read_text("utf-8").splitlines()[2:]
    masked = [mask_numbers(line) for line in lines]
    assert masked[:4] == [mask_numbers(line) for line in page[:4]]
    assert masked[4] == mask_numbers(page[5])
    # Every documented gain of both together is above what chance makes
    gains = [GAIN_OF_4.findall(line) for line in page[4:]]
    assert all(len(of_line) == 2 and all(float(low) > 0 for _, low, _ in of_line) for of_line in gains)


def test_a_fifth_of_the_pairs_has_the_table_of_the_page(real_data: Callable[[str], Path]) -> None:
    """Better than chance, and not than one linear score, as with all pairs."""
    path = real_data("hh-rlhf/harmless-base-test.jsonl.gz")
    pairs = read_pair_files([path], purpose="harmless").pairs[::5]
    evaluation = evaluate_pair_jury(pairs, n_folds=2)
    title = "hh-rlhf, harmless, test split, without raters"
    lines = list(describe(title, evaluation))
    (row,) = evaluation.rows
    assert (row.gains["chance"].ci_low or 0) > 0
    assert (row.gains["linear"].ci_low or 0) < 0
    page = (GENERATED / "jury-pairs.md").read_text("utf-8").split("\n\n", 1)[1]
    assert mask_numbers("\n".join(lines)).strip() == mask_numbers(page).strip()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("juries.md", "DICES-350, 104 raters"),
        ("juries.md", "DICES-990, counts without raters"),
        ("juries.md", "3,000 simulated texts, 10 of 200 raters each"),
        ("jury-pairs.md", "hh-rlhf, harmless, test split, without raters"),
        ("jury-joint-dices.md", "DICES-350 with pairs of hh-rlhf, harmless, test split"),
    ],
)
def test_a_documented_verdict_counts_the_intervals_of_its_table(name: str, title: str) -> None:
    verdict, columns, rows = read_table(name, title)
    counts = re.findall(r"(\d+) of (\d+) against ([\w-]+) \((\d+) worse\)", verdict)
    assert counts
    for better, n, rival, worse in counts:
        gains = [GAIN.fullmatch(row[columns.index(rival)]) for row in rows]
        ends = [(float(gain[2]), float(gain[3])) for gain in gains if gain]
        assert int(n) == len(ends) == len(rows)
        assert sum(low > 0 for low, _ in ends) == int(better)
        assert sum(high < 0 for _, high in ends) == int(worse)


def test_the_documented_table_has_each_group_of_dices_350(real_data: Callable[[str], Path]) -> None:
    ratings = read_ratings(real_data("dices-350/ratings.csv")).exclude_flagged()
    groups = [label for axis in ("race", "gender", "age") for label in ratings.group_codes(ratings.axis_name(axis))[1]]
    _, _, rows = read_table("juries.md", "DICES-350, 104 raters")
    assert [row[0] for row in rows] == ["all", *groups]
