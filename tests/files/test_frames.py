"""Tables in memory as sources."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dissensus.errors import InvalidInput
from dissensus.files.ratings.reader import read_ratings


@pytest.mark.parametrize("convert", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow])
def test_pandas_and_arrow_give_the_same_ratings_as_polars(table: pl.DataFrame, convert: object) -> None:
    assert callable(convert)
    expected, converted = read_ratings(table), read_ratings(convert(table))
    assert expected.answers.equals(converted.answers)
    assert expected.raters.equals(converted.raters)
    assert expected.items.equals(converted.items)


def test_pandas_as_it_reads_the_official_file(dices_350: Path) -> None:
    from_memory, from_file = read_ratings(pd.read_csv(dices_350)), read_ratings(dices_350)
    assert from_memory.answers.equals(from_file.answers)
    assert from_memory.raters.equals(from_file.raters)


def test_ids_that_pandas_made_floats_are_refused(table: pl.DataFrame) -> None:
    frame = table.to_pandas().assign(rater_id=[296708581782793.0, 2.0, 296708581782793.0, 2.0])
    with pytest.raises(InvalidInput, match=r"rater_id holds decimal numbers .*dtype=\{'rater_id': str\}"):
        read_ratings(frame)


def test_two_columns_of_one_name(table: pl.DataFrame) -> None:
    frame = table.to_pandas()
    with pytest.raises(InvalidInput, match="Two columns have the same name"):
        read_ratings(pd.concat([frame, frame[["item_id"]]], axis=1))
    with pytest.raises(InvalidInput, match="Two columns have the same name"):
        read_ratings(pa.table([pa.array([1]), pa.array([1])], names=["item_id", "item_id"]))


def test_a_column_of_mixed_kinds(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="The table cannot be read: "):
        read_ratings(table.to_pandas().assign(item_id=[1, "a", 2, "b"]))


@pytest.mark.parametrize("source", [3, None, {"item_id": [1]}, [1], pl.Series([1])])
def test_anything_else(source: object) -> None:
    with pytest.raises(InvalidInput, match="Give the path of a file, or a pandas, polars or Arrow table"):
        read_ratings(source)


def test_a_lazy_table(table: pl.DataFrame) -> None:
    with pytest.raises(InvalidInput, match=r"Call \.collect\(\)"):
        read_ratings(table.lazy())


WITHOUT_PYARROW = """
import sys
from importlib.machinery import PathFinder

class WithoutPyarrow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.startswith("pyarrow") else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = WithoutPyarrow
import pandas as pd
from dissensus.errors import Unavailable
from dissensus.files.ratings.reader import read_ratings
try:
    read_ratings(pd.DataFrame({"item_id": ["1"], "rater_id": ["a"], "Q_overall": ["No"]}))
except Unavailable as error:
    print(error)
"""


def test_without_pyarrow_the_remedy_is_named() -> None:
    process = subprocess.run([sys.executable, "-c", WITHOUT_PYARROW], capture_output=True, text=True, check=False)
    assert "Reading a pandas table needs pyarrow" in process.stdout, process.stderr
    assert "pip install 'dissensus[frames]'" in process.stdout


def test_items_from_memory(table: pl.DataFrame) -> None:
    items = pd.DataFrame({"item_id": ["1e5", "007"], "topic": ["a", "b"]})
    assert read_ratings(table, items=items).items["topic"].to_list() == ["b", "a"]


def test_items_under_the_name_of_the_ratings_or_the_usual_one(table: pl.DataFrame) -> None:
    ratings = table.rename({"item_id": "post"})
    for name in ("post", "item_id"):
        items = pl.DataFrame({name: ["1e5", "007"], "topic": ["a", "b"]})
        assert read_ratings(ratings, items=items, item="post").items["topic"].to_list() == ["b", "a"]
