"""Layout of names, rows and legends."""

from hypothesis import given
from hypothesis import strategies as st
from tests.report.hostile import NAMES
from tests.strategies import quick

from dissensus.report.graphics.layout import (
    NAME_LINES,
    NAME_SHARE,
    RowLabels,
    count_legend_columns,
    estimate_text_width,
    truncate_text,
    wrap_text,
)
from dissensus.report.graphics.theme import COLUMN_WIDTH, PADDING, TEXT_WIDTH

TEXTS = st.text(max_size=80) | st.sampled_from(NAMES)


@quick
@given(text=TEXTS, width=st.floats(20, 300))
def test_no_line_is_wider_than_its_room(text: str, width: float) -> None:
    lines = wrap_text(text, width)
    assert 1 <= len(lines) <= NAME_LINES
    assert all(estimate_text_width(line) <= width for line in lines)
    assert estimate_text_width(truncate_text(text, width)) <= width


@quick
@given(text=TEXTS)
def test_wide_texts_are_unchanged(text: str) -> None:
    assert " ".join(wrap_text(text, 10_000)) == " ".join(text.split())
    assert truncate_text(text, 10_000) == text


def test_long_texts_end_in_an_ellipsis() -> None:
    assert truncate_text("Donaudampfschifffahrt", 60).endswith("…")
    lines = wrap_text("one two three four five six seven eight", 40)
    assert lines[:2] == ["one two", "three"]
    assert lines[2].endswith("…")


@quick
@given(names=st.lists(TEXTS, min_size=1, max_size=6), width=st.sampled_from([TEXT_WIDTH, COLUMN_WIDTH]))
def test_rows_are_as_high_as_their_names_and_leave_room_for_the_plot(names: list[str], width: int) -> None:
    rows = RowLabels(names, width)
    assert rows.name_width + rows.plot_width + 2 * PADDING == width
    assert rows.plot_width > (1 - NAME_SHARE) * width - 25
    assert sum(rows.heights) == rows.height
    tops = [middle - height / 2 for middle, height in zip(rows.middles, rows.heights, strict=True)]
    assert tops == [sum(rows.heights[:r]) for r in range(len(names))]


def test_legends_take_as_many_columns_as_fit() -> None:
    assert count_legend_columns(["No", "Unsure", "Yes"], 600) == 3
    assert count_legend_columns(["a long name of an answer"] * 3, 200) == 1
    assert count_legend_columns([], 200) == 1
