"""Positions and columns of charts."""

import pytest

from dissensus.web.core.charts import ChartScale, make_columns


@pytest.mark.parametrize("scale", [ChartScale(-0.5, 1.0), ChartScale(2.0, 50.0), ChartScale(2.0, 50.0, ratio=True)])
def test_a_scale_reaches_from_edge_to_edge(scale: ChartScale) -> None:
    middle = (scale.low * scale.high) ** 0.5 if scale.ratio else (scale.low + scale.high) / 2
    assert [scale.position(value) for value in (scale.low, middle, scale.high)] == [0.0, 50.0, 100.0]


def test_columns_stand_on_the_same_line() -> None:
    columns = make_columns([("a", 1), ("b", 4), ("c", 0)])
    assert [column.height for column in columns] == [25.0, 100.0, 0.0]
    assert {column.y + column.height for column in columns} == {100.0}
