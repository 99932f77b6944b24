"""Juries drawn from raters, against the enumeration of all of them."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from dissensus.stats.jury.juries import share_of_juries


def enumerate_juries(answers: list[list[int]], seats: list[int], at_least: float) -> float:
    """Return the share of juries that reach a threshold, from the answers of each rater of each group."""
    juries = [
        list(chain(*jury)) for jury in product(*(combinations(own, n) for own, n in zip(answers, seats, strict=True)))
    ]
    return sum(sum(jury) / len(jury) >= at_least - 1e-9 for jury in juries) / len(juries) if juries else np.nan


@pytest.mark.parametrize("seats", [[1], [4], [2, 1], [3, 3], [0, 2, 3]])
@pytest.mark.parametrize("at_least", [0.2, 1 / 3, 0.5, 1.0])
def test_the_share_of_juries_is_that_of_all_that_could_be_drawn(seats: list[int], at_least: float) -> None:
    rng = np.random.default_rng(len(seats))
    items = [[rng.integers(0, 2, rng.integers(1, 7)).tolist() for _ in seats] for _ in range(40)]
    n_raters, n_unsafe = (np.array([[measure(own) for own in item] for item in items]).T for measure in (len, sum))
    shares = share_of_juries(n_raters, n_unsafe, seats, at_least=at_least)
    assert shares == pytest.approx([enumerate_juries(item, seats, at_least) for item in items], nan_ok=True)


def test_half_of_the_juries_is_exactly_half() -> None:
    """With an odd number of seats and a divided group of any size, verdicts are symmetric."""
    for n in (10, 100, 1_000):
        half = np.array([[n // 2]])
        assert share_of_juries(2 * half, half, [7], at_least=0.5).tolist() == [0.5]
