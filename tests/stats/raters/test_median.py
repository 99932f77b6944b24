"""Median of numbers that are read in parts, against NumPy."""

import math
from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.stats.raters.median import find_median

NUMBERS = st.lists(st.floats(0, allow_infinity=False) | st.sampled_from([0.0, -0.0, 1.5, 5e-324]), max_size=9)


@settings(max_examples=25)
@given(st.lists(NUMBERS, max_size=4))
def test_the_median_of_parts_is_that_of_all_numbers(parts: list[list[float]]) -> None:
    arrays = [np.array(part, np.float64) / 2 for part in parts]  # Half, so that a mean of two is finite
    result = find_median([partial(np.copy, array) for array in arrays])
    values = np.concatenate([*arrays, np.empty(0)])
    assert math.isnan(result) if not values.size else result == np.median(values)
