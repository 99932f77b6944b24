"""Places in lists of staff pages, and selected rows."""

import pytest
from starlette.datastructures import FormData

from dissensus.errors import InvalidInput
from dissensus.web.core.list_query import MAX_PLACE, read_rank_cursor, read_selected


@pytest.mark.parametrize(
    ("after", "cursor"),
    [
        ("", None),
        ("0.25~3", (0.25, 3)),
        ("~3", (0.0, 3)),
        (f"1~{MAX_PLACE}", (1.0, MAX_PLACE)),
        (f"-1e-3~-{MAX_PLACE}", (-0.001, -MAX_PLACE)),
    ],
)
def test_a_place_has_a_sorting_value_and_a_number(after: str, cursor: tuple[float, int] | None) -> None:
    assert read_rank_cursor(after) == cursor


@pytest.mark.parametrize(
    "after", ["3", "~", "1~", "x~1", "1~x", "1~1.5", "nan~1", "inf~1", f"1~{MAX_PLACE + 1}", f"1~-{MAX_PLACE + 1}"]
)
def test_another_text_is_not_a_place(after: str) -> None:
    with pytest.raises(InvalidInput, match="is not a place in this list"):
        read_rank_cursor(after)


def test_selected_rows_are_counted_from_1_each_once() -> None:
    form = FormData([("item", "3"), ("rater", "7"), ("item", "1"), ("item", "3")])
    assert read_selected(form, "item", "an item") == [2, 0]
    assert read_selected(form, "chat", "a conversation") == []


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "x", "²", "1234567890"])
def test_another_text_is_not_the_number_of_a_row(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not the number of an item"):
        read_selected(FormData([("item", "1"), ("item", text)]), "item", "an item")
