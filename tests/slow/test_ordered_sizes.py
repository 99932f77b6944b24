"""Size of the tests of ordered answers, by simulation."""

import pytest
from tests.support.null_simulations import simulate_null

from dissensus.pipeline.analyse.level import Level

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("five answers", "ordinal"),
        ("five answers", "interval"),
        ("five answers, sparse", "ordinal"),
        ("quota, 4 of each group", "ordinal"),
        ("loads 55 and 15 %", "ordinal"),
        ("8 against 80", "ordinal"),
    ],
)
def test_a_true_null_is_rejected_at_most_as_often_as_stated(name: str, level: Level) -> None:
    """300 simulations, nominal 5 %.

    Goal: 6 %. A share of .05 has a standard error of .0126; the bound is .06 and three of them. Seeds are fixed.
    """
    p = simulate_null(name, 300, level=level, permutations=99).p
    assert ((p <= 0.05).mean(axis=0) <= 0.06 + 0.038).all()
