"""Short runs of the benchmark of juries."""

import re

import pytest
from benchmarks.juries import describe, describe_juries, simulate_coverage, simulate_ratings

from dissensus.preference.jury.evaluation import evaluate_jury

pytestmark = pytest.mark.slow


def test_the_benchmark_describes_an_evaluation_and_its_juries() -> None:
    ratings = simulate_ratings(n_items=150)
    lines = list(describe("150 texts", evaluate_jury(ratings, by=["gender"], n_folds=2)))
    assert lines[0].startswith("**150 texts**: Groups predicted better than by rivals: ")
    assert "of 3 against item-blind" in lines[0]
    assert lines[2] == "| group | log-loss | item-blind | plurality | pooled | ECE | by chance |"
    assert [line.split(" | ")[0] for line in lines[4:7]] == ["| all", "| Man", "| Woman"]
    assert all(re.fullmatch(r"-?\d\.\d{3} \[-?\d\.\d{3}, -?\d\.\d{3}\]", line.split(" | ")[2]) for line in lines[4:7])
    text = describe_juries(ratings, "the simulation", "gender")
    assert re.search(r"two juries of 12 raters are expected to differ on \d+% of the others", text)


def test_the_benchmark_counts_how_often_intervals_cover() -> None:
    text = simulate_coverage(60, 16, 8, 3, 3)
    coverage = float(text.partition("%")[0])
    assert 80 < coverage <= 100
    assert text.endswith("in each of 3 simulations)")
