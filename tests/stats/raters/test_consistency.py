"""Consistency of raters on repeated items."""

import numpy as np
import pytest

from dissensus.errors import InvalidInput
from dissensus.stats.raters.consistency import rater_consistency


def test_equal_answers_are_counted_as_by_a_slow_oracle() -> None:
    rng = np.random.default_rng(4)
    raters, first, second = rng.integers(9, size=400), rng.integers(-1, 3, size=400), rng.integers(-1, 3, size=400)
    result = rater_consistency(raters, first, second, n_raters=10)
    for rater in range(10):
        answered = [
            (a, b) for one, a, b in zip(raters, first, second, strict=True) if one == rater and a >= 0 and b >= 0
        ]
        assert (result.n_repeats[rater], result.n_equal[rater]) == (len(answered), sum(a == b for a, b in answered))
    assert np.isnan(result.share[9])


@pytest.mark.parametrize(("raters", "second"), [([0, 1], [0]), ([0, 2], [0, 0]), ([-1, 0], [0, 0])])
def test_impossible_codes_are_refused(raters: list[int], second: list[int]) -> None:
    with pytest.raises(InvalidInput, match="raters"):
        rater_consistency(raters, [0, 0], second, n_raters=2)
