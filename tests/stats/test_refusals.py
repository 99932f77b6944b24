"""All functions refuse anything but arrays of numbers with a message."""

from collections.abc import Callable

import numpy as np
import pytest

import dissensus as ds
from dissensus.errors import InvalidInput


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ds.krippendorff_alpha([[1, 2], [1]]), "counts must be numbers in an array"),
        (lambda: ds.krippendorff_alpha([["Yes"]]), "counts must be numbers in an array"),
        (lambda: ds.krippendorff_alpha(np.array([[1, 2], [1, np.nan]])), "whole numbers of raters"),
        (lambda: ds.krippendorff_alpha([[1, 1]], values=["a", "b"]), "values must be numbers in an array"),
        (lambda: ds.krippendorff_alpha_long(["a", "a"], ["x", "y"]), "values must be numbers in an array"),
        (lambda: ds.xrr([[1, 2], [1]], [[1, 2]]), "counts_x must be numbers in an array"),
        (lambda: ds.total_variation(["a"], ["b"]), "p must be numbers in an array"),
        (lambda: ds.negentropy([[1, 2]], rarefy_to=2.5), "give a whole number of raters"),  # type: ignore[arg-type]
        (lambda: ds.negentropy([[1, 2]], rarefy_to=2.0), "give a whole number of raters"),  # type: ignore[arg-type]
        (lambda: ds.negentropy([[1, 2]], rarefy_to=float("nan")), "give a whole number"),  # type: ignore[arg-type]
        (lambda: ds.dsi([[[1, 2], [1, 1]], [[1, 2]]]), "counts must be numbers in an array"),
        (lambda: ds.freeman_halton([[1, 2], [1]]), "table must be numbers in an array"),
        (lambda: ds.count_answers(["a"], [1]), "whole numbers as codes"),
    ],
)
def test_anything_but_an_array_of_numbers_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
