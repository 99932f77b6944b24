"""Labels of the tables of which ratings are merged."""

import pytest

from dissensus.errors import InvalidInput
from dissensus.schema.ratings.merge import label_sources


def test_labels_differ_although_colons_are_replaced() -> None:
    assert label_sources(["old/a:b.csv", "new/a_b.csv", "c:d.csv"]) == ["old/a_b", "new/a_b", "c_d"]


def test_files_with_one_label_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Two files have the name 'a_b', without extension"):
        label_sources(["a:b.csv", "a_b.csv"])
