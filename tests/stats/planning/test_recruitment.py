"""People to invite, against SciPy and drawn people."""

import numpy as np
import pytest
from scipy import stats

from dissensus.errors import InvalidInput
from dissensus.stats.planning.recruitment import (
    binomial_at_least,
    chance_of_enough,
    open_call_confidence,
    people_for_cell,
    people_for_cells,
    people_for_open_call,
)


@pytest.mark.parametrize(("n", "p", "k"), [(12, 0.9, 10), (400, 0.03, 8), (5, 0.5, 0), (5, 1.0, 5), (5, 0.2, 6)])
def test_tails_are_those_of_the_binomial_distribution(n: int, p: float, k: int) -> None:
    assert binomial_at_least(n, p, k) == pytest.approx(stats.binom.sf(k - 1, n, p))


@pytest.mark.parametrize(("needed", "p"), [(10, 0.845), (1, 0.01), (50, 0.5)])
def test_people_are_a_quantile_of_the_negative_binomial_distribution(needed: int, p: float) -> None:
    assert people_for_cell(needed, p, 0.9) == needed + stats.nbinom.ppf(0.9, needed, p)


@pytest.mark.parametrize(
    ("begun", "finish", "seats", "keep", "needed"),
    [(30, 0.8, 20, 0.9, 15), (24, 0.8, 22, 0.5, 9), (200, 0.6, 130, 0.85, 100), (8, 1.0, 6, 0.9, 5)],
)
def test_chance_of_enough_sums_over_those_who_finish(
    begun: int, finish: float, seats: int, keep: float, needed: int
) -> None:
    finished = np.arange(begun + 1)
    enough = stats.binom.sf(needed - 1, np.minimum(finished, seats), keep)
    expected = stats.binom.pmf(finished, begun, finish) @ enough
    assert chance_of_enough(begun, finish, seats, keep, needed) == pytest.approx(expected)


def test_an_open_call_fills_all_cells_as_often_as_drawn_people() -> None:
    shares, needed = [0.2, 0.15, 0.05], [10, 5, 3]
    n = people_for_open_call(shares, needed, 0.9)
    drawn = np.random.default_rng(0).multinomial(n, [*shares, 0.6], 40_000)[:, :3]
    confidence = open_call_confidence(n, shares, needed)
    assert (drawn >= needed).all(axis=1).mean() == pytest.approx(confidence, abs=0.01)
    assert open_call_confidence(n - 1, shares, needed) < 0.9 <= confidence


def test_a_cell_that_nobody_is_in_cannot_be_filled() -> None:
    with pytest.raises(InvalidInput, match="A cell is too rare"):
        people_for_open_call([0.5, 0.0], [1, 1], 0.9)


def test_nobody_is_needed_for_an_empty_cell() -> None:
    assert people_for_cells([0, 1], [0.5, 1.0], 0.9) == [0, 1]
