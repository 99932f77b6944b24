"""Labels of an earlier crowd, from shares of answers."""

import polars as pl
import pytest

from dissensus.campaign.platinum import parse_platinum
from dissensus.errors import InvalidInput


@pytest.mark.parametrize("share", [float("inf"), float("nan"), -1.0, None])
def test_shares_are_finite_numbers_of_0_or_more(share: float | None) -> None:
    frame = pl.DataFrame({"item_id": ["7"], "No": [3.0], "Yes": [share]}, strict=False)
    with pytest.raises(InvalidInput, match="is not a number of 0 or more"):
        parse_platinum(frame, ["No", "Yes"], ["7"], source="pilot of May")


@pytest.mark.parametrize("item_id", [["7"], {"id": "7"}])
def test_lists_and_objects_are_no_item_ids(item_id: object) -> None:
    frame = pl.DataFrame({"item_id": [item_id], "label": ["No"]})
    with pytest.raises(InvalidInput, match="item_id holds lists or objects"):
        parse_platinum(frame, ["No", "Yes"], ["7"], source="pilot of May")


def test_numbers_of_a_table_are_labels_of_a_scale_of_numbers() -> None:
    frame = pl.DataFrame({"item_id": ["7"], "label": [2]})
    assert parse_platinum(frame, ["1", "2"], ["7"], source="pilot of May")["7"]["safety_platinum"] == "2"
