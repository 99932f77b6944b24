"""Tables written part by part."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import quick

from dissensus.errors import Conflict, InvalidInput, NotAllowed, Unavailable
from dissensus.files.raw.atomic_write import replace_atomically
from dissensus.files.raw.formulas import FORMULAS, unescape_ids
from dissensus.files.raw.table_reader import read_frame, to_plain_frame
from dissensus.files.raw.table_stream import (
    EXTENSIONS,
    csv_parts,
    escape_formula,
    escape_formulas,
    write_parts,
)
from dissensus.files.raw.table_writer import write_frame

SCHEMA = {"item_id": pl.String(), "Q": pl.Enum(["No", "Yes"]), "n": pl.Int64()}
PARTS = [
    pl.DataFrame({"item_id": ["1", "a,b"], "Q": ["No", None], "n": [1, 2]}, SCHEMA),
    pl.DataFrame(schema=SCHEMA),
    pl.DataFrame({"item_id": ['"q"\n', None], "Q": ["Yes", "Yes"], "n": [None, -4]}, SCHEMA),
]
WHOLE = pl.concat(PARTS)


@pytest.mark.parametrize("end", EXTENSIONS)
def test_parts_give_the_same_file_as_the_whole_table(end: str, tmp_path: Path) -> None:
    write_parts(PARTS, SCHEMA, tmp_path / f"parts{end}")
    write_frame(WHOLE, tmp_path / f"whole{end}")
    assert read_frame(tmp_path / f"parts{end}").equals(read_frame(tmp_path / f"whole{end}"))
    if end != ".parquet":
        assert (tmp_path / f"parts{end}").read_bytes() == (tmp_path / f"whole{end}").read_bytes()


def test_a_table_without_parts_is_a_header_alone(tmp_path: Path) -> None:
    write_parts([], SCHEMA, tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_bytes() == b"item_id,Q,n\n" == b"".join(csv_parts([], SCHEMA))
    write_parts([], SCHEMA, tmp_path / "none.parquet")
    assert pl.read_parquet_schema(tmp_path / "none.parquet") == SCHEMA


@pytest.mark.parametrize("end", EXTENSIONS)
def test_errors_of_parts_are_raised_unchanged_and_leave_no_file(end: str, tmp_path: Path) -> None:
    def failing() -> Iterator[pl.DataFrame]:
        yield PARTS[0]
        raise Unavailable("The database does not answer.")

    (tmp_path / f"a{end}").write_text("before")
    with pytest.raises(Unavailable, match=r"^The database does not answer\.$"):
        write_parts(failing(), SCHEMA, tmp_path / f"a{end}", overwrite=True)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [(f"a{end}", "before")]


def test_an_unwritable_target_is_refused(tmp_path: Path) -> None:
    write_parts(PARTS, SCHEMA, tmp_path / "a.csv")
    for path, error, message in (
        (tmp_path / "a.csv", Conflict, "is there already"),
        (tmp_path / "a.json", InvalidInput, "name a file that ends in one of"),
        (tmp_path / "no" / "a.csv", Unavailable, "Name a file in an existing folder"),
    ):
        with pytest.raises(error, match=message):
            write_parts(PARTS, SCHEMA, path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidInput, match="is a folder or a device"):
        write_parts(PARTS, SCHEMA, tmp_path / "folder.csv", overwrite=True)


@quick
@given(
    st.lists(
        st.one_of(st.none(), st.text(st.sampled_from([*FORMULAS, "a", "'", " ", "\n", "😀"]), max_size=4)), min_size=1
    )
)
def test_escaped_texts_are_no_formulas_and_can_be_restored(texts: list[str | None]) -> None:
    frame, n = escape_formulas(pl.DataFrame({"said": pl.Series(texts, dtype=pl.String)}))
    escaped = frame["said"].to_list()
    assert not any(one.startswith(FORMULAS) for one in escaped if one)
    changes = [(before, after) for before, after in zip(texts, escaped, strict=True) if before != after]
    assert all(after == f"'{before}" for before, after in changes)
    assert n == len(changes) == sum(one is not None and one.startswith(FORMULAS) for one in texts)
    ids = [None if one is None else one.lstrip("'") for one in texts]
    escaped_ids, _ = escape_formulas(pl.DataFrame({"rater_id": pl.Series(ids, dtype=pl.String)}))
    assert unescape_ids(escaped_ids)["rater_id"].to_list() == ids


def test_ids_of_analyses_are_unescaped_and_texts_are_not(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item_id": ["'@1", "'-3", "'a"], "context": ["'@1' said", "'-", "'=x"]})
    for end in (".csv", ".tsv", ".jsonl", ".parquet"):
        write_frame(frame, tmp_path / f"a{end}")
        assert read_frame(tmp_path / f"a{end}").equals(frame)
        ids = ["@1", "'-3", "'a"] if end in (".csv", ".tsv") else frame["item_id"].to_list()
        assert to_plain_frame(tmp_path / f"a{end}").equals(frame.with_columns(item_id=pl.Series(ids)))


def test_categories_are_escaped_and_numbers_are_not() -> None:
    scale = pl.Enum(["-", "-1", "+1.5"])
    frame, n = escape_formulas(
        pl.DataFrame({"Q": pl.Series(["-", "-1", "+1.5", None], dtype=scale), "n": [-1, -2, -3, -4]})
    )
    assert (frame["Q"].to_list(), frame["n"].to_list(), n) == (["'-", "-1", "+1.5", None], [-1, -2, -3, -4], 1)
    assert escape_formulas(pl.DataFrame({"said": pl.Series(["=1+1"], dtype=pl.Categorical)}))[1] == 1
    assert escape_formulas(pl.DataFrame({"said": ["-1\n=1+1", "-1 ", "+1+1"]}))[1] == 3
    assert escape_formulas(pl.DataFrame({"said": ["\n=1+1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20a"]}))[1] == 5


def test_an_error_of_the_caller_is_not_one_of_writing(tmp_path: Path) -> None:
    """`NotAllowed` is an `OSError` too."""
    message = "You may not export this campaign."
    with pytest.raises(NotAllowed, match=message), replace_atomically(tmp_path / "x.csv"):
        raise NotAllowed(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["-1\n", "-1", "+2.5", "=1", "-x"])
def test_one_value_is_escaped_as_in_a_table(text: str) -> None:
    assert [escape_formula(text)] == escape_formulas(pl.DataFrame({"said": [text]}))[0]["said"].to_list()
