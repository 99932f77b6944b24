"""Byte-for-byte round trips of the official DICES files."""

from pathlib import Path

import polars as pl
import pytest
from tests.support.rating_tables import REMOVED, official

from dissensus.errors import NotFound
from dissensus.files.ratings.conversion import convert_ratings, read_long, write_long

FULL = {"dices-350": (43_050, 41, 350), "dices-990": (72_103, 43, 990)}


def write_official(frame: pl.DataFrame, folder: Path, name: str) -> Path:
    """Write a table in the presumed form of the official files, independently of our writers."""
    path = folder / f"diverse_safety_adversarial_dialog_{name.removeprefix('dices-')}.csv"
    frame.to_pandas().to_csv(path, index=False, lineterminator="\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", FULL)
def test_full_size_official_files_are_written_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    n_rows, n_columns, n_items = FULL[name]
    frame = official(name, n_rows, n_items)
    assert frame.shape == (n_rows, n_columns)
    path = tmp_path / f"diverse_safety_adversarial_dialog_{name.removeprefix('dices-')}.csv"
    frame.write_csv(path)
    source, target = convert_ratings(path, tmp_path / "ours.parquet")
    assert (source.kind, target.kind, source.notes, source.table.height) == (name, "long", (), n_rows)
    _, rewritten = convert_ratings(tmp_path / "ours.parquet", tmp_path / f"again.{name}.csv")
    assert rewritten.kind == name
    assert (tmp_path / f"again.{name}.csv").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("extension", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".csv.gz", ".jsonl.gz"])
def test_every_encoding_gives_the_official_file_back(name: str, extension: str, tmp_path: Path) -> None:
    path = write_official(official(name, 60, 6), tmp_path, name)
    source, _ = convert_ratings(path, tmp_path / f"ours{extension}")
    assert source.notes == ()
    convert_ratings(tmp_path / f"ours{extension}", tmp_path / f"back.{name}.csv")
    assert (tmp_path / f"back.{name}.csv").read_bytes() == path.read_bytes()


def test_the_long_table_keeps_rows_and_columns_and_adds_the_flag(tmp_path: Path) -> None:
    frame = official("dices-350", 175, 7)
    table = read_long(write_official(frame, tmp_path, "dices-350")).table
    assert table.drop("rater_flagged").equals(frame)
    assert set(table.filter("rater_flagged")["rater_id"]) == set(REMOVED)
    assert table["rater_flagged"].sum() == 19 * 7
    assert "rater_flagged" not in read_long(write_official(official("dices-990", 50, 7), tmp_path, "dices-990")).table


def test_a_file_without_listed_raters_has_no_flag(tmp_path: Path) -> None:
    """Which of its raters were removed is unknown, as when it is read for an analysis."""
    frame = official("dices-350", 175, 7).with_columns("other-" + pl.col("rater_id"))
    assert read_long(write_official(frame, tmp_path, "dices-350")).table.equals(frame)


def test_parquet_is_typed(tmp_path: Path) -> None:
    convert_ratings(write_official(official("dices-350", 20, 2), tmp_path, "dices-350"), tmp_path / "ours.parquet")
    schema = pl.read_parquet_schema(tmp_path / "ours.parquet")
    scale = pl.Enum(["No", "Unsure", "Yes"])
    assert [schema[name] for name in ("id", "item_id", "rater_id")] == [pl.String] * 3
    assert [schema[name] for name in ("Q_overall", "Q3_bias_overall", "Q4_misinformation")] == [scale] * 3
    assert isinstance(schema["Q1_whole_conversation_evaluation"], pl.Enum)
    assert schema["answer_time_ms"] == pl.Int64
    assert schema["rater_flagged"] == pl.Boolean


@pytest.mark.parametrize(
    ("column", "value"), [("answer_time_ms", "007"), ("answer_time_ms", "1e5"), ("Q_overall", "yes")]
)
def test_parquet_stays_text_where_a_type_would_change_it(tmp_path: Path, column: str, value: str) -> None:
    frame = official("dices-350", 20, 2)
    odd = frame.with_columns(pl.when(pl.col("id") == "3").then(pl.lit(value)).otherwise(column).alias(column))
    path = write_official(odd, tmp_path, "dices-350")
    convert_ratings(path, tmp_path / "ours.parquet")
    assert pl.read_parquet_schema(tmp_path / "ours.parquet")[column] == pl.String
    convert_ratings(tmp_path / "ours.parquet", tmp_path / "back.dices-350.csv")
    assert (tmp_path / "back.dices-350.csv").read_bytes() == path.read_bytes()


def test_other_quotes_or_line_ends_are_noted(tmp_path: Path) -> None:
    frame = official("dices-990", 20, 2)
    for number, otherwise in enumerate(({"quote_style": "always"}, {"line_terminator": "\r\n"})):
        path = tmp_path / f"{number}.csv"
        frame.write_csv(path, **otherwise)  # type: ignore[call-overload]
        (note,) = read_long(path).notes
        assert "converting back preserves its cells, but not its bytes" in note
        convert_ratings(path, tmp_path / f"{number}.dices-990.csv")
        assert read_long(tmp_path / f"{number}.dices-990.csv").table.equals(frame)


def test_columns_that_the_official_file_lacks_are_noted(tmp_path: Path) -> None:
    table = official("dices-990", 20, 2).with_columns(mood=pl.lit("good"))
    target = write_long(table, tmp_path / "new.dices-990.csv")
    assert target.notes == ("Left out, because dices-990 does not have them: 'mood'.",)
    assert read_long(tmp_path / "new.dices-990.csv").table.equals(table.drop("mood"))


def test_missing_official_columns_are_named(tmp_path: Path) -> None:
    table = official("dices-990", 20, 2).drop("rater_locale", "Q_overall")
    with pytest.raises(NotFound, match=r"has 43 columns, .* lacks 2 of them: 'rater_locale', 'Q_overall'"):
        write_long(table, tmp_path / "new.dices-990.csv")
    assert not list(tmp_path.iterdir())
