"""Plans of transformers: numbers that are refused, without the library."""

from typing import Any

import pytest

from dissensus.errors import InvalidInput
from dissensus.preference.transformer.plan import TransformerPlan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 1.5}, "batch is 1.5; give a whole number from 1"),
        ({"lora": 0}, "lora is 0; give a whole number from 1"),
        ({"epochs": 0}, "epochs is 0; give a number above 0"),
        ({"clip": float("inf")}, "clip is inf; give a number above 0"),
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        TransformerPlan(base="base", **change)


def test_parts_of_an_epoch_are_allowed() -> None:
    assert TransformerPlan(base="base", epochs=0.5).epochs == 0.5
