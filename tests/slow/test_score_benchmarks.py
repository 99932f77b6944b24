"""Benchmarks of scorecards and judges, with few simulations: they write the pages of the documentation."""

import re
from types import ModuleType

import pytest
from benchmarks import judges, scorecards


def mask_numbers(page: str) -> str:
    """Return a page without its measured numbers and the number of simulations."""
    return re.sub(r"over [\d,]+ simulations", "over N simulations", re.sub(r"-?\d+\.\d+|nan", "#", page)).strip()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("benchmark", [scorecards, judges], ids=["scorecards", "judges"])
def test_a_short_run_writes_the_designs_and_columns_of_the_page(benchmark: ModuleType) -> None:
    page = mask_numbers(benchmark.PAGE.read_text("utf-8"))
    assert mask_numbers(benchmark.tabulate(5)) == page
    assert page.count("#") > 30
